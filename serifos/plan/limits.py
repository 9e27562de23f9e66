# SPDX-License-Identifier: Apache-2.0
"""What may move, how much and how far: a refusal is data with a reason."""

from __future__ import annotations

import dataclasses

from serifos import workload as wl


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a plan.

    :param min_gain: the fraction by which the worst predicted latency, or
        the variance over the pools, must fall for a move to be accepted
    :param max_moves: moves a plan may hold, or None for no limit
    :param active_floor: outstanding I/Os below which a volume is idle
    """

    min_gain: float = 0.05
    max_moves: int | None = None
    active_floor: float = wl.ACTIVE_FLOOR
