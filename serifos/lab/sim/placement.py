# SPDX-License-Identifier: Apache-2.0
"""Placement by predictions, as SerifosWeigher and SerifosScheduler rank."""

from __future__ import annotations

from collections.abc import Mapping

from serifos.facts import cluster as cl
from serifos.facts import workload as wl
from serifos.model import model as mm
from serifos.plan import capacity
from serifos.scheduler import cluster_reader
from serifos.scheduler import snapshot as sn


def place(volume: cl.Volume, cluster: cl.Cluster,
          models: Mapping[str, mm.Model]) -> str | None:
    """The pool that is predicted to be best for all tenants with it.

    Of those that have room; what it will do is known, as by extra specs of
    its type. None where no pool fits.
    """
    snapshot = _done(sn.indexed(
        cluster.pools, cluster.volumes, wl.ACTIVE_FLOOR, 0.0))
    view = _done(sn.predicted(
        snapshot, models, {}, volume.workload))
    found = {place.device: prediction.latency_us
             for place, prediction in view.usual.items() if prediction}
    return min((pool.name for pool in capacity.fitting(volume, cluster)
                if pool.device_key in found),
               key=lambda name: found[cluster.pool(name).device_key],
               default=None)


def _done(steps: cluster_reader.Steps) -> sn.Snapshot | sn.View:
    """What work in steps comes to in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value
