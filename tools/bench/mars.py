# SPDX-License-Identifier: Apache-2.0
"""Section ``mars``: MARS beside R's earth, on runs held out."""

from __future__ import annotations

from collections.abc import Iterator
import pathlib
import sys
import time

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parents[2]))  # the root

from tests.unit.papers import earth_cases as cases  # noqa: E402
from tests.unit.papers import golden  # noqa: E402


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section: geometric means over the parts of a set."""
    yield ('RMSE over that of earth on held-out runs, after a fit to some, '
           'and seconds of a fit')
    columns = [(degree, runs) for degree in cases.DEGREES
               for runs in cases.RUNS]
    yield f'{"degree and runs":15}' + ''.join(
        f'{degree}: {runs or "all"}'.rjust(8)
        for degree, runs in columns) + '       s'
    kept: dict[tuple[int, int | None], list[float]] = {}
    for name, case in golden.CUBIST['sets'].items():
        start, fits = time.process_time(), 0
        for degree, runs in columns:
            its, = (row['earth'] for row in golden.EARTH['squares'] if (
                row['set'], row['runs'], row['degree'])
                == (name, runs, degree))
            ours = cases.serifos_squares(
                name, case, runs, degree, 3 if quick else None)
            kept.setdefault((degree, runs), []).append(float(np.mean(np.log(
                np.divide(ours, its[:len(ours)])))) / 2)
            fits += len(ours)
        yield _line(name, [kept[column][-1] for column in columns]) + (
            f'{(time.process_time() - start) / fits:8.3f}')
    yield _line('all', [float(np.mean(kept[column])) for column in columns])


def _line(name: str, logs: list[float]) -> str:
    return f'{name:15}' + ''.join(f'{np.exp(one):8.3f}' for one in logs)
