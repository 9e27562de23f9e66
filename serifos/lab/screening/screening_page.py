# SPDX-License-Identifier: Apache-2.0
"""A screening's effects on one page: a Pareto chart and its tables."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import math

from serifos.lab.screening import effects
from serifos.lab.screening import plan
from serifos.lab.screening import words
from serifos.report import charts
from serifos.report import page
from serifos.report import table
from serifos.report import wording

_UNITS = {'bandwidth_kib_s': ('KiB/s', 1), 'iops': ('IOPS', 1),
          'latency_us': ('ms', 1e3)}
_SHOWN = 25


@dataclasses.dataclass(frozen=True)
class Found:
    """The result of a screening.

    :param keys: the key parameters
    :param levels: name → (low, high)
    :param said: its sentences
    :param factorial: of the full factorial of the keys, where it was made
    :param split: the halves of the keys that are not monotone
    :param about: the device, where and when it was measured
    """

    name: str
    reading: plan.ResponseScale
    analysis: effects.Analysis
    keys: tuple[str, ...]
    levels: Mapping[str, tuple[str, str]]
    said: tuple[str, ...]
    factorial: effects.Analysis | None = None
    split: tuple[plan.Half, ...] = ()
    about: str = ''

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
    if found.split:
        sections.append(_halves(found))
    return page.render(f'{found.name}: {found.reading.response}',
                       '\n'.join([*found.said, found.about]), sections,
                       verdict=words.verdict(found.analysis, found.keys))


def _unit(found: Found) -> tuple[str, float]:
    return ('factor', 1) if found.reading.log else (
        _UNITS[found.reading.response])


def _halves(found: Found) -> page.Section:
    unit, per = _unit(found)
    return page.Section(
        'Parameters split where they turn',
        'The response at a middle level of these is not between those of the '
        'ends, so that the effect of the whole range says little. Each half '
        'has an effect of its own.', tables=[table.Table(
            ('parameter', 'low', 'high', f'effect, {unit}', 'from', 'to',
             'p'),
            [(h.name, h.low, h.high,
              *(float(found.shown(v)) / per for v in (h.effect, *h.interval)),
              h.p_value) for h in found.split])])


def _section(heading: str, found: Found,
             analysis: effects.Analysis) -> page.Section:
    unit, per = _unit(found)
    shown = analysis.effects[:_SHOWN]
    return page.Section(
        heading,
        f'The error is {analysis.method}. {words.unexplained(analysis)}',
        [charts.pareto(
            [e.name + ' *' * (e.name in found.keys) for e in shown],
            [100 * e.share for e in shown], [e.p_value < 0.05 for e in shown],
            xlabel='share of the variation, % (line: cumulative; blue: '
            'p < 0.05; * key parameter)')],
        [table.Table(
            ('parameter', 'low', 'high', f'effect, {unit}', 'from', 'to',
             'share', 'p'),
            [(e.name, *found.levels.get(e.name, (None, None)),
              *(float(found.shown(v)) / per for v in (e.effect, *e.interval)),
              table.percent(e.share), float(e.p_value))
             for e in analysis.effects],
            'The effect of going from low to high, with its 95 % interval.'
            )])
