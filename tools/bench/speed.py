# SPDX-License-Identifier: Apache-2.0
"""Section ``speed``: seconds and memory of planning as clusters grow."""

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

from serifos.lab.sim import scenario
from serifos.model.model import Model

SIZES = ((1_000, 50), (10_000, 200), (100_000, 1_000), (1_000_000, 10_000))
ONCE, PLAIN = 'algorithm 1, one pass', 'bfd in plain Python'
TENANTS = 'relieve, kind tenant'
WITH_SLO = 'relieve, tenant, SLOs'
HOURS = 24
BUSY = f'relieve, busy, {HOURS} slots'
IN_SLOTS = {**{f'{work}, {HOURS} slots': work
               for work in ('bfd', 'relieve', TENANTS)}, BUSY: 'relieve'}
LARGEST = {ONCE: 10_000, PLAIN: 10_000, 'bfd': 100_000, 'relieve': 1_000_000,
           TENANTS: 1_000_000, WITH_SLO: 1_000_000,
           **dict.fromkeys(IN_SLOTS, 100_000)}
"""Volumes up to which each is tried; beyond, plain Python takes minutes."""
AT_MOST = 1.25
"""What a tenth of the volumes is SLO, of the pools' mean."""


def timed(work: str, volumes: int, pools: int,
          pair: tuple[Model, Model] | None) -> dict[str, Any]:
    """One case, in a process of its own."""
    cluster = clusters.make_cluster(volumes, pools, seed=0, blur=True)
    if work == WITH_SLO:
        cluster = clusters.slo(cluster, AT_MOST, pair)
    slots = clusters.make_slots(cluster, HOURS, 0, work == BUSY) if (
        work in IN_SLOTS) else None
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, left = time.process_time(), ()
    planner = work.partition(',')[0]
    if planner in clusters.PLANNERS:
        made = clusters.plan(planner, cluster, scenario.limits(), pair, slots)
        moves, left = len(made.moves), (made.hot_pools, made.slo_misses)
    else:
        moves = algorithm_1.migrations(
            cluster, None if work == ONCE else scenario.limits())
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {'seconds': seconds, 'moves': moves, 'left': left,
            'base_mib': base / 1024, 'mib': (peak - base) / 1024}


def _apart(*arguments: Any) -> dict[str, Any]:
    with futures.ProcessPoolExecutor(
            1, multiprocessing.get_context('spawn')) as one:
        return one.submit(timed, *arguments).result()


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield ('volumes  pools  planner                         seconds  MiB '
           '(cluster)    moves  hot pools and violated SLOs')
    pair = clusters.tenant_models()
    growth: dict[str, list[tuple[float, float]]] = {}
    taken: dict[tuple[int, str], dict[str, Any]] = {}
    for volumes, pools in SIZES[:2] if quick else SIZES:
        for work, largest in LARGEST.items():
            if volumes > largest:
                continue
            found = _apart(work, volumes, pools,
                           pair if TENANTS in work or work == WITH_SLO
                           else None)
            yield (f'{volumes:7} {pools:6}  {work:30} {found["seconds"]:8.2f} '
                   f'{found["mib"]:5.0f} {found["base_mib"]:7.0f}  '
                   f'{found["moves"]:7}  '
                   + ', '.join(f'{one.before} -> {one.after}' for one
                               in found['left'] if one.before)).rstrip()
            growth.setdefault(work, []).append((
                math.log(volumes), math.log(found['seconds'])))
            taken[volumes, work] = found
    yield ''
    for work, points in growth.items():
        exponent = np.polyfit(*zip(*points), 1)[0]
        yield f'{work}: seconds grow with volumes^{exponent:.2f}'
    for (volumes, work), found in taken.items():
        if work in IN_SLOTS:
            one = taken[volumes, IN_SLOTS[work]]
            yield (f'{volumes} volumes: {work} take '
                   f'{found["seconds"] / one["seconds"]:.1f} times the '
                   'seconds of one slot, and '
                   f'{found["mib"] - one["mib"]:.0f} MiB more')
    yield ('Seconds of one processor from the cluster in memory to the plan; '
           'MiB that planning adds, and what the process held before.')
