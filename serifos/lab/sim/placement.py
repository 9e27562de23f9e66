# SPDX-License-Identifier: Apache-2.0
"""Placement by predictions, as SerifosWeigher and SerifosScheduler rank."""

from __future__ import annotations

from collections.abc import Mapping

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts import workload
from serifos.model.model import Model
from serifos.plan import capacity
from serifos.scheduler import cluster_reader
from serifos.scheduler.snapshot import indexed
from serifos.scheduler.snapshot import predicted
from serifos.scheduler.snapshot import Snapshot
from serifos.scheduler.snapshot import View


def place(volume: Volume, cluster: Cluster,
          models: Mapping[str, Model]) -> str | None:
    """The pool that is predicted to be best for all tenants with it.

    Of those that have room; what it will do is known, as by extra specs of
    its type. None where no pool fits.
    """
    snapshot = _done(indexed(
        cluster.pools, cluster.volumes, workload.ACTIVE_FLOOR, 0.0))
    view = _done(predicted(
        snapshot, models, {}, volume.workload))
    found = {place.device: prediction.latency_us
             for place, prediction in view.usual.items() if prediction}
    return min((pool.name for pool in capacity.fitting(volume, cluster)
                if pool.device_key in found),
               key=lambda name: found[cluster.pool(name).device_key],
               default=None)


def _done(steps: cluster_reader.Steps) -> Snapshot | View:
    """What work in steps comes to in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value
