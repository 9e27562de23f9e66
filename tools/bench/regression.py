# SPDX-License-Identifier: Apache-2.0
"""Section ``regression``: trees beside Cubist, on runs held out."""

from __future__ import annotations

from collections.abc import Iterator
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[2]))  # the root

from tests.unit.papers import cubist_cases as cases  # noqa: E402
from tests.unit.papers import golden  # noqa: E402


_COLUMNS: tuple[tuple[str, dict[str, float]], ...] = (
    ('alone', {'smoothing': 0, 'linear_splits': 0}), ('alone', {}),
    ('committee', {'ntrees': 20}))


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield 'RMSE over that of Cubist on runs held out, and seconds of a fit'
    yield 'set                as M5      s  one tree      s  20 trees      s'
    for name, case in golden.CUBIST['sets'].items():
        line = f'{name:15}'
        for cubist, settings in _COLUMNS[:2 if quick else None]:
            over, seconds = _over(name, case, cubist, **settings)
            line += f'{over:10.3f}{seconds:7.2f}'
        yield line


def _over(name: str, case: dict, cubist: str, **settings: float
          ) -> tuple[float, float]:
    start = time.process_time()
    ours = cases.squares(name, case, cases.serifos_of('cubist', **settings))
    return ((sum(ours) / sum(case[cubist])) ** 0.5,
            (time.process_time() - start) / len(ours))
