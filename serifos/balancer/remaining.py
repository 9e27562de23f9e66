# SPDX-License-Identifier: Apache-2.0
"""Moves of stored plans that are left, and what bars them."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

from oslo_log import log

from serifos.balancer import batch
from serifos.balancer import planning
from serifos.balancer.plans import Plans
from serifos.balancer.plans import standings
from serifos.balancer.settings import BalancerSettings
from serifos.facts.cluster import Cluster
from serifos.facts import journal
from serifos.facts import times
from serifos.plan import affinity
from serifos.plan.limits import Limits
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan import usable

LOG = log.getLogger(__name__)

ASKED = 'its move was requested already'


def any_time(move: Move) -> None:
    """No reason to wait: a person approved the move."""


def never(entries: Sequence[journal.Entry], now: float) -> None:
    """No bar: the moves need no approval."""


def barred(plan: Plan) -> batch.Barred:
    """Hindrances of further moves of a plan while others are under way.

    That its approval is taken back, or it expires.
    """
    def why(entries: Sequence[journal.Entry], now: float) -> str | None:
        if plan.id not in journal.approvals(entries):
            return f'the approval of plan {plan.id} was taken back'
        if plan.expires_at <= now:
            return f'plan {plan.id} expired at {times.text(plan.expires_at)}'
        return None
    return why


def due(settings: BalancerSettings, stored: Plans, latest: Plan,
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
    for each in reversed(standings(valid, entries, now)):
        moves, left = left_of(
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


def left_of(moves: Sequence[Move], cluster: Cluster,
            limits: Limits, asked: Collection[str] = ()
            ) -> tuple[list[Move], list[tuple[str, str]]]:
    """The moves that are still possible, and why others are not.

    A move whose volume has changed since is left out, and with it those that
    bring a volume where another one was to leave first, and stays, and those
    of volumes that are to share a pool with it.

    :param cluster: as it is now
    :param asked: volumes whose moves are not to be requested again
    :returns: the moves, and (volume, reason) for each other
    """
    parted: dict[str, str] = {}
    while True:
        found, left = _once(moves, cluster, limits, asked, parted)
        more = affinity.against(cluster, found)
        if not more:
            return found, left
        parted.update(more)


def _once(moves: Sequence[Move], cluster: Cluster, limits: Limits,
          asked: Collection[str], parted: Mapping[str, str]
          ) -> tuple[list[Move], list[tuple[str, str]]]:
    """The same, where some moves are known to break a bond.

    :param parted: volume → which
    """
    found: list[Move] = []
    left: list[tuple[str, str]] = []
    unmade = batch.Unmade(batch.devices_of(cluster),
                          affinity.bundles(cluster))
    homes = {volume.id: volume.pool for volume in cluster.volumes}
    for move in moves:
        why = planning.changed(move, cluster, limits) or unmade.why_not(
            move) or (ASKED if move.volume in asked else None) or parted.get(
                move.volume)
        if why is None:
            found.append(move)
            cluster = cluster.filled(move.target, move.size_gib)
            continue
        left.append((move.volume, why))
        if homes.get(move.volume) == move.source:
            unmade.add(move.volume, move.source)
    return found, left
