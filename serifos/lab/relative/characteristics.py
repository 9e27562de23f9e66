# SPDX-License-Identifier: Apache-2.0
"""Workload characteristics and service observations of a run.

Those of Mesnier et al. [1]_ (Table 2), of a run as a whole: its workloads
are one stream of requests to the device. Standard library only.

Of the paper's characteristics the share of reads is left out (it follows
from that of writes), and reads and writes of a run have one size. ``count`` is
ours: the paper's samples are of one workload.

.. [1] Mesnier, Wachs, Ganger: Modeling the relative fitness of storage
   devices.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

from serifos import errors
from serifos.facts import dataset as ds
from serifos.facts import workload as wl

CHARACTERISTICS = ('inter_arrival_us', 'write_pct', 'block_kib',
                   'random_pct', 'count')
"""WC: the mean time from a request to the next, and their pattern."""

SERVICE = ('latency_us', 'iops', 'bandwidth_kib_s', 'outstanding')
"""SO: performance, and the depth of the queue by Little's law."""

HOST = ('cpu_pct', 'context_switches_per_s', 'interrupts_per_s')
"""SO where they were measured (build --observe-host)."""


def of_workload(workload: wl.Workload) -> dict[str, float]:
    """The characteristics and service of one observed workload.

    :raises InputError: where its iops or latency are unknown, or zero
    """
    if not (workload.iops and workload.latency_us):
        raise errors.InputError(
            'A workload without requests, or without a latency, was not '
            'observed, and cannot be predicted on another device.')
    return _observed(1, workload.iops, workload.latency_us,
                     workload.outstanding, workload.write_pct,
                     workload.block_kib, workload.random_pct)


def of_sample(sample: ds.Sample) -> dict[str, float]:
    """The same of a run, and what the machine did where that is known.

    Rates are sums over its workloads, the latency is the run's, and shares
    and sizes are means over its requests.

    :raises InputError: where a workload's iops or latency are missing
    """
    if not sample.seen or not all(
            saw.get('iops') and saw.get('latency_us') for saw in sample.seen):
        raise errors.InputError(
            'A run does not say the iops and latency_us of each of its '
            'workloads; measure it by build, which does.')
    iops = [saw['iops'] for saw in sample.seen]
    total = sum(iops)

    def mean(values: list[float]) -> float:
        return sum(rate * value for rate, value in zip(iops, values)) / total

    asked = sample.workloads
    found = _observed(
        sample.count, total, sample.latency_us,
        sum(saw['iops'] * saw['latency_us'] for saw in sample.seen) / 1e6,
        mean([_write_pct(w, saw) for w, saw in zip(asked, sample.seen)]),
        mean([w.block_kib for w in asked]),
        mean([w.random_pct for w in asked]))
    return {**found, **{name: sample.seen[0][name] for name in HOST
                        if sample.seen[0].get(name) is not None}}


def of_tenants(sample: ds.Sample) -> list[dict[str, float]]:
    """The figures of each workload of a run, ordered by pattern.

    :raises InputError: where a workload's iops or latency are missing
    """
    of_sample(sample)  # refuses what cannot be used
    tenants = sorted(zip(sample.workloads, sample.seen),
                     key=lambda tenant: tenant[0].pattern)
    return [of_workload(dataclasses.replace(
        workload, write_pct=_write_pct(workload, saw), iops=saw['iops'],
        latency_us=saw['latency_us'])) for workload, saw in tenants]


def _write_pct(workload: wl.Workload, saw: Mapping[str, Any]) -> float:
    writes = saw.get('write_iops')
    return (workload.write_pct if writes is None
            else 100 * writes / saw['iops'])


def _observed(count: int, iops: float, latency_us: float, q: float,
              write_pct: float, block_kib: float,
              random_pct: float) -> dict[str, float]:
    return {'inter_arrival_us': 1e6 / iops, 'write_pct': write_pct,
            'block_kib': block_kib, 'random_pct': random_pct,
            'count': float(count), 'latency_us': latency_us, 'iops': iops,
            'bandwidth_kib_s': iops * block_kib, 'outstanding': q}
