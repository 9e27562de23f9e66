# SPDX-License-Identifier: Apache-2.0
"""What a round plans: by the history of volumes, with the present beside it.

Where there is a history, pools are judged by it: what is hot for minutes
alone is nothing to move for, what is hot by a day's figures is. A promise
that is broken at present is mended at once where a move can.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from serifos.balancer import planning
from serifos.balancer import settings as sg
from serifos.facts import cluster as cl
from serifos.facts import series as se
from serifos.model import model as mm
from serifos.plan import limits as lm
from serifos.plan import plan as pl
from serifos.plan import recent as rc


def decided(settings: sg.BalancerSettings, cluster: cl.Cluster,
            models: Mapping[str, mm.Model], limits: lm.Limits,
            recent: rc.Recent | None = None,
            history: se.Series | None = None
            ) -> tuple[cl.Cluster, pl.Plan]:
    """The cluster that was planned for, and the plan, not yet issued.

    :param cluster: as it was observed
    :param recent: the rounds before; None where one observation counts
    :param history: what volumes did; None where the present is planned for
    """
    slots = history and settings.demand.of(history)
    if recent is not None:
        now, cluster = cluster, recent.smoothed(cluster)
        recent.factors(planning.ratios(cluster, limits, models))
        now, cluster = map(recent.corrected, (now, cluster))
        limits = dataclasses.replace(limits, held=recent.held(
            planning.hot_pools(now, limits, models, slots)))
    if settings.auto:
        cluster = settings.pace.bounded(cluster)
    if slots is not None and settings.mend_at_once:
        mended = planning.kept_again(cluster, limits, models)
        if mended.moves:
            return cluster, mended
    return cluster, planning.plan(
        settings.planner, cluster, limits, models, slots)
