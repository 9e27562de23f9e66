# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer top: the cloud and the balancer, live on a terminal."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import functools
import os
import select
import signal
import sys
import termios
import time
import tty
import types

from rich import cells
from rich.console import Console
from rich.console import ConsoleOptions
from rich.console import RenderResult
from rich import live
from rich.text import Text

from serifos.balancer import plans
from serifos.balancer.status import InFlight
from serifos.cmd.balancer import databases
from serifos.cmd.balancer import judging
from serifos.cmd.balancer import status_tables
from serifos.cmd.balancer import verb
from serifos.cmd import options
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts import fields
from serifos.facts import phrases
from serifos.plan.outlook import PoolOutlook
from serifos.plan import sentences
from serifos.report import table
from serifos.report import wording

_QUIT = (b'q', b'Q', b'')  # b'' is the end of the input

_ENDS = signal.SIGTERM, signal.SIGHUP
"""What ends top as Ctrl-C does, by no key of the terminal's."""

_ROWS = 20
"""Of each table, where there is no terminal that they have to fit."""

_FIXED = 10
"""Lines that are always there: heading, headers, what lies between."""

_GAP = '  '
_LEAST = 6
"""Columns of a name that are always shown."""


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
        options.add_long(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        every_s = parsed_args.interval
        fields.refuse_outside('--interval', every_s, 0.2, 3600)
        screen = _screen()
        if not screen.is_terminal:
            # What no person looks at is not cut.
            screen = _screen(width=240)
        if parsed_args.once or not (
                screen.is_terminal and sys.stdin.isatty()):
            screen.print(self.frame())
            return
        with _left_whole(screen):
            self._watch(screen, every_s)

    def _watch(self, screen: Console, every_s: float) -> None:
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

    def frame(self, hint: str = '') -> Frame:
        """What there is to see now.

        :raises SerifosError: where the journal cannot be read
        """
        conf, now = self.app.conf, time.time()
        seen = status_tables.read(conf, self.journal(), now)
        judged, said = self._judged(seen.cluster)
        stored = databases.plans(conf)
        valid = stored.every(said.append, now, [
            each.plan.id for each in plans.standings(
                stored.listed(now), seen.entries, now)
            if each.state == plans.VALID])
        return Frame(
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
                judged = judging.judged(
                    conf, cluster, conf.serifos.models_dir, said.append)
            self._kept = cluster, judged, said
        return judged, [*said]


@dataclasses.dataclass(frozen=True)
class Frame:
    """What is shown at one moment.

    :param at: such as 07:15:03
    :param pools: the slowest first
    :param planned_us: pool → after the newest valid plan, as that predicts
    :param window_s: of the past by which pools are judged; 0 for the present
    :param problem: why something is not as it is now, a sentence
    :param hint: the last line
    """

    at: str
    seen: status_tables.Seen
    pools: Sequence[PoolOutlook]
    planned_us: Mapping[str, float]
    window_s: float = 0.0
    problem: str | None = None
    hint: str = ''

    def __rich_console__(self, console: Console,
                         options: ConsoleOptions) -> RenderResult:
        lines = options.size.height if console.is_terminal else None
        flight, pools, volumes = self._rows(lines)
        # What is printed once for a pipe is whole.
        width = options.max_width if console.is_terminal else None
        yield from self._head(options.max_width)
        for each in (self._pools(pools), self._volumes(volumes),
                     self._flight(flight)):
            yield ''
            yield from each.lines(width)
        if self.hint:
            yield Text(self.hint, style='dim', no_wrap=True)

    def _rows(self, lines: int | None) -> tuple[int, int, int]:
        """How many rows each table has: in flight, pools, volumes."""
        flight, pools, volumes = (len(self.seen.status.in_flight),
                                  len(self.pools), len(self._busy))
        if lines is None:
            return flight, min(pools, _ROWS), min(volumes, _ROWS)
        free = max(3, lines - _FIXED - bool(self._problem))
        flight = max(1, min(flight, free // 4))
        left = free - flight
        pools = min(pools, max(left // 2, left - volumes))
        return flight, pools, max(0, left - pools)

    def _head(self, width: int) -> Iterator[Text]:
        status = self.seen.status
        yield Text(f'{self.at}  mode {status.mode}  last round '
                   f'{status_tables.round_(status)}', no_wrap=True,
                   overflow='ellipsis')
        said, style = self._verdict()
        for line, how in (said, style), (self._problem, 'italic'):
            if line:
                yield Text(wording.plain(line, max(20, width)), style=how,
                           no_wrap=True)

    def _verdict(self) -> tuple[str, str]:
        """The one thing that a person has to know, and its style."""
        status = self.seen.status
        if status.paused is not None:
            return f'paused: {status.paused[0]}', 'bold'
        trouble = any(each.before.hot or each.before.violated
                      for each in self.pools)
        return (f'{sentences.in_short(self.pools, self.window_s)}, '
                f'{phrases.count(len(status.in_flight), "volume")} in flight'
                + ''.join(f'; {clause}' for clause in status.waits[:1]),
                'bold' if trouble else '')

    @property
    def _problem(self) -> str | None:
        return self.problem or self.seen.problem

    @functools.cached_property
    def _short(self) -> Mapping[str, str]:
        return wording.pools(each.pool.name for each in self.pools)

    def _pool(self, name: str) -> str:
        return self._short.get(name, wording.pool(name))

    @functools.cached_property
    def _busy(self) -> Sequence[Volume]:
        """The volumes with a workload, those that ask most first."""
        cluster = self.seen.cluster
        return () if cluster is None else sorted(
            (volume for volume in cluster.volumes if volume.workload
             and volume.workload.is_active()),
            key=lambda volume: (-_queued(volume), volume.id))

    @functools.cached_property
    def _named(self) -> Mapping[str, str]:
        return wording.volumes(self.seen.cluster)

    def _pools(self, rows: int) -> Rows:
        return Rows(
            (f'{_of("POOL", rows, len(self.pools))} (ms)', 'active',
             'measured', 'predicted', 'planned', 'hot', 'SLOs', 'free',
             'forecast', 'interval', 'immovable'),
            [(self._pool(each.pool.name), f'{each.active}/{each.volumes}',
              phrases.ms(each.seen_us), phrases.ms(each.before.latency_us),
              phrases.ms(self.planned_us.get(each.pool.name)),
              'yes' if each.before.hot else '–',
              str(each.before.violated or '–'),
              f'{each.before.free_gib:,.0f}',
              str(each.before.forecast or '–'), _interval(each),
              f'{100 * each.immovable:.0f} %')
             for each in self.pools[:rows]],
            bold=[each.before.hot for each in self.pools[:rows]], more=3)

    def _volumes(self, rows: int) -> Rows:
        total = sum(map(_queued, self._busy)) or 1.0
        found = []
        for volume in self._busy[:rows]:
            its = volume.workload
            found.append((
                self._named[volume.id],
                table.shown(its and its.iops and float(its.iops)),
                phrases.ms(its and its.latency_us), f'{_queued(volume):.3g}',
                table.percent(_queued(volume) / total, '.0f') or '–',
                self._pool(volume.pool), wording.name(volume.server or '–'),
                wording.name(volume.project_id or '–'),
                wording.name(volume.volume_type or '–'),
                table.shown(its and float(its.block_kib)),
                table.percent(its and its.write_pct / 100, '.0f') or '–'))
        return Rows(
            (_of('VOLUME', rows, len(self._busy)), 'IOPS', 'ms',
             'outstanding', 'load', 'pool', 'server', 'project', 'type',
             'KiB', 'write'), found, names=(0, 5, 6, 7, 8), more=5)

    def _flight(self, rows: int) -> Rows:
        moves = self.seen.status.in_flight
        return Rows(
            (_of('IN FLIGHT', rows, len(moves)), 'GiB', 'min so far', 'left',
             'MiB/s', 'from', '→ to'), [
                (*self._moving(each), self._pool(each.source),
                 f'→ {self._pool(each.target)}')
                for each in moves[:rows]] or [('nothing', *[''] * 6)],
            names=(0, 5, 6))

    def _moving(self, each: InFlight) -> list[str]:
        rate = None if each.gib_per_s is None else 1024 * each.gib_per_s
        return [self._named.get(each.volume, wording.name(each.volume)), *map(
            table.shown, (float(each.size_gib), each.since_s / 60,
                          status_tables.left(each), rate))]


def _interval(each: PoolOutlook) -> str:
    expected = each.before.expected
    return '–' if expected is None else (
        f'{phrases.ms(expected.low_us)} to {phrases.ms(expected.high_us)}')


def _queued(volume: Volume) -> float:
    return volume.workload.outstanding if volume.workload else 0.0


def _of(what: str, rows: int, number: int) -> str:
    return what if rows >= number else f'{what}, {rows} of {number:,}'


@dataclasses.dataclass(frozen=True)
class Rows:
    """A table of names and numbers that fits the width of a terminal.

    Numbers are always whole; where the width is too little for all, a part
    of names is left out: of what the names of a column begin with alike,
    else their middle. Where there is more width, there are more columns.

    :param names: the columns of names, aligned left; others are of numbers
    :param bold: the rows that stand out; empty for none
    :param more: how many of the last columns are there only if they fit
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: Collection[int] = (0,)
    bold: Sequence[bool] = ()
    more: int = 0

    def lines(self, width: int | None) -> Iterator[Text]:
        """Its header and its rows, each of them one line.

        :param width: None for as wide as they are
        """
        widths = self._fitted(width)
        alike = [len(os.path.commonprefix(column)) if len({*column}) > 1
                 else 0 for column in zip(*self.rows)]
        yield Text(self._line(self.header, widths, [0] * len(widths)),
                   style='bold', no_wrap=True)
        for row, bold in zip(self.rows, [*self.bold] or [False] * len(
                self.rows)):
            yield Text(self._line(row, widths, alike),
                       style='bold' if bold else '', no_wrap=True)

    def _line(self, texts: Sequence[str], widths: Sequence[int],
              alike: Sequence[int]) -> str:
        return _GAP.join(
            cells.set_cell_size(_cut(text, wide, same), wide)
            if i in self.names else text.rjust(wide)
            for i, (text, wide, same) in enumerate(zip(
                texts, widths, alike))).rstrip()

    def _fitted(self, width: int | None) -> list[int]:
        """The width of each column that is there."""
        found = [max(map(cells.cell_len, column))
                 for column in zip(self.header, *self.rows)]
        if width is None:
            return found
        least = len(found) - self.more
        while len(found) > least and (
                sum(found) + len(_GAP) * (len(found) - 1) > width):
            found.pop()
        over = sum(found) + len(_GAP) * (len(found) - 1) - width
        while over > 0:
            widest = max((name for name in self.names if name < len(found)),
                         key=found.__getitem__)
            if found[widest] <= _LEAST:
                break
            found[widest] -= 1
            over -= 1
        return found


def _cut(name: str, width: int, alike: int) -> str:
    """A name in so many columns.

    :param alike: how many at its beginning tell it from no other
    """
    over = cells.cell_len(name) - width
    return (f'{name[:alike - over - 1]}…{name[alike:]}' if 0 < over < alike
            else wording.name(name, width))


def _screen(width: int | None = None) -> Console:
    """What shows names as they are, none of them read as markup."""
    return Console(markup=False, emoji=False, highlight=False,
                   width=width)


@contextlib.contextmanager
def _left_whole(shown: Console) -> Iterator[None]:
    """Within it, a signal ends what is under way, and the terminal is kept.

    Its screen and cursor are those from before afterwards, whatever the
    moment at which the signal came. It may also be gone by then.
    """
    with contextlib.suppress(KeyboardInterrupt, OSError), _interrupted():
        try:
            yield
        finally:
            if shown.is_alt_screen:
                shown.set_alt_screen(False)
                shown.show_cursor(True)


@contextlib.contextmanager
def _interrupted() -> Iterator[None]:
    """Within it, the first signal of those that end us is as Ctrl-C.

    One that follows changes nothing, until the very end of the process.
    """
    ended = False

    def once(number: int, _: types.FrameType | None) -> None:
        nonlocal ended
        if not ended:
            ended = True
            raise KeyboardInterrupt

    before = {number: signal.signal(number, once) for number in _ENDS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if ended else handler)


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
        with contextlib.suppress(termios.error):  # there is no terminal left
            termios.tcsetattr(source, termios.TCSADRAIN, before)
