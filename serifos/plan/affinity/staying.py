# SPDX-License-Identifier: Apache-2.0
"""Why volumes stay because of those that they are bound to."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.refusals import Code
from serifos.facts.refusals import Reason
from serifos.plan.affinity.bonds import Bonds


def alone(volume: Volume) -> str | None:
    """Why a volume may not move, idle or not, or None."""
    if volume.movable is not True:
        return volume.movable or 'not movable'
    return Code.NO_TELEMETRY.of() if volume.workload is None else None


def bound(bonds: Bonds, volumes: Sequence[Volume],
          volume: int) -> str | None:
    """Why what a volume is bound to keeps it where it is, or None."""
    odd = bonds.contradiction(volume)
    if odd is not None:
        return contradicted(volumes[odd])
    return next((
        shared(volumes[other], why)
        for other in bonds.with_it(volume).tolist() if other != volume
        and (why := alone(volumes[other])) is not None), None)


def contradicted(other: Volume) -> Reason:
    """That a volume stays, since what it is bound to contradicts itself."""
    return Code.CONTRADICTION.of(volume=other.id)


def shared(other: Volume, why: str) -> Reason:
    """That a volume stays, since another one does."""
    return Code.COMPANION_STAYS.of(volume=other.id,
                                   why=f'which stays: {why}')


def elsewhere(other: Volume, pool: Pool) -> Reason:
    """That a volume may go to another one alone, or stays with it."""
    return Code.COMPANIONS_ELSEWHERE.of(volume=other.id, pool=pool.name)


def apart(other: Volume, pool: Pool) -> Reason:
    """That a volume would meet one that it is to be kept apart from."""
    return Code.KEPT_APART.of(volume=other.id, pool=pool.name)
