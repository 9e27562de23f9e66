# SPDX-License-Identifier: Apache-2.0
"""An observation as tables: its pools, and its busiest volumes."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from serifos.facts.cluster import Cluster
from serifos.report import table
from serifos.report import wording

_SHOWN = 20


def text(cluster: Cluster) -> str:
    """Each pool, and the busiest volumes."""
    return wording.lines(_lines(cluster))


def _lines(cluster: Cluster) -> Iterator[str]:
    short = wording.pools(pool.name for pool in cluster.pools)
    homes = collections.Counter(v.pool for v in cluster.volumes)
    yield table.as_text(table.Table(
        ('pool', 'state', 'model', 'volumes', 'GiB free'),
        [(short[pool.name], pool.state, pool.model, homes[pool.name],
          float(pool.free_gib)) for pool in cluster.pools], 'Pools'))
    seen = sorted(((v, v.workload) for v in cluster.volumes if v.workload
                   and v.workload.is_active()),
                  key=lambda each: -each[1].outstanding)
    idle = sum(v.workload is not None for v in cluster.volumes) - len(seen)
    unknown = len(cluster.volumes) - len(seen) - idle
    yield ''
    qemu = any(volume.qemu_latency_us is not None for volume, _ in seen)
    yield table.as_text(table.Table(
        ('volume', 'pool', 'write %', 'KiB', 'IOPS', 'ms', 'outstanding',
         *['QEMU, ms'] * qemu),
        [(wording.volume(volume, cluster.shared_names),
          short.get(volume.pool, wording.pool(volume.pool)),
          float(w.write_pct), float(w.block_kib),
          _float(w.iops), _ms(w.latency_us), float(w.outstanding),
          *[table.shown(_ms(volume.qemu_latency_us))
            + ', at its cap' * volume.at_cap] * qemu)
         for volume, w in seen[:_SHOWN]], 'The busiest volumes'))
    if len(seen) > _SHOWN:
        yield f'and {len(seen) - _SHOWN} more, all of them in cluster.json'
    yield f'{idle} more are idle, {unknown} without telemetry.'


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _ms(latency_us: float | None) -> float | None:
    return None if latency_us is None else latency_us / 1e3
