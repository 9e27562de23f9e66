# SPDX-License-Identifier: Apache-2.0
"""One frame of top: what fits the terminal, the slowest first."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

from rich.console import Console
from rich.console import ConsoleOptions
from rich.console import RenderResult
from rich.text import Text

from serifos.balancer.standing.status import InFlight
from serifos.cmd.console import reading
from serifos.cmd.console.rows import Rows
from serifos.cmd.console import words
from serifos.facts.cluster import Volume
from serifos.plan.outlook.outlook import PoolOutlook
from serifos.report import table
from serifos.report import wording

_ROWS = 20
"""Of each table, where there is no terminal that they have to fit."""

_FIXED = 10
"""Lines that are always there: heading, headers, what lies between."""


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
    seen: reading.Seen
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
                   f'{words.round_(status)}', no_wrap=True,
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
        hot = sum(each.before.hot for each in self.pools)
        violated = sum(each.before.violated for each in self.pools)
        by = f' by {wording.window(self.window_s)}' if self.window_s else ''
        return (f'{wording.count(hot, "hot pool")}{by}, '
                f'{wording.count(violated, "violated SLO")}, '
                f'{wording.count(len(status.in_flight), "volume")} in flight'
                + ''.join(f'; {clause}' for clause in status.waits[:1]),
                'bold' if hot or violated else '')

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
            (_of('POOL', rows, len(self.pools)), 'active', 'seen ms',
             'predicted', 'planned', 'hot', 'missed', 'GiB free'),
            [(self._pool(each.pool.name), f'{each.active}/{each.volumes}',
              wording.ms(each.seen_us), wording.ms(each.before.latency_us),
              wording.ms(self.planned_us.get(each.pool.name)),
              'yes' if each.before.hot else '–',
              str(each.before.violated or '–'),
              f'{each.before.free_gib:,.0f}') for each in self.pools[:rows]],
            bold=[each.before.hot for each in self.pools[:rows]])

    def _volumes(self, rows: int) -> Rows:
        total = sum(map(_queued, self._busy)) or 1.0
        found = []
        for volume in self._busy[:rows]:
            its = volume.workload
            found.append((
                self._named[volume.id],
                table.shown(its and its.iops and float(its.iops)),
                wording.ms(its and its.latency_us), f'{_queued(volume):.3g}',
                table.percent(_queued(volume) / total, '.0f') or '–',
                self._pool(volume.pool)))
        return Rows(
            (_of('VOLUME', rows, len(self._busy)), 'IOPS', 'ms',
             'outstanding', 'load', 'pool'), found, names=(0, 5))

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
                          words.left(each), rate))]


def _queued(volume: Volume) -> float:
    return volume.workload.outstanding if volume.workload else 0.0


def _of(what: str, rows: int, number: int) -> str:
    return what if rows >= number else f'{what}, {rows} of {number:,}'
