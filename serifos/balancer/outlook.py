# SPDX-License-Identifier: Apache-2.0
"""What a plan comes to by the models of its pools."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from serifos.balancer import planning
from serifos.facts import cluster as cl
from serifos.facts import workload as wl
from serifos.model import model as mm
from serifos.plan import limits as lm
from serifos.plan.loads import slots as sl
from serifos.plan.outlook import outlook as ol
from serifos.plan import plan as pl


def outlook(plan: pl.Plan, cluster: cl.Cluster, limits: lm.Limits,
            found: Mapping[str, mm.Model]) -> ol.Outlook:
    """What a plan for this cluster comes to.

    :param found: the models by their names
    """
    floor = limits.active_floor
    return ol.of(
        cluster, planning.fleet_of(cluster, found, floor), limits, plan,
        [expected(cluster, found, floor, moves)
         for moves in ((), plan.moves)])


def expected(cluster: cl.Cluster, found: Mapping[str, mm.Model],
             floor: float, moves: Sequence[pl.Move] = ()
             ) -> dict[str, ol.Expected]:
    """Pool → what its model expects, corrected; none without a model.

    :param found: the models by their names
    :param floor: outstanding I/Os below which a workload is idle
    :param moves: those after which it is asked
    """
    moved = {move.volume: move.target for move in moves}
    device = {pool.name: pool.device_key for pool in cluster.pools}
    tenants: dict[str | None, list[wl.Workload | None]] = {}
    for volume, doing in zip(cluster.volumes, sl.present(cluster.volumes)):
        at = device.get(moved.get(volume.id, volume.pool))
        tenants.setdefault(at, []).append(doing)
    shown = {}
    for pool in cluster.pools:
        model = found.get(pool.model or '')
        if model is not None:
            load = model.load(tenants.get(pool.device_key, ()), floor)
            low, high = model.interval(load)
            shown[pool.name] = ol.Expected(
                pool.correction * low, pool.correction * high,
                model.extrapolates(load))
    return shown
