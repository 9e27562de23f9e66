# SPDX-License-Identifier: Apache-2.0
"""The moves of a plan as a drawing: from which pool to which, and how much."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import textwrap

from serifos.plan import copying
from serifos.plan.outlook.outlook import Outlook
from serifos.plan.plan import Move
from serifos.report import drawing
from serifos.report import page
from serifos.report.plan import plan_tables
from serifos.report.plan import wording

_FLOWS = 20
_HIGH, _LEFT, _RIGHT = 44, 34.0, 66.0
_NAME, _LINE = 18, 15
"""Characters of a line of a name, and its height."""


@dataclasses.dataclass(frozen=True)
class _Flow:
    """All moves of one pair of pools.

    :param copy_s: None where that is not known of one
    """

    source: str
    target: str
    moves: int
    gib: float
    copy_s: float | None

    def words(self) -> str:
        return f'{self.gib:,.4g} GiB' + (
            '' if self.copy_s is None
            else f', {copying.duration(self.copy_s)}')


def section(seen: Outlook, short: Mapping[str, str]
            ) -> Iterable[page.Section]:
    """The moves as a drawing and a table; nothing where there are none."""
    moves = seen.plan.moves
    if not moves:
        return
    flows = sorted(_flows(moves), key=lambda flow: -flow.gib)
    shown = flows[:_FLOWS]
    more = sum(flow.moves for flow in flows[_FLOWS:])
    notes = [f'{wording.count(len(moves), "move")}, {seen.gib:,.6g} GiB'
             + ('' if seen.copy_s is None
                else f', about {copying.duration(seen.copy_s)}') + '.']
    if more:
        notes.append(f'{wording.count(more, "move")} between other pools '
                     f'{"is" if more == 1 else "are"} not drawn.')
    listed = plan_tables.of_moves(seen, short)
    if len(listed.rows) < len(moves):
        notes.append(f'The table has the {len(listed.rows)} that gain most; '
                     'all are in serifos-balancer plan -f json.')
    if seen.plan.truncated:
        notes.append('More moves are acceptable: plan again when these are '
                     'carried out.')
    yield page.Section('What is moved', ' '.join(notes),
                       [_figure(shown, short)], [listed])


def _flows(moves: Iterable[Move]) -> list[_Flow]:
    pairs: dict[tuple[str, str], list[Move]] = {}
    for move in moves:
        pairs.setdefault((move.source, move.target), []).append(move)
    found = []
    for (source, target), its in pairs.items():
        times = [move.copy_s for move in its]
        found.append(_Flow(
            source, target, len(its), sum(move.size_gib for move in its),
            None if None in times else sum(
                each for each in times if each is not None)))
    return found


def _figure(flows: list[_Flow], short: Mapping[str, str]) -> str:
    sources = list(dict.fromkeys(flow.source for flow in flows))
    targets = list(dict.fromkeys(flow.target for flow in flows))
    called = {name: textwrap.wrap(
        short.get(name, wording.pool(name)), _NAME, break_on_hyphens=False)
        for name in (*sources, *targets)}
    high = (_HIGH + _LINE * (max(map(len, called.values())) - 1)) * max(
        len(sources), len(targets))
    at, to = (_places(names, high) for names in (sources, targets))
    widest = max(flow.gib for flow in flows) or 1.0
    said = '; '.join(
        f'{short.get(flow.source, flow.source)} to '
        f'{short.get(flow.target, flow.target)}: {flow.words()}'
        for flow in flows)
    drawn = []
    for flow in flows:
        y, z = (100.0 * each / high for each in (
            at[flow.source], to[flow.target]))
        width = 2.0 + 14.0 * flow.gib / widest
        middle = (_LEFT + _RIGHT) / 2
        title = (f'{short.get(flow.source, flow.source)} → '
                 f'{short.get(flow.target, flow.target)}: '
                 f'{wording.count(flow.moves, "volume")}, {flow.words()}')
        drawn.append(drawing.element(
            'path', drawing.element('title', drawing.escaped(title)),
            d=f'M{_LEFT} {y:.2f}C{middle} {y:.2f} {middle} {z:.2f} '
              f'{_RIGHT} {z:.2f}', fill='none', stroke_width=width,
            stroke_opacity=0.55, vector_effect='non-scaling-stroke',
            style='stroke: var(--blue)'))
    curves = drawing.element(
        'svg', *drawn, viewBox='0 0 100 100', preserveAspectRatio='none',
        width='100%', height='100%')
    names = [
        *(_end(called[name], [
            flow for flow in flows if flow.source == name], at[name],
            _LEFT - 1, 'end') for name in sources),
        *(_end(called[name], [
            flow for flow in flows if flow.target == name], to[name],
            _RIGHT + 1, 'start') for name in targets)]
    return drawing.figure(
        'From the pool on the left to that on the right; the wider, the more '
        'GiB. Minutes are those of the copies, one after another.',
        drawing.picture(f'Moves: {said}', high, curves, *names))


def _places(names: list[str], high: float) -> dict[str, float]:
    step = high / len(names)
    return {name: step * (i + 0.5) for i, name in enumerate(names)}


def _end(name: list[str], its: list[_Flow], y: float, x: float,
         anchor: str) -> str:
    """A pool in lines, and below it what leaves it or comes to it."""
    times = [flow.copy_s for flow in its]
    whole = dataclasses.replace(
        its[0], gib=sum(flow.gib for flow in its),
        copy_s=None if None in times else sum(
            each for each in times if each is not None))
    first = y - 2 - _LINE * (len(name) - 1) / 2
    return ''.join([
        *(drawing.text(line, x, first + _LINE * i, anchor)
          for i, line in enumerate(name)),
        drawing.text(whole.words(), x, first + _LINE * len(name), anchor,
                     'soft')])
