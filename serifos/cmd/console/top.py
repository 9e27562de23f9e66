# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer top."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time

from rich.console import Console
from rich import live

from serifos.balancer import planning
from serifos.balancer.standing import of_plans
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import judging
from serifos.cmd.balancer import verb
from serifos.cmd.console import frame
from serifos.cmd.console import reading
from serifos.cmd.console import terminal
from serifos.cmd import options
from serifos import errors
from serifos.facts import bounds
from serifos.facts.cluster import Cluster

_QUIT = (b'q', b'Q', b'')  # b'' is the end of the input


class Top(verb.Verb):
    """Show pools, busy volumes and moves in flight, live.

    By the last observation, the journal and the stored plans, as status; by
    the days before, as plan, which are read once for each observation. q,
    Ctrl-C or SIGTERM ends it.
    """

    _kept: tuple[Cluster | None, judging.Judged | None, list[str]] = (
        None, None, [])

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        options.add_number(parser, '--interval', 5.0, 'SECONDS',
                           'from one look at the files to the next')
        parser.add_argument(
            '--once', action='store_true', help='print one frame and end, '
            'as is done where the output is no terminal')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        every_s = parsed_args.interval
        bounds.refuse_outside('--interval', every_s, 0.2, 3600)
        screen = terminal.screen()
        if not screen.is_terminal:
            # What no person looks at is not cut.
            screen = terminal.screen(width=240)
        if parsed_args.once or not (
                screen.is_terminal and sys.stdin.isatty()):
            screen.print(self.frame())
            return
        with terminal.left_whole(screen):
            self._watch(screen, every_s)

    def _watch(self, screen: Console, every_s: float) -> None:
        hint = f'every {every_s:g} s; q ends'
        last = self.frame(hint)
        with terminal.keys() as key, live.Live(
                last, console=screen, screen=True,
                refresh_per_second=1) as shown:
            while key(every_s) not in _QUIT:
                try:
                    last = self.frame(hint)
                except errors.SerifosError as exc:
                    last = dataclasses.replace(last, problem=str(exc))
                shown.update(last, refresh=True)

    def frame(self, hint: str = '') -> frame.Frame:
        """What there is to see now.

        :raises SerifosError: where the journal cannot be read
        """
        conf, now = self.app.conf, time.time()
        seen = reading.read(conf, self.journal(), now)
        judged, said = self._judged(seen.cluster)
        valid = [each.plan for each in of_plans.standings(
            adapters.plans(conf).every(said.append, now),
            seen.entries, now) if each.state == of_plans.VALID]
        return frame.Frame(
            time.strftime('%H:%M:%S', time.localtime(now)), seen,
            () if judged is None else judged.seen.pools,
            {name: change.after for plan in valid
             for name, change in plan.latency_us.items()},
            judged.plan.window_s if judged else 0.0,
            said[0] if said else None, hint)

    def _judged(self, cluster: Cluster | None
                ) -> tuple[judging.Judged | None, list[str]]:
        """The pools as rounds judge them, and what is wrong with that.

        Those of one observation are kept.
        """
        was, judged, said = self._kept
        if was != cluster:
            conf, judged, said = self.app.conf, None, []
            if cluster is not None:
                judged = judging.judged(conf, cluster, planning.models(
                    cluster, conf.serifos.models_dir, said.append,
                    adapters.limits_of(conf).hot_by),
                    said.append)
            self._kept = cluster, judged, said
        return judged, [*said]
