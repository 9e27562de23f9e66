# SPDX-License-Identifier: Apache-2.0
"""The limits of a plan, and the reasons for refusing a move."""

from __future__ import annotations

import dataclasses

from serifos.facts import cluster as cl
from serifos.facts import workload as wl
from serifos.plan import score

LEAST_GAIN = 1e-9
"""A fall smaller than this fraction is rounding, whatever min_gain says."""

USUAL_S_PER_GIB = 10.0
"""Seconds for each GiB where no copy was seen yet: 100 MiB/s."""


@dataclasses.dataclass(frozen=True, slots=True)
class Copying:
    """How long migrations take, in seconds for each GiB.

    :param detached: of Cinder's copy of a volume that is not in use
    :param attached: of Nova's copy of one in use
    :param wiping: of wiping the source afterwards
    :param limited: of Cinder's copy at its volume_copy_bps_limit
    """

    detached: float = USUAL_S_PER_GIB
    attached: float = USUAL_S_PER_GIB
    wiping: float = 0.0
    limited: float = 0.0

    @property
    def s_per_gib(self) -> tuple[float, float]:
        """Of a detached volume, and of one in use."""
        return max(self.detached, self.limited), self.attached


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a plan.

    :param min_gain: the fraction by which the worst predicted latency, or
        the variance over the pools, must fall for a move to be accepted
    :param max_moves: moves a plan may hold, or None for no limit
    :param active_floor: outstanding I/Os below which a volume is idle
    :param copying: how long copies take
    :param horizon_s: the time over which a move must pay for its copy, or
        None where copies are not priced
    """

    min_gain: float = 0.05
    max_moves: int | None = None
    active_floor: float = wl.ACTIVE_FLOOR
    copying: Copying = Copying()
    horizon_s: float | None = None

    @property
    def keeps(self) -> float:
        """The fraction of a figure that may remain for it to have fallen.

        Slightly above 1 - min_gain, so that a fall of exactly min_gain
        counts; always under 1, so that planning ends.
        """
        return 1 - max(self.min_gain, LEAST_GAIN) + 1e-12

    def accepts(self, before: score.Score, after: score.Score) -> bool:
        """Whether a move between these two scores is worth making.

        The worst latency falls by min_gain, or it does not rise and the
        variance falls by min_gain. Figures count to ten digits, which makes
        (worst, variance) fall strictly, in that order, with every move.
        """
        worst, was = _figure(after.max_us), _figure(before.max_us)
        if worst < was and worst <= was * self.keeps:
            return True
        spread = _figure(after.variance_us2)
        spread_was = _figure(before.variance_us2)
        return (worst <= was and spread < spread_was
                and spread <= spread_was * self.keeps)

    def shortfall(self, before: score.Score, after: score.Score) -> str:
        """The reason for which :meth:`accepts` returns False."""
        if _figure(after.max_us) > _figure(before.max_us):
            return (f'the worst latency would rise from {_ms(before.max_us)} '
                    f'to {_ms(after.max_us)} ms')
        gain = max(_fall(before.max_us, after.max_us),
                   _fall(before.variance_us2, after.variance_us2))
        if gain <= LEAST_GAIN:
            rises = after.variance_us2 > before.variance_us2
            return 'the variance over the pools would rise' if rises \
                else 'a move would gain nothing'
        return (f'gain {100 * gain:.3g} % is below min_gain '
                f'{100 * self.min_gain:.3g} %')


def target_refusal(zone: str | None, backend_name: str | None,
                   volume_type: str | None, target: cl.Pool) -> str | None:
    """Why a volume may not move to a pool, space aside, or None.

    :param zone: of the pool that it is in
    :param backend_name: the backend that its type requires, None for any
    """
    if target.state != 'up':
        return f'{target.name} is {target.state}'
    if target.zone != zone:
        return f'{target.name} is in another zone, {target.zone}'
    if backend_name is not None and target.backend_name != backend_name:
        return (f'{target.name} is of backend {target.backend_name}, the '
                f'volume requires {backend_name}')
    if volume_type in target.refuses:
        return (f'{target.name} does not offer what the extra specs of '
                f'{volume_type} ask for')
    return None


def volume_refusal(volume: cl.Volume, pool: cl.Pool | None, modelled: bool,
                   active_floor: float) -> str | None:
    """Why a volume may not move whatever the target; '' for an idle one.

    :param pool: the one it is in, None where the cluster has no such pool
    :param modelled: whether that pool has a model
    :returns: None where it may move
    """
    if (volume.workload is not None
            and not volume.workload.is_active(active_floor)):
        return ''
    if volume.movable is not True:
        return volume.movable or 'not movable'
    if volume.workload is None:
        return 'no telemetry'
    if pool is None:
        return f'the cluster has no pool {volume.pool}'
    if not modelled:
        return f'{pool.name} has no model'
    if pool.state != 'up':
        return f'{pool.name} is {pool.state}'
    return None


def no_room(target: cl.Pool, free_gib: float, size_gib: float) -> str:
    """The refusal of a target that is too full."""
    return (f'{target.name} has {free_gib:.6g} GiB free, {size_gib:.6g} '
            'needed')


def _figure(value: float) -> float:
    return float(f'{value:.10g}')


def _fall(before: float, after: float) -> float:
    return (before - after) / before if before > 0 else 0.0


def _ms(latency_us: float) -> str:
    return f'{latency_us / 1000:.4g}'
