# SPDX-License-Identifier: Apache-2.0
"""Section ``speed``: seconds and memory of the planners as clusters grow."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
import math
import multiprocessing
import resource
import time
from typing import Any

import algorithm_1
import clusters
import numpy as np

from serifos.plan import limits as lm

SIZES = ((1_000, 50), (10_000, 200), (100_000, 1_000))
ONCE, PLAIN = 'algorithm 1, one pass', 'bfd in plain Python'


def _timed(work: str, volumes: int, pools: int,
           min_gain: float) -> dict[str, Any]:
    """One case, in a process of its own."""
    cluster = clusters.make_cluster(volumes, pools, seed=0, blur=True)
    limits = lm.Limits(min_gain)
    start = time.process_time()
    if work in clusters.PLANNERS:
        moves = len(clusters.plan(work, cluster, limits).moves)
    else:
        moves = algorithm_1.migrations(
            cluster, None if work == ONCE else limits)
    return {'seconds': time.process_time() - start, 'moves': moves,
            'peak_mib': resource.getrusage(
                resource.RUSAGE_SELF).ru_maxrss / 1024}


def _apart(*arguments: Any) -> dict[str, Any]:
    with futures.ProcessPoolExecutor(
            1, multiprocessing.get_context('spawn')) as one:
        return one.submit(_timed, *arguments).result()


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield ('volumes  pools  min_gain  planner                seconds  MiB  '
           'moves  plain Python takes')
    growth: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for volumes, pools in SIZES[:2] if quick else SIZES:
        yield _line(volumes, pools, math.nan, ONCE,
                    _apart(ONCE, volumes, pools, 0.0))
        for gain in (0.05, 0.001):
            patient = gain == 0.05 or pools < SIZES[-1][1]  # else minutes
            plain = _apart(PLAIN, volumes, pools, gain) if patient else None
            if plain:
                yield _line(volumes, pools, gain, PLAIN, plain)
            for planner in clusters.PLANNERS:
                found = _apart(planner, volumes, pools, gain)
                yield _line(volumes, pools, gain, planner, found,
                            plain if planner == 'bfd' else None)
                growth.setdefault((planner, gain), []).append((
                    math.log(volumes * pools), math.log(found['seconds'])))
    yield ''
    for (planner, gain), points in growth.items():
        exponent = np.polyfit(*zip(*points), 1)[0]
        yield (f'{planner} at min_gain {gain:g}: seconds grow with '
               f'(volumes x pools)^{exponent:.2f}')
    yield ('Seconds of one processor, without the making of the cluster; '
           'MiB: peak of the whole process.')


def _line(volumes: int, pools: int, gain: float, work: str,
          found: dict[str, Any], plain: dict[str, Any] | None = None) -> str:
    ratio = f'{plain["seconds"] / found["seconds"]:.1f} times as long' \
        if plain else ''
    shown = '' if math.isnan(gain) else f'{gain:.3f}'
    return (f'{volumes:7} {pools:6}  {shown:>8}  {work:21} '
            f'{found["seconds"]:8.2f} {found["peak_mib"]:4.0f} '
            f'{found["moves"]:6}  {ratio}').rstrip()
