# SPDX-License-Identifier: Apache-2.0
"""Carry out one move of a stored plan."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib

from serifos.balancer import batch
from serifos.balancer.observe import Observation
from serifos.balancer.outcome import Outcome
from serifos.balancer import plans
from serifos.balancer import remaining
from serifos.balancer.round import Balancer
from serifos import errors
from serifos.facts import journal
from serifos.facts import times
from serifos.plan import affinity
from serifos.plan.plan import Move
from serifos.plan.plan import Plan


def plan_of(stored: plans.Plans, plan_id: str, now: float) -> Plan:
    """A plan that is kept and has not expired.

    :param now: seconds of the epoch
    :raises InputError: where there is none
    """
    plan = stored.stored(plan_id)
    if plan.expires_at < now:
        raise errors.InputError(
            f'Plan {plan.id} expired at {times.text(plan.expires_at)}; run '
            'the audit again.')
    return plan


def carry_out(balancer: Balancer, plan: Plan, volume: str
              ) -> Outcome:
    """Makes one move of a plan, after a new observation.

    All that keeps the balancer from moving a volume by itself does so here.

    :param balancer: the leader
    :raises InputError: where nothing may be moved now
    :raises CloudError: where Cinder does not answer
    """
    balancer.carrier.settle_open_moves()
    pause = journal.pause(balancer.carrier.entries())
    if pause is not None:
        raise errors.InputError(
            f'Nothing is moved: the balancer is paused since {pause.at}: '
            f'{pause.facts["reason"]}. Look at serifos-balancer history, '
            'then serifos-balancer resume.')
    _refuse_ended(plan, balancer.carrier.entries())
    seen = balancer.observer.observe()
    for hindrance in seen.hindrances():
        raise errors.InputError(f'Nothing is moved: {hindrance}')
    move, why = _due(balancer, plan, volume, seen)
    if move is None or why is not None:
        return Outcome('not started', why or f'plan {plan.id} does not '
                       f'move volume {volume}')
    found, = balancer.carrier.carry_out(
        [move], plan.id, seen.over, balancer.observer.settings.pace,
        batch.devices_of(seen.cluster))
    with contextlib.suppress(errors.CloudError):
        balancer.observer.observe()
    return found


def _refuse_ended(plan: Plan, entries: Sequence[journal.Entry]) -> None:
    """Watcher itself goes on with the action after one that failed.

    :raises InputError: where a move of the plan failed
    """
    standing, = plans.standings([plan], entries, plan.created_at)
    for volume, (result, reason, _) in standing.outcomes.items():
        outcome = Outcome(result, reason)
        if outcome.failed or outcome.ends_a_batch:
            raise errors.InputError(
                f'Plan {plan.id} ended with volume {volume}: {result}, '
                f'{reason}; run the audit again.')


def _due(balancer: Balancer, plan: Plan, volume: str,
         seen: Observation) -> tuple[Move | None, str | None]:
    """The move of a volume, and why it is not made now."""
    cluster = seen.cluster
    _, left = remaining.left_of(
        plan.moves, cluster, balancer.observer.settings.limits)
    homes = {each.id: each.pool for each in cluster.volumes}
    unmade = batch.Unmade(batch.devices_of(cluster), affinity.bundles(cluster))
    for move in plan.moves:
        if move.volume == volume:
            return move, dict(left).get(volume) or unmade.why_not(move)
        if homes.get(move.volume) == move.source:
            unmade.add(move.volume, move.source)
    return None, None
