# SPDX-License-Identifier: Apache-2.0
"""Figures in words: latencies, times, counts and lists."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.facts.hot_by import BUSY
from serifos.facts.hot_by import UNITS

_SHOWN = 3


def ms(latency_us: float | None) -> str:
    """Three digits, without the unit; an en dash where it is not known."""
    if latency_us is None:
        return '–'
    found = latency_us / 1e3
    return f'{found:,.0f}' if found >= 100 else f'{found:.3g}'


def busy(figure_us: float | None) -> str:
    """Percent, without the sign, of µs of each second."""
    return '–' if figure_us is None else f'{figure_us / 1e4:.3g}'


def figure(figure_us: float | None, hot_by: str) -> str:
    """A planning figure as :func:`busy` or :func:`ms` has it."""
    return busy(figure_us) if hot_by == BUSY else ms(figure_us)


def exact(figure_us: float, hot_by: str) -> str:
    """The same with a digit more, as reasons of plans have it."""
    return busy(figure_us) if hot_by == BUSY else f'{figure_us / 1e3:.4g}'


def change(was_us: float | None, then_us: float | None) -> str:
    """14.4 → 11.1."""
    return f'{ms(was_us)} → {ms(then_us)}'


def exact_change(was_us: float, then_us: float, hot_by: str) -> str:
    """5.473 -> 1.653 ms."""
    return (f'{exact(was_us, hot_by)} -> {exact(then_us, hot_by)} '
            f'{UNITS[hot_by]}')


def worse(hot_by: str) -> str:
    """Slower or busier: a pool of the greater planning figure."""
    return 'busier' if hot_by == BUSY else 'slower'


def window(seconds: float) -> str:
    """The last 24 hours."""
    return f'the last {seconds / 3600:g} hours'


def duration(seconds: float) -> str:
    """A time: 40 s, 12 min, 5.5 h."""
    for unit, name in (3600.0, 'h'), (60.0, 'min'):
        if seconds >= 2 * unit:
            return f'{seconds / unit:.3g} {name}'
    return f'{seconds:.3g} s'


def count(number: int, noun: str) -> str:
    """1 volume; 2 volumes."""
    return f'{number:,} {noun}' + 's' * (number != 1)


def several(names: Sequence[str], shown: int = _SHOWN) -> str:
    """a, b, c and 4 more."""
    more = len(names) - shown
    return ', '.join(names[:shown]) + (f' and {more:,} more'
                                       if more > 0 else '')
