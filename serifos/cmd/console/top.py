# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer top."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import select
import sys
import termios
import time
import tty

from rich import console as rc
from rich import live

from serifos.balancer import outlook
from serifos.balancer import planning
from serifos.balancer import plans
from serifos.cmd.balancer import adapters
from serifos.cmd.balancer import verb
from serifos.cmd.console import frame
from serifos.cmd.console import reading
from serifos.cmd import options
from serifos import errors
from serifos.facts import bounds
from serifos.facts import cluster as cl
from serifos.plan import limits as lm
from serifos.plan.outlook import outlook as ol
from serifos.plan import plan as pl

_QUIT = (b'q', b'Q', b'')  # b'' is the end of the input

_NOTHING = pl.Plan('', (), (), False, {}, *[pl.Change(0, 0)] * 3)


class Top(verb.Verb):
    """Show pools, busy volumes and moves in flight, live.

    By the last observation, the journal and the stored plans, as status and
    plan; neither Cinder nor telemetry is asked. q or Ctrl-C ends it.
    """

    _kept: tuple[cl.Cluster | None, Sequence[ol.PoolOutlook], list[str]] = (
        None, (), [])

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
        screen = _screen()
        if not screen.is_terminal:
            # What no person looks at is not cut.
            screen = _screen(width=240)
        if parsed_args.once or not (
                screen.is_terminal and sys.stdin.isatty()):
            screen.print(self.frame())
            return
        with contextlib.suppress(KeyboardInterrupt):
            self._watch(screen, every_s)

    def _watch(self, screen: rc.Console, every_s: float) -> None:
        hint = f'every {every_s:g} s; q ends'
        last = self.frame(hint)
        with _keys() as key, live.Live(
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
        said: list[str] = []
        pools: Sequence[ol.PoolOutlook] = ()
        if seen.cluster is not None:
            pools, said = self._pools(
                seen.cluster, adapters.limits_of(conf))
        newest = max(
            (plan for plan in plans.every(
                adapters.settings(conf).plans_dir, said.append)
             if plan.expires_at > now),
            key=lambda plan: plan.created_at, default=None)
        return frame.Frame(
            time.strftime('%H:%M:%S', time.localtime(now)), seen, pools,
            {} if newest is None else {
                name: change.after
                for name, change in newest.latency_us.items()},
            said[0] if said else None, hint)

    def _pools(self, cluster: cl.Cluster, limits: lm.Limits
               ) -> tuple[Sequence[ol.PoolOutlook], list[str]]:
        """The pools by their models, and what is wrong with these.

        Those of one observation are kept.
        """
        was, pools, said = self._kept
        if was != cluster:
            said = []
            pools = outlook.outlook(_NOTHING, cluster, limits, planning.models(
                cluster, self.app.conf.serifos.models_dir, said.append)).pools
            self._kept = cluster, pools, said
        return pools, [*said]


def _screen(width: int | None = None) -> rc.Console:
    """What shows names as they are, none of them read as markup."""
    return rc.Console(markup=False, emoji=False, highlight=False,
                      width=width)


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], bytes | None]]:
    """(seconds) → the key that was pressed within them, None for none."""
    source = sys.stdin.fileno()
    before = termios.tcgetattr(source)

    def key(seconds: float) -> bytes | None:
        ready, _, _ = select.select([source], [], [], seconds)
        return os.read(source, 1) if ready else None

    try:
        tty.setcbreak(source)
        yield key
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)
