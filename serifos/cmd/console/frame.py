# SPDX-License-Identifier: Apache-2.0
"""One frame of top: what fits the terminal, the slowest first."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

from rich import console as rc
from rich import table as rt
from rich import text as rx

from serifos.balancer.standing import status as st
from serifos.cmd.console import reading
from serifos.cmd.console import words
from serifos.facts import cluster as cl
from serifos.plan.outlook import outlook as ol
from serifos.report.plan import wording as wd
from serifos.report import table

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
    pools: Sequence[ol.PoolOutlook]
    planned_us: Mapping[str, float]
    window_s: float = 0.0
    problem: str | None = None
    hint: str = ''

    def __rich_console__(self, console: rc.Console,
                         options: rc.ConsoleOptions) -> rc.RenderResult:
        lines = options.size.height if console.is_terminal else None
        flight, pools, volumes = self._rows(lines)
        yield from self._head(options.max_width)
        yield ''
        yield self._pools(pools)
        yield ''
        yield self._volumes(volumes)
        yield ''
        yield self._flight(flight)
        if self.hint:
            yield rx.Text(self.hint, style='dim', no_wrap=True)

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

    def _head(self, width: int) -> Iterator[rx.Text]:
        status = self.seen.status
        yield rx.Text(f'{self.at}  mode {status.mode}  last round '
                      f'{words.round_(status)}', no_wrap=True,
                      overflow='ellipsis')
        said, style = self._verdict()
        for line, how in (said, style), (self._problem, 'italic'):
            if line:
                yield rx.Text(wd.plain(line, max(20, width)), style=how,
                              no_wrap=True, overflow='ellipsis')

    def _verdict(self) -> tuple[str, str]:
        """The one thing that a person has to know, and its style."""
        status = self.seen.status
        if status.paused is not None:
            return f'paused: {status.paused[0]}', 'bold'
        hot = sum(each.before.hot for each in self.pools)
        broken = sum(each.before.broken for each in self.pools)
        by = f' by {wd.window(self.window_s)}' if self.window_s else ''
        return (f'{wd.count(hot, "hot pool")}{by}, '
                f'{wd.count(broken, "broken promise")}, '
                f'{wd.count(len(status.in_flight), "volume")} in flight'
                + ''.join(f'; {clause}' for clause in status.waits[:1]),
                'bold' if hot or broken else '')

    @property
    def _problem(self) -> str | None:
        return self.problem or self.seen.problem

    @functools.cached_property
    def _short(self) -> Mapping[str, str]:
        return wd.pools(each.pool.name for each in self.pools)

    def _pool(self, name: str) -> str:
        return self._short.get(name, wd.pool(name))

    @functools.cached_property
    def _busy(self) -> Sequence[cl.Volume]:
        """The volumes with a workload, those that ask most first."""
        cluster = self.seen.cluster
        return () if cluster is None else sorted(
            (volume for volume in cluster.volumes if volume.workload
             and volume.workload.is_active()),
            key=lambda volume: (-_queued(volume), volume.id))

    def _pools(self, rows: int) -> rt.Table:
        found = _table(_of('POOL', rows, len(self.pools)), 'active',
                       'seen ms', 'predicted', 'planned', 'hot', 'broken',
                       'GiB free')
        for each in self.pools[:rows]:
            found.add_row(
                self._pool(each.pool.name), f'{each.active}/{each.volumes}',
                wd.ms(each.seen_us), wd.ms(each.before.latency_us),
                wd.ms(self.planned_us.get(each.pool.name)),
                'yes' if each.before.hot else '–',
                str(each.before.broken or '–'),
                f'{each.before.free_gib:,.0f}',
                style='bold' if each.before.hot else None)
        return found

    def _volumes(self, rows: int) -> rt.Table:
        found = _table(_of('VOLUME', rows, len(self._busy)), 'IOPS', 'ms',
                       'outstanding', 'load')
        found.add_column('pool', no_wrap=True)
        total = sum(map(_queued, self._busy)) or 1.0
        for volume in self._busy[:rows]:
            its = volume.workload
            found.add_row(
                wd.volume(volume),
                table.shown(its and its.iops and float(its.iops)),
                wd.ms(its and its.latency_us), f'{_queued(volume):.3g}',
                table.percent(_queued(volume) / total, '.0f'),
                self._pool(volume.pool))
        return found

    def _flight(self, rows: int) -> rt.Table:
        moves = self.seen.status.in_flight
        found = _table(_of('IN FLIGHT', rows, len(moves)), 'GiB',
                       'min so far', 'left', 'MiB/s')
        found.add_column('from → to', no_wrap=True)
        names = {volume.id: wd.volume(volume) for volume in (
            self.seen.cluster.volumes if self.seen.cluster else ())}
        for each in moves[:rows]:
            found.add_row(*_moving(each, names), (
                f'{self._pool(each.source)} → {self._pool(each.target)}'))
        if not moves:
            found.add_row('nothing')
        return found


def _moving(each: st.InFlight, names: Mapping[str, str]) -> list[str]:
    rate = None if each.gib_per_s is None else 1024 * each.gib_per_s
    return [names.get(each.volume, wd.plain(each.volume, 36)), *map(
        table.shown, (float(each.size_gib), each.since_s / 60,
                      words.left(each), rate))]


def _queued(volume: cl.Volume) -> float:
    return volume.workload.outstanding if volume.workload else 0.0


def _of(what: str, rows: int, number: int) -> str:
    return what if rows >= number else f'{what}, {rows} of {number:,}'


def _table(first: str, *others: str) -> rt.Table:
    """A table of one column of names, and of numbers."""
    found = rt.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0),
                     header_style='bold')
    found.add_column(first, no_wrap=True, overflow='ellipsis')
    for name in others:
        found.add_column(name, justify='right', no_wrap=True)
    return found
