# SPDX-License-Identifier: Apache-2.0
"""Promises of which what tenants see contradicts what is predicted."""

from __future__ import annotations

import dataclasses

from serifos.facts import cluster as cl
from serifos.plan.promises import beyond
from serifos.plan import state as st


@dataclasses.dataclass(frozen=True, slots=True)
class Contradicted:
    """Volumes with a promise, active ones of a measured latency.

    :param kept: broken as predicted, and kept as measured
    :param broken: kept as predicted, and broken as measured
    """

    kept: tuple[cl.Volume, ...] = ()
    broken: tuple[cl.Volume, ...] = ()


def of(state: st.State) -> Contradicted:
    """By the present, which is what is measured."""
    problem = state.problem
    late = set(beyond.broken(state).tolist())
    kept, broken = [], []
    for place in problem.promises.volumes.tolist():
        one, most_us = problem.volumes[place], problem.promises.us[place]
        sees_us = None if one.workload is None else one.workload.latency_us
        if sees_us is None or not problem.active[place]:
            continue
        if place in late and sees_us <= most_us:
            kept.append(one)
        elif place not in late and sees_us > most_us:
            broken.append(one)
    return Contradicted(tuple(kept), tuple(broken))
