# SPDX-License-Identifier: Apache-2.0
"""Plan now, as a round of the balancer does."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import functools
import os
import types

from oslo_config import cfg

from serifos.balancer import decide
from serifos.balancer import planning
from serifos.cmd.balancer import configuration
from serifos.facts.cluster import Cluster
from serifos.facts import hot_by
from serifos.model.model import Model
from serifos.plan.limits import Limits
from serifos.plan.outlook import Outlook
from serifos.plan.plan import Plan
from serifos.plan.slots import Slots
from serifos.plan.state import State


@dataclasses.dataclass(frozen=True)
class Judged:
    """A plan, and what it was made by.

    :param slots: what volumes did over days; None where the present counts
    """

    plan: Plan
    cluster: Cluster
    limits: Limits
    models: Mapping[str, Model]
    slots: Slots | None

    @functools.cached_property
    def seen(self) -> Outlook:
        """What the plan comes to."""
        return planning.outlook(self.plan, self.state, self.models)

    @functools.cached_property
    def state(self) -> State:
        """What the plan begins with."""
        return planning.state(self.cluster, self.limits, self.models,
                              self.slots)


def judged(conf: cfg.ConfigOpts, cluster: Cluster,
           models_dir: str | os.PathLike[str], say: Callable[[str], None],
           limits: Limits | None = None, planner: str | None = None,
           made: Plan | None = None) -> Judged:
    """A plan for a cluster, as a round makes one of this observation only.

    What is too large for the bounds of rounds stays, and copies take as long
    as the latest did.

    :param models_dir: the directory of the models
    :param say: is called with a sentence where a model, the days before or
        the journal cannot be read, or the days have to wait
    :param limits: None for those of [balancer]
    :param planner: that plans whatever SLOs are violated at present; None
        for that of [balancer], which comes after these
    :param made: a plan that is made already; it is judged by what it was
        made by
    """
    past = _past(conf)
    limits = limits or configuration.limits_of(conf)
    if past is not None:
        limits = past.at_learnt_rates(conf, limits, say)
    if planner == planning.PAPER:
        limits = dataclasses.replace(limits, hot_by=hot_by.LATENCY,
                                     trust_models=True)
    models = planning.read_models(cluster, models_dir, say, limits.hot_by)
    cluster = planning.measured(
        cluster, limits, models, past.hours(conf, cluster) if past else {})
    if made is not None:
        return Judged(
            made, cluster, limits, models, past.slots(conf, cluster, say)
            if past and made.window_s else None)
    settings = configuration.settings(conf)
    if planner is not None:
        settings = dataclasses.replace(settings, planner=planner,
                                       fix_at_once=False)
    if planner == planning.PAPER:
        cluster = settings.planned(cluster)
        models = planning.as_printed(models)
        return Judged(planning.make_plan(planner, cluster, limits, models),
                      cluster, limits, models, None)
    slots = past.slots(conf, cluster, say) if past else None
    basis = decide.Basis.of(settings, cluster, limits, models, slots)
    if slots is not None:
        basis = dataclasses.replace(basis, violated=decide.violated(basis))
    plan, cluster = decide.plan(settings, basis), basis.cluster
    if slots is not None and not plan.window_s:
        say('SLOs are violated at present, and restored first; plans '
            'go by the days before once these are met.')
        slots = None
    return Judged(plan, cluster, limits, models, slots)


def _past(conf: cfg.ConfigOpts) -> types.ModuleType | None:
    """Readers of journal and history; None where neither is there yet.

    Loading it, and SQLAlchemy with it, takes longer than most plans take.
    """
    if not configuration.has_past(conf):
        return None
    from serifos.cmd.balancer import stored_history  # noqa: PLC0415
    return stored_history
