# SPDX-License-Identifier: Apache-2.0
"""Section ``bonds``: what volumes that are kept apart or together cost."""

from __future__ import annotations

from collections.abc import Iterator
import math
import time
import tracemalloc

import numpy as np

from serifos.facts.cluster import Volume
from serifos.plan.affinity import Bonds
from serifos.plan.affinity import Ints

_TIMES = 5
SIZES = (2_000, 4_000, 8_000, 16_000)
ASKED = {'apart': {'different_pool': ('group',)},
         'together': {'same_pool': ('group',)}}


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield 'volumes of one group            seconds      MiB  of half as many'
    for how, asked in ASKED.items():
        before: tuple[float, float] | None = None
        for size in SIZES[:2] if quick else SIZES:
            its = [Volume(f'{i:06}', 'a', 1.0, **asked)
                   for i in range(size)]
            seconds, mib = _cost(its)
            ratios = '' if before is None else (
                f'  {seconds / before[0]:.1f}, {mib / before[1]:.1f} times')
            before = seconds, mib
            yield f'{size:7} {how:20} {seconds:10.3f} {mib:8.1f}{ratios}'


def _cost(volumes: list[Volume]) -> tuple[float, float]:
    """Least seconds, and MiB: how they are bound, what each contradicts."""
    home, seconds = np.zeros(len(volumes), np.intp), math.inf
    for _ in range(_TIMES):
        start = time.process_time()
        _ask(volumes, home)
        seconds = min(seconds, time.process_time() - start)
    tracemalloc.start()
    _ask(volumes, home)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return seconds, peak / 1024 ** 2


def _ask(volumes: list[Volume], home: Ints) -> None:
    found = Bonds.of(volumes, home)
    for volume in range(len(volumes)):
        found.contradiction(volume)
