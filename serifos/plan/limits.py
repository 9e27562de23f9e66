# SPDX-License-Identifier: Apache-2.0
"""The limits of a plan, and the reasons for refusing a move."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from serifos.facts import cluster
from serifos.facts.hot_by import BUSY
from serifos.facts.hot_by import LATENCY
from serifos.facts.hot_by import UNITS
from serifos.facts import phrases
from serifos.facts.refusals import Code
from serifos.facts.refusals import Reason

LEAST_GAIN = 1e-9
"""A fall smaller than this fraction is rounding, whatever min_gain says."""

_DAY_S = 86400.0

_STATES = {'disabled': Code.POOL_DISABLED, 'frozen': Code.POOL_FROZEN,
           cluster.UNSEEN: Code.POOL_UNSEEN,
           cluster.TOUCHED: Code.POOL_TOUCHED}


@dataclasses.dataclass(frozen=True, slots=True)
class Copying:
    """How long migrations take, in seconds for each GiB.

    :param detached: of Cinder's copy of a volume that is not in use
    :param attached: of Nova's copy of one in use
    :param wiping: of wiping the source afterwards
    :param limited: of Cinder's copy at its volume_copy_bps_limit
    """

    detached: float
    attached: float
    wiping: float = 0.0
    limited: float = 0.0

    @property
    def s_per_gib(self) -> tuple[float, float]:
        """Of a detached volume, and of one in use."""
        return max(self.detached, self.limited), self.attached


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a plan.

    Those that are options have their default in :mod:`serifos.conf`, not
    here.

    :param min_gain: the fraction by which the greater planning figure of a
        move's two devices must fall, unless the volume's type says another
    :param active_floor: outstanding I/Os below which a volume is idle
    :param hot_ratio: how far the figure of a hot device is above the mean,
        unless its pool says another
    :param max_fill: the part of a pool's space that no plan fills beyond
    :param hot_by: figure that decides which pools are hot where that is not
        how busy they are
    :param copying: how long copies take
    :param horizon_s: the time over which a move must pay for its copy, or
        None where copies are not priced
    :param capacity_horizon_s: for which the pools' own growth has to find
        space, or None where growth is no matter
    :param max_moves: moves of a plan on clouds of up to 20 pools (None: 4),
        off each pool on larger ones (None: no limit); several that count as
        one are one
    :param max_gib_per_plan: that its moves copy, None for any number
    :param held: the pools that have been hot for long enough to be
        relieved, None for all
    :param every_refusal: whether volumes of pools that are not hot are
        refused with a reason, too
    :param trust_models: whether pools are planned by their models where what
        their tenants see contradicts these
    """

    min_gain: float
    active_floor: float
    hot_ratio: float
    max_fill: float
    hot_by: str
    copying: Copying
    horizon_s: float | None = None
    capacity_horizon_s: float | None = None
    max_moves: int | None = None
    max_gib_per_plan: float | None = None
    held: frozenset[str] | None = None
    every_refusal: bool = False
    trust_models: bool = False

    @property
    def keeps(self) -> float:
        """The fraction of a figure that may remain for it to have fallen."""
        return float(keeps(self.min_gain))

    def growth_gib(self, pool: cluster.Pool) -> float:
        """GiB by which a pool grows by itself within the horizon."""
        return max(0.0, pool.growth_gib_day or 0.0) * (
            self.capacity_horizon_s or 0.0) / _DAY_S

    def unexplained(self, pool: cluster.Pool) -> Reason | None:
        """The reason why an unexplained pool is no target, or None."""
        return None if self.trust_models or pool.unexplained is None else (
            Code.UNEXPLAINED.of(pool=pool.name, unexplained=pool.unexplained))

    def room_gib(self, pool: cluster.Pool) -> float:
        """GiB that a plan may fill of a pool; below 0 for none."""
        return pool.room_gib(self.max_fill) - self.growth_gib(pool)

    def full_in_s(self, pool: cluster.Pool) -> float:
        """Seconds after which a pool is full by its own growth."""
        growth = pool.growth_gib_day or 0.0
        room_gib = max(0.0, pool.room_gib(self.max_fill))
        return room_gib / growth * _DAY_S if growth > 0 else math.inf

    def no_room(self, pool: cluster.Pool, room_gib: float,
                size_gib: float) -> Reason:
        """The refusal of a target that is too full, or may be.

        :param room_gib: what may be filled, below 0 for nothing
        """
        if pool.space_unknown is not None:
            return Code.SPACE_UNKNOWN.of(
                pool=pool.name, why=pool.space_unknown)
        max_fill = self.max_fill if pool.max_fill is None else pool.max_fill
        below = '' if max_fill >= 1 else (
            f' below {"" if pool.max_fill is None else "serifos_"}max_fill '
            f'{100 * max_fill:.6g} %')
        growth_gib = self.growth_gib(pool)
        growth = f', {growth_gib:.6g} GiB kept for its growth' if (
            growth_gib) else ''
        code = ((Code.MAX_FILL if pool.max_fill is None
                 else Code.POOL_MAX_FILL) if below
                else Code.KEPT_FOR_GROWTH if growth else Code.NO_SPACE)
        return code.of(pool=pool.name, room=max(0.0, room_gib),
                       kept=below + growth, needed=size_gib)


def keeps(min_gain: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """float[n]: the part of a figure that may remain for it to have fallen.

    Slightly above 1 - min_gain, so that a fall of exactly min_gain counts;
    always under 1, so that planning ends.
    """
    return 1 - np.maximum(min_gain, LEAST_GAIN) + 1e-12


def shortfall(before_us: float, after_us: float, min_gain: float,
              hot_by: str = LATENCY, by_type: bool = False) -> Reason:
    """Why a move whose devices show no less afterwards is not made.

    :param hot_by: what the figures are of
    :param by_type: whether min_gain is that of a volume type
    """
    if after_us > before_us:
        code = Code.BUSIER if hot_by == BUSY else Code.SLOWER
        return code.of(worse=phrases.worse(hot_by), now=phrases.exact(
            before_us, hot_by), then=f'{phrases.exact(after_us, hot_by)} '
            f'{UNITS[hot_by]}')
    gain = 1 - after_us / before_us if before_us > 0 else 0.0
    if gain <= LEAST_GAIN:
        return Code.NO_GAIN.of()
    code = Code.TYPE_MIN_GAIN if by_type else Code.MIN_GAIN
    return code.of(gain=100 * gain, least=100 * min_gain)


def target_refusal(zone: str | None, backend_name: str | None,
                   volume_type: str | None,
                   target: cluster.Pool) -> Reason | None:
    """Why a volume may not move to a pool, space aside, or None.

    :param zone: of the pool that it is in
    :param backend_name: the backend that its type requires, None for any
    """
    if target.state != 'up':
        return not_up(target)
    if not target.balance:
        return left_out(target)
    if target.drifting is not None:
        return Code.DRIFTS.of(pool=target.name, drifting=target.drifting)
    if target.zone != zone:
        return Code.OTHER_ZONE.of(pool=target.name, zone=target.zone)
    if backend_name is not None and target.backend_name != backend_name:
        return Code.OTHER_BACKEND.of(
            pool=target.name, backend=target.backend_name,
            required=backend_name)
    if volume_type in target.refuses:
        return Code.TYPE_UNMET.of(pool=target.name, type=volume_type)
    return None


def not_up(pool: cluster.Pool) -> Reason:
    """That a pool is not up."""
    return _STATES.get(pool.state, Code.POOL_DOWN).of(
        pool=pool.name, state=pool.state)


def left_out(pool: cluster.Pool) -> Reason:
    """Of a pool: why no volume comes there, or leaves it."""
    return Code.POOL_LEFT_OUT.of(pool=pool.name)


def unlisted(volume: cluster.Volume) -> Reason:
    """That the pool of a volume is not there."""
    return Code.POOL_UNLISTED.of(pool=volume.pool)


def unmodelled(pool: cluster.Pool) -> Reason:
    """That nothing is predicted of a pool."""
    return Code.NO_MODEL.of(pool=pool.name)


def volume_refusal(volume: cluster.Volume, pool: cluster.Pool | None,
                   modelled: bool,
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
        return Code.NO_TELEMETRY.of()
    if pool is None:
        return unlisted(volume)
    if pool.state != 'up':
        return not_up(pool)
    if not pool.balance:
        return left_out(pool)
    return None if modelled else unmodelled(pool)
