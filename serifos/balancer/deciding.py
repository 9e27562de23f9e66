# SPDX-License-Identifier: Apache-2.0
"""What a round plans: by the history of volumes, with the present beside it.

Where there is a history, pools are judged by it: what is hot for minutes
alone is nothing to move for, what is hot by the figures of days is. An SLO
that the present breaks is mended first where a move can.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from serifos.balancer import planning
from serifos.balancer.settings import BalancerSettings
from serifos.balancer.steady import Steady
from serifos.facts.cluster import Cluster
from serifos.model.model import Model
from serifos.plan.plan import Plan


def plan(settings: BalancerSettings, cluster: Cluster,
         steady: Steady, models: Mapping[str, Model]) -> Plan:
    """The plan of a round, not yet issued.

    :param cluster: that of ``steady``, with what the pace forbids
    """
    if steady.slots is not None and settings.mend_at_once:
        mended = planning.kept_again(cluster, steady.limits, models)
        if any(steady.too_early(move) is None for move in mended.moves):
            return mended
    found = planning.plan(settings.planner, cluster, steady.limits, models,
                          steady.slots)
    return found if steady.slots is None else dataclasses.replace(
        found, window_s=settings.history_s)
