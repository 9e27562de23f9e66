# SPDX-License-Identifier: Apache-2.0
"""Section ``reach``: what ever thinner benchmarks seem to cover."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import numpy as np

from serifos.lab.coverage import coverage

NAMES = ('count', 'write_pct', 'log2 block_kib', 'log2 iodepth', 'random_pct',
         'log think_time_us')
_SIZES = (2, 5, 10, 15, 20, 30, 60)
_TENANTS = 60
_BELOW = 0.5  # what the narrow benchmark has of each range


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield ('runs   alike: reach  by distance, least to greatest   '
           'narrow: reach  by distance')
    for size in _SIZES:
        line = f'{size:4} '
        for part in (1.0, _BELOW):
            found = [_covers(size, part, seed)
                     for seed in range(5 if quick else 20)]
            reaches, shares = np.array(found).T
            line += (f'{np.median(reaches):15.2f}   {np.median(shares):6.0%} '
                     f'({shares.min():4.0%} to {shares.max():4.0%})')
        yield line


def _covers(size: int, part: float, seed: int) -> tuple[float, float]:
    """(reach, share by distance) of random runs, by others."""
    rng = np.random.default_rng(seed)
    with mock.patch.object(coverage, 'ENOUGH', 2):
        found = coverage.coverage(
            [part * rng.random((size, len(NAMES))),
             rng.random((_TENANTS, len(NAMES)))], NAMES, clusters=2)
    assert found.reach is not None
    return found.reach, float(found.by_distance[found.owners == 1].mean())
