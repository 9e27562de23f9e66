# SPDX-License-Identifier: Apache-2.0
"""Plans that a person has approved, for mode ``approve``."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import functools

from oslo_log import log

from serifos.balancer.moving import carrying
from serifos.balancer.moving import remaining
from serifos.balancer import plans
from serifos.balancer.settings import BalancerSettings
from serifos.balancer.standing import of_plans
from serifos.facts.cluster import Cluster
from serifos.facts import journal
from serifos.facts import times
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan import usable

LOG = log.getLogger(__name__)


def any_time(move: Move) -> None:
    """Why a move waits for later rounds: never, since a person said so."""


def never(entries: Sequence[journal.Entry], now: float) -> None:
    """What bars moves that need no approval: nothing."""


def barred(plan: Plan) -> carrying.Barred:
    """What bars further moves of a plan while others are under way.

    That its approval is taken back, or it expires.
    """
    def why(entries: Sequence[journal.Entry], now: float) -> str | None:
        if plan.id not in journal.approvals(entries):
            return f'the approval of plan {plan.id} was taken back'
        if plan.expires_at <= now:
            return f'plan {plan.id} expired at {times.text(plan.expires_at)}'
        return None
    return why


def due(settings: BalancerSettings, stored: plans.Plans, latest: Plan,
        entries: Sequence[journal.Entry], now: float,
        cluster: Cluster) -> Plan | None:
    """The approved plan whose moves come next, with what is left of it.

    The oldest of those that did not expire and have moves left. Each move is
    requested once: what became of it is for a person to look at.

    :param stored: where the plans are
    :param latest: the plan of this round
    :param entries: none of them in the future
    :param cluster: as it is now
    """
    valid = stored.every(functools.partial(LOG.warning, '%s'), now,
                         journal.approvals(entries))
    for each in reversed(of_plans.standings(valid, entries, now)):
        moves, left = remaining.remaining(
            each.plan.moves,
            settings.pace.bounded(usable.of(each.plan, cluster)),
            settings.limits, each.outcomes)
        for volume, why in left:
            LOG.debug('Volume %s of the approved plan %s stays: %s.',
                      volume, each.plan.id, why)
        if moves:
            return dataclasses.replace(each.plan, moves=tuple(moves))
    if latest.moves:
        LOG.info('Nothing is moved: no move of an approved plan is left; '
                 'serifos-balancer approve %s approves this one.', latest.id)
    return None
