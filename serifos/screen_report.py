# SPDX-License-Identifier: Apache-2.0
"""What did a screening find? One page: a Pareto chart and its tables."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import math

from serifos.bench import screen_plan as sp
from serifos.design import effects
from serifos import page

_UNITS = {'bandwidth_kib_s': 'KiB/s', 'iops': 'IOPS', 'latency_us': 'µs'}


@dataclasses.dataclass(frozen=True)
class Found:
    """What a screening tells.

    :param keys: the key parameters
    :param levels: name → (low, high)
    :param said: its sentences
    :param factorial: of the full factorial of the keys, where it was made
    """

    name: str
    reading: sp.Reading
    analysis: effects.Analysis
    keys: tuple[str, ...]
    levels: Mapping[str, tuple[str, str]]
    said: tuple[str, ...]
    factorial: effects.Analysis | None = None

    def shown(self, effect: float) -> float:
        """An effect as a factor, or as a difference."""
        return math.exp(min(effect, 700)) if self.reading.log else effect


def page_of(found: Found) -> str:
    """The HTML page.

    :raises ToolError: where matplotlib or Jinja2 is missing
    """
    sections = [_section('Effects of the parameters', found, found.analysis)]
    if found.factorial is not None:
        sections.append(_section('Effects and interactions of the key '
                                 'parameters', found, found.factorial))
    return page.render(f'{found.name}: {found.reading.response}',
                       '\n'.join(found.said), sections)


def _section(heading: str, found: Found,
             analysis: effects.Analysis) -> page.Section:
    unit = ('factor' if found.reading.log
            else _UNITS[found.reading.response])
    return page.Section(
        heading, f'The error is {analysis.method}. {analysis.rest:.0%} of '
        'the variation is of none of these.',
        [_pareto(found, analysis)],
        [page.Table(
            ('parameter', 'low', 'high', f'effect, {unit}', 'from', 'to',
             'share', 'p'),
            [(e.name, *found.levels.get(e.name, (None, None)),
              *(float(found.shown(v)) for v in (e.effect, *e.interval)),
              f'{e.share:.1%}', float(e.p_value))
             for e in analysis.effects],
            'From low to high, with the 95 % interval.')])


def _pareto(found: Found, analysis: effects.Analysis) -> str:
    shown = analysis.effects[:25]
    figure = page.figure(9, 1.2 + 0.26 * len(shown))
    axes = figure.subplots()
    places = [*range(len(shown))]
    axes.barh(places, [100 * e.share for e in shown],
              color=['#4878a8' if e.p_value < 0.05 else '#c3ccd6'
                     for e in shown])
    total, line = 0.0, []
    for e in shown:
        total += 100 * e.share
        line.append(total)
    axes.plot(line, places, color='#b4552d', marker='.', lw=1)
    axes.axvline(50, color='#8c95a0', lw=1, ls=':')
    axes.set_yticks(places, [e.name + ' *' * (e.name in found.keys)
                             for e in shown])
    axes.invert_yaxis()
    axes.set(xlim=(0, 105), xlabel='share of the variation, % (line: '
             'together; blue: p < 0.05; * key parameter)')
    return page.svg(figure)
