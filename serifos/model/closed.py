# SPDX-License-Identifier: Apache-2.0
"""Outstanding requests of workloads that think, by a model.

A workload of N requesters, each of which waits Z after a request that took
R, has q = N R / (R + Z) requests outstanding in the mean (the interactive
response-time law and Little's). R depends on all that is outstanding, so
that q is the fixed point of the model and this law.

Planning leaves out a workload that hardly asks, which adds nothing to a pool.
Who asks what that workload itself sees is told here.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from serifos.facts import workload
from serifos.model.model import Model

_STEPS = 200
_CLOSE = 1e-6  # of the requesters
_LONE = 1.0  # request outstanding while it is in service


def settled(model: Model,
            workloads: Sequence[workload.Workload]) -> list[workload.Workload]:
    """The workloads as they stay together, none of them with a think time.

    :param model: of a latency
    :param workloads: ``iodepth`` is how many requesters they have
    :returns: the same, ``iodepth`` what they keep outstanding
    """
    now = [dataclasses.replace(w, think_time_us=0.0) for w in workloads]
    seen = [0.0] * len(now)
    for _ in range(_STEPS):
        load = together(model, now)
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


def together(model: Model,
             workloads: Sequence[workload.Workload]) -> workload.Load:
    """The Load of workloads: of those that hardly ask where no other does.

    A request in service is outstanding itself: where less than one is in the
    mean, and less than the model was fitted to, whoever asks sees a lone
    request. The Load then is the least that the model knows, one at the most,
    of the same mix. Beside others who hardly asks adds nothing to it.

    :param workloads: without a think time; see :func:`settled`
    """
    asking = [w for w in workloads if w.is_active()] or [
        w for w in workloads if w.outstanding]
    total = sum(w.outstanding for w in asking)
    fitted, _ = model.range.get('iodepth', (_LONE, _LONE))
    served = max(total, min(_LONE, max(fitted, workload.ACTIVE_FLOOR)))
    return sum((workload.Load.of(
        dataclasses.replace(w, iodepth=w.outstanding / total * served),
        bool(model.outside(w)), floor=0.0) for w in asking), workload.Load())
