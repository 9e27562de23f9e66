# SPDX-License-Identifier: Apache-2.0
"""The figures of the paper over many cases."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from serifos.lab.sim import scenario

Outcomes = Sequence[scenario.PlannerResult]

WORSE_BY = 0.01
"""A case is worse than Cinder's placement where its worst host's latency,
or the variance over its hosts, rose by more than this fraction."""

_SLO_SHARE = 99  # percent


def _hosts(outcomes: Outcomes, name: str) -> npt.NDArray[np.float64]:
    """float[cases, hosts]."""
    return np.array([[getattr(host, name) for host in outcome.hosts]
                     for outcome in outcomes])


def _tenants(outcomes: Outcomes) -> list[float]:
    """µs that each workload saw, case by case."""
    return [workload.latency_us for outcome in outcomes
            for workload in outcome.workloads if workload.latency_us]


def _slowest(outcome: scenario.PlannerResult) -> float:
    """µs that the slowest workload of a case saw."""
    return max(_tenants([outcome]), default=0.0)


def _variance(name: str) -> Callable[[Outcomes], float]:
    return lambda outcomes: float(np.mean(
        _hosts(outcomes, name).var(axis=1)))


def _slo(name: str) -> Callable[[Outcomes], float]:
    return lambda outcomes: float(np.percentile(
        [getattr(workload, name) for outcome in outcomes
         for workload in outcome.workloads], _SLO_SHARE))


FIGURES: Mapping[str, Callable[[Outcomes], float]] = {
    'variance_us2': _variance('latency_us'),
    'max_us': lambda outcomes: float(_hosts(outcomes, 'latency_us').max()),
    'mean_max_us': lambda outcomes: float(np.mean(
        _hosts(outcomes, 'latency_us').max(axis=1))),
    'mean_us': lambda outcomes: float(np.mean(
        _hosts(outcomes, 'latency_us'))),
    'p99_read_variance_us2': _variance('read_p99_us'),
    'p99_write_variance_us2': _variance('write_p99_us'),
    'tenants_us': lambda outcomes: float(np.exp(np.mean(np.log(
        _tenants(outcomes))))),
    'worst_tenant_us': lambda outcomes: float(np.mean([
        _slowest(outcome) for outcome in outcomes])),
    'slo_us': _slo('latency_us'),
    'slo_read_us': _slo('read_p99_us'),
    'slo_write_us': _slo('write_p99_us'),
}
"""Figures that balancing should lower. Variances are over the hosts of a
case, their mean over the cases; ``max_us`` is the worst host of all cases,
``mean_max_us`` the mean of each case's worst; ``mean_us`` is over all hosts.
``tenants_us`` is the geometric mean over all workloads, the same ones before
and after, so that nobody dilutes it; ``worst_tenant_us`` the mean of each
case's slowest workload.
An SLO is what 99 % of all workloads stay below: by their mean latency, by
their 99th percentile of reads, of writes."""


def figures(outcomes: Outcomes) -> dict[str, float]:
    """Every figure of :data:`FIGURES`, by name."""
    return {name: figure(outcomes) for name, figure in FIGURES.items()}


def reductions(before: Outcomes, after: Outcomes) -> dict[str, float]:
    """The fraction by which each figure fell; negative where it rose."""
    was, now = figures(before), figures(after)
    return {name: 1 - now[name] / was[name] for name in FIGURES}


def worse(before: Outcomes, after: Outcomes) -> int:
    """The number of cases that are worse than Cinder's placement."""
    was, now = (_hosts(outcomes, 'latency_us')
                for outcomes in (before, after))
    limit = 1 + WORSE_BY
    return int(np.sum((now.max(axis=1) > limit * was.max(axis=1))
                      | (now.var(axis=1) > limit * was.var(axis=1))))


def worse_tenants(before: Outcomes, after: Outcomes) -> int:
    """The number of cases whose slowest workload became slower."""
    return sum(_slowest(then) > (1 + WORSE_BY) * _slowest(was)
               for was, then in zip(before, after))


def mean_moves(outcomes: Outcomes) -> float:
    """Migrations of a case, the mean."""
    return float(np.mean([outcome.moves for outcome in outcomes]))


def mean_moved_gib(outcomes: Outcomes) -> float:
    """GiB that the migrations of a case copy, the mean."""
    return float(np.mean([outcome.moved_gib for outcome in outcomes]))
