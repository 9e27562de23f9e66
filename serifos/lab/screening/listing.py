# SPDX-License-Identifier: Apache-2.0
"""The effects of a screening as rows of a printed table."""

from __future__ import annotations

from serifos.cmd import output
from serifos.lab.screening import effects
from serifos.lab.screening import screening_page

HEADER = ('design', 'rank', 'parameter', 'low', 'high', 'effect', 'from',
          'to', 'share', 'cumulative', 'p_value', 'key')

_NONE = output.Cell(None, '–')


def rows(found: screening_page.Found) -> list[tuple[object, ...]]:
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


def _shown(found: screening_page.Found, effect: float,
           interval: tuple[float, float]) -> tuple[float, ...]:
    return tuple(float(f'{found.shown(v):.4g}')
                 for v in (effect, *interval))


def _rows(found: screening_page.Found, design: str,
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
