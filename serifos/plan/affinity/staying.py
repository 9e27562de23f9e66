# SPDX-License-Identifier: Apache-2.0
"""Why volumes stay because of those that they are bound to."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.facts import cluster as cl
from serifos.facts import reason as rs
from serifos.plan.affinity import bonds as bd
from serifos.plan import limits as lm


def alone(volume: cl.Volume) -> str | None:
    """Why a volume may not move, idle or not, or None."""
    if volume.movable is not True:
        return volume.movable or 'not movable'
    return lm.NO_TELEMETRY if volume.workload is None else None


def bound(bonds: bd.Bonds, volumes: Sequence[cl.Volume],
          volume: int) -> str | None:
    """Why what a volume is bound to keeps it where it is, or None."""
    odd = bonds.contradiction(volume)
    if odd is not None:
        return contradicted(volumes[odd])
    return next((
        shared(volumes[other], why)
        for other in bonds.with_it(volume).tolist() if other != volume
        and (why := alone(volumes[other])) is not None), None)


def contradicted(other: cl.Volume) -> rs.Reason:
    """That a volume stays, since what it is bound to contradicts itself."""
    return rs.Reason(
        'it is to share a pool with volumes that are to be kept apart, '
        f'such as {other.id}', rs.Code.CONTRADICTION)


def shared(other: cl.Volume, why: str) -> rs.Reason:
    """That a volume stays, since another one does."""
    return rs.Reason(
        f'it is to share a pool with volume {other.id}, which stays: {why}',
        rs.Code.COMPANION_STAYS)


def elsewhere(other: cl.Volume, pool: cl.Pool) -> rs.Reason:
    """That a volume may go to another one alone, or stays with it."""
    return rs.Reason(
        f'it is to share a pool with volume {other.id}, on {pool.name}',
        rs.Code.COMPANIONS_ELSEWHERE)


def apart(other: cl.Volume, pool: cl.Pool) -> rs.Reason:
    """That a volume would meet one that it is to be kept apart from."""
    return rs.Reason(
        f'it is to be kept apart from volume {other.id}, on {pool.name}',
        rs.Code.KEPT_APART)
