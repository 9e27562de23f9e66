# SPDX-License-Identifier: Apache-2.0
"""What workloads that think keep outstanding, where a model says how long.

A workload of N requesters, each of which waits Z after a request that took
R, has q = N R / (R + Z) requests outstanding in the mean (the interactive
response-time law and Little's). R depends on all that is outstanding, so
that q is the fixed point of the model and this law.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from serifos.facts import workload as wl
from serifos.model import model as mm

_STEPS = 200
_CLOSE = 1e-6  # of the requesters


def settled(model: mm.Model,
            workloads: Sequence[wl.Workload]) -> list[wl.Workload]:
    """The workloads as they stay together, none of them with a think time.

    :param model: of a latency
    :param workloads: ``iodepth`` is how many requesters they have
    :returns: the same, ``iodepth`` what they keep outstanding
    """
    now = [dataclasses.replace(w, think_time_us=0.0) for w in workloads]
    seen = [0.0] * len(now)
    for _ in range(_STEPS):
        load = model.load(now)
        seen = [model.tenant(load, w).latency_us or last
                for w, last in zip(now, seen)]
        aims = [w.iodepth * latency / (latency + w.think_time_us)
                if w.think_time_us else w.iodepth
                for w, latency in zip(workloads, seen)]
        steps = [(aim - w.iodepth) / 2 for w, aim in zip(now, aims)]
        now = [dataclasses.replace(w, iodepth=w.iodepth + step)
               for w, step in zip(now, steps)]
        if all(abs(step) <= _CLOSE * w.iodepth
               for w, step in zip(workloads, steps)):
            break
    return now
