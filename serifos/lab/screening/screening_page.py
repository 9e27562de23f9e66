# SPDX-License-Identifier: Apache-2.0
"""The effects of a screening: rows, sentences and a page."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math

from serifos.cmd import output
from serifos.facts import phrases
from serifos.lab.screening import effects
from serifos.lab.screening import plan
from serifos.report import charts
from serifos.report import page
from serifos.report import table

_UNITS = {'bandwidth_kib_s': ('KiB/s', 1), 'iops': ('IOPS', 1),
          'latency_us': ('ms', 1e3)}
_SHOWN = 25
_HALF = 0.5

HEADER = ('design', 'rank', 'parameter', 'low', 'high', 'effect', 'from',
          'to', 'share', 'cumulative', 'p_value', 'key')

_NONE = output.Cell(None, '–')


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
                       verdict=verdict(found.analysis, found.keys))


def _unit(found: Found) -> tuple[str, float]:
    return ('factor', 1) if found.reading.log else (
        _UNITS[found.reading.response])


def _halves(found: Found) -> page.Section:
    unit, per = _unit(found)
    return page.Section(
        'Parameters split where they turn',
        'The response at a middle level of these is not between those of the '
        'ends, so that the effect of the whole range means little. Each half '
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
        f'The error is {analysis.method}. {unexplained(analysis)}',
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


def rows(found: Found) -> list[tuple[object, ...]]:
    """A row for each effect of each design, the greatest first.

    Then one for each half of a key parameter that is not monotone.
    """
    lines = _rows(found, 'screening', found.analysis)
    if found.factorial is not None:
        lines += _rows(found, 'factorial', found.factorial)
    return lines + [
        ('split', rank, half.name, half.low, half.high,
         *_shown(found, half.effect, half.interval), _NONE, _NONE,
         float(f'{half.p_value:.3g}'), 'yes')
        for rank, half in enumerate(found.split, 1)]


def _shown(found: Found, effect: float,
           interval: tuple[float, float]) -> tuple[float, ...]:
    return tuple(float(f'{found.shown(v):.4g}')
                 for v in (effect, *interval))


def _rows(found: Found, design: str,
          analysis: effects.Analysis) -> list[tuple[object, ...]]:
    lines: list[tuple[object, ...]] = []
    total = 0.0
    for rank, e in enumerate(analysis.effects, 1):
        total += e.share
        lines.append((
            design, rank, e.name, *found.levels.get(e.name, (_NONE, _NONE)),
            *_shown(found, e.effect, e.interval), round(e.share, 4),
            round(total, 4),
            float(f'{e.p_value:.3g}'),
            'yes' if e.name in found.keys else 'no'))
    return lines


def explained(analysis: effects.Analysis, keys: Sequence[str],
              response: str) -> str:
    """The share of the variation that the key parameters explain."""
    one = len(keys) == 1
    return (f'{", ".join(keys)} explain{"s" * one} '
            f'{_percent(_share(analysis, keys))} of the variation of '
            f'{response}; {"the " * one}key parameter{"s" * (not one)} to '
            'look at by --factorial.')


def beyond(analysis: effects.Analysis) -> str:
    """The parameters that are beyond the noise, and the rest."""
    names = [e.name for e in analysis.effects if _is_beyond(e)]
    text = (f'Beyond the noise (p < 0.05, by {analysis.method}): '
            f'{", ".join(names) or "none"}. ')
    if analysis.rest is not None:
        return text + (f'{_percent(analysis.rest)} of the variation is due '
                       'to interactions and noise.')
    return text + (f'{unexplained(analysis)} --foldover, or more --runs, '
                   'leave some spare.')


def unexplained(analysis: effects.Analysis) -> str:
    """The share of none of the effects, where the design can tell."""
    if analysis.rest is not None:
        return (f'None of these explains {_percent(analysis.rest)} of the '
                'variation.')
    return ('The design has no spare column, so the share that none of these '
            'explains is not known; noise makes about '
            f'{_percent(analysis.noise_share)} of the variation.')


def verdict(analysis: effects.Analysis, keys: Sequence[str]) -> str:
    """The parameters that matter, and whether the runs suffice."""
    one = len(keys) == 1
    share = _percent(_share(analysis, keys))
    doubt = _doubt(analysis, keys)
    if doubt is not None:
        return (f'Not decided: {doubt}. {", ".join(keys)} '
                f'{"explains" if one else "explain"} {share} of the '
                'variation.')
    return (
        f'{len(keys)} of {phrases.count(len(analysis.effects), "parameter")} '
        f'matter{"s" * one} most: {", ".join(keys)}. '
        f'{"It explains" if one else "They explain"} {share} of the '
        'variation.')


def _doubt(analysis: effects.Analysis, keys: Sequence[str]) -> str | None:
    share, rest = _share(analysis, keys), analysis.rest
    if rest is not None and rest >= share:
        return (f'interactions and noise explain {_percent(rest)} of the '
                'variation, more than the key parameters')
    if analysis.noise_share >= min(share, _HALF):
        return (f'noise makes about {_percent(analysis.noise_share)} of the '
                'variation' + ', as much as the key parameters or more' * (
                    analysis.noise_share < _HALF))
    if not any(_is_beyond(e) for e in analysis.effects if e.name in keys):
        return 'none of the key parameters is beyond the noise (p < 0.05)'
    return None


def _is_beyond(effect: effects.Effect) -> bool:
    return effect.p_value < 0.05


def _share(analysis: effects.Analysis, keys: Sequence[str]) -> float:
    return sum(e.share for e in analysis.effects if e.name in keys)


def _percent(share: float) -> str | None:
    return table.percent(share, '.0f')
