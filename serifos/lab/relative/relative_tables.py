# SPDX-License-Identifier: Apache-2.0
"""Which errors belong to which line of the paper's tables."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from serifos.lab.relative import relative

Group = tuple[str, str, Mapping[relative.Way, float]]
"""A table, a line of it, and the error of each technique and inputs."""


def groups(found: Sequence[relative.Predicted]) -> Iterator[Group]:
    """Tables 6 to 8, of medians; 7 and 8 of different devices only."""
    for pair, its in _by(found, _pair).items():
        yield 'pairs', pair, _medians(its)
    apart = [one for one in found if one.source != one.target]
    for figure, its in _by(apart, _figure).items():
        yield 'figures', figure, _medians(its)
    yield 'overall', 'all', overall(found)


def tested(found: Sequence[relative.Predicted]) -> Iterator[Group]:
    """Section 6.2, of means: IOPS from device to device; figures, over all.

    :param found: as :func:`.relative.unseen` gives it
    """
    for pair, its in _by([one for one in found if one.figure == 'iops'],
                         _pair).items():
        yield 'test iops', pair, relative.mean([one.means for one in its])
    for figure, its in _by(found, _figure).items():
        yield 'test', figure, relative.mean([one.means for one in its])


def overall(found: Sequence[relative.Predicted]
            ) -> dict[relative.Way, float]:
    """Table 8: the mean of the medians over figures, and devices apart."""
    return _medians([one for one in found if one.source != one.target])


def _medians(found: Sequence[relative.Predicted]
             ) -> dict[relative.Way, float]:
    return relative.mean([one.medians for one in found])


def _pair(one: relative.Predicted) -> str:
    return f'{one.source} to {one.target}'


def _figure(one: relative.Predicted) -> str:
    return one.figure


def _by(found: Sequence[relative.Predicted],
        key: Callable[[relative.Predicted], str]
        ) -> dict[str, list[relative.Predicted]]:
    grouped: dict[str, list[relative.Predicted]] = {}
    for one in found:
        grouped.setdefault(key(one), []).append(one)
    return grouped
