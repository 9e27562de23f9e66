# SPDX-License-Identifier: Apache-2.0
"""Workload characteristics and service observations of a run.

Those of Mesnier et al. [1]_ (Table 2), of a run as a whole: its workloads
are one stream of requests to the device. Standard library only.

Of the paper's characteristics the share of reads is left out: it follows from
that of writes. ``count`` is ours: the paper's samples are of one workload.

.. [1] Mesnier, Wachs, Ganger: Modeling the relative fitness of storage
   devices.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import operator
from typing import Any

from serifos import errors
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload

CHARACTERISTICS = ('inter_arrival_us', 'write_pct', 'write_kib', 'read_kib',
                   'random_pct', 'count')
"""WC: the mean time from a request to the next, and their pattern. The size
of writes is 0 where there is none, and that of reads."""

SERVICE = ('latency_us', 'iops', 'bandwidth_kib_s', 'outstanding')
"""SO: performance, and the depth of the queue by Little's law."""

HOST = ('cpu_pct', 'context_switches_per_s', 'interrupts_per_s')
"""SO where they were measured (build --observe-host)."""


def of_workload(workload: Workload) -> dict[str, float]:
    """The characteristics and service of one observed workload.

    :raises InputError: where its iops or latency are unknown, or zero
    """
    if not (workload.iops and workload.latency_us):
        raise errors.InputError(
            'A workload without requests, or without a latency, was not '
            'observed, and cannot be predicted on another device.')
    return _observed([workload], [workload.iops], workload.latency_us,
                     workload.outstanding)


def is_observed(sample: Sample) -> bool:
    """Whether a run has the iops and latency_us of all of its workloads."""
    return bool(sample.seen) and all(
        saw.get('iops') and saw.get('latency_us') for saw in sample.seen)


def of_sample(sample: Sample) -> dict[str, float]:
    """The same of a run, and what the machine did where that is known.

    Rates are sums over its workloads, the latency is the run's, and shares
    and sizes are means over its requests. Where the run passed the page
    cache, all of them are of the requests that the device saw.

    :raises InputError: where a workload's iops or latency are missing
    """
    if not is_observed(sample):
        raise errors.InputError(
            'A run does not have the iops and latency_us of each of its '
            'workloads; measure it by build, which does.')
    found = _of_device(sample) or _observed(
        [*map(_as_seen, sample.workloads, sample.seen)],
        [saw['iops'] for saw in sample.seen], sample.latency_us,
        sum(saw['iops'] * saw['latency_us'] for saw in sample.seen) / 1e6)
    return {**found, **{name: sample.seen[0][name] for name in HOST
                        if sample.seen[0].get(name) is not None}}


def _of_device(sample: Sample) -> dict[str, float] | None:
    """The requests that the device saw, where a run passed the page cache."""
    saw = sample.seen[0]
    if saw.get('device_latency_us') is None:
        return None
    total = saw['device_read_iops'] + saw['device_write_iops']
    kib_s = saw['device_read_kib_s'] + saw['device_write_kib_s']
    return {'inter_arrival_us': 1e6 / total,
            'write_pct': 100 * saw['device_write_iops'] / total,
            'block_kib': kib_s / total,
            'write_kib': _size(saw, 'write'), 'read_kib': _size(saw, 'read'),
            'random_pct': saw['device_random_pct'],
            'count': float(sample.count),
            'latency_us': saw['device_latency_us'], 'iops': total,
            'bandwidth_kib_s': kib_s,
            'outstanding': total * saw['device_latency_us'] / 1e6}


def _size(saw: Mapping[str, Any], side: str) -> float:
    return saw[f'device_{side}_kib_s'] / (saw[f'device_{side}_iops'] or 1.0)


def of_tenants(sample: Sample) -> list[dict[str, float]]:
    """The figures of each workload of a run, ordered by pattern.

    :raises InputError: where a workload's iops or latency are missing
    """
    of_sample(sample)  # refuses what cannot be used
    tenants = sorted(zip(sample.workloads, sample.seen),
                     key=lambda tenant: tenant[0].pattern)
    return [of_workload(_as_seen(*tenant)) for tenant in tenants]


def _as_seen(workload: Workload, saw: Mapping[str, Any]) -> Workload:
    """A workload with its rate, its latency, and the writes that it made."""
    writes = saw.get('write_iops')
    return dataclasses.replace(
        workload, iops=saw['iops'], latency_us=saw['latency_us'],
        write_pct=(workload.write_pct if writes is None
                   else 100 * writes / saw['iops']))


def _observed(workloads: Sequence[Workload], iops: Sequence[float],
              latency_us: float, q: float) -> dict[str, float]:
    """Of workloads as one stream, each at its rate."""
    total = sum(iops)
    # Rounded: 100 * rate / rate may be a little less than 100.
    shares = [round(w.write_pct / 100, 9) for w in workloads]
    writes = [rate * share for rate, share in zip(iops, shares)]
    reads = [rate * (1 - share) for rate, share in zip(iops, shares)]
    sizes = [w.block_kib for w in workloads]
    size = _mean(sizes, iops)
    return {'inter_arrival_us': 1e6 / total,
            'write_pct': _mean([w.write_pct for w in workloads], iops),
            'block_kib': size, 'write_kib': _mean(sizes, writes),
            'read_kib': _mean(sizes, reads),
            'random_pct': _mean([w.random_pct for w in workloads], iops),
            'count': float(len(workloads)), 'latency_us': latency_us,
            'iops': total, 'bandwidth_kib_s': total * size, 'outstanding': q}


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """0 where nothing has a weight."""
    return sum(map(operator.mul, weights, values)) / (sum(weights) or 1.0)
