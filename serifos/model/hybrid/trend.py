# SPDX-License-Identifier: Apache-2.0
"""The trend of a hybrid model: latency from the resources a Load occupies.

Standard library only: cinder-scheduler loads this module. The trend bounds
a closed network from three sides,

    service   floors, µs per outstanding request (the dies of a device) and
              the part of a request's own size, √Σ q·s²,
    transfer  µs per outstanding KiB: the bus,
    drain     µs per outstanding write and KiB: how its buffer empties,

and is (service^p + transfer^p + drain^p)^(1/p), their smooth maximum. No
coefficient is negative, so it rises with every workload. The same code
computes with numbers and with arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
from typing import Any

TREND = ('floor_us', 'read_floor_us', 'write_floor_us', 'half_q', 'read_us',
         'write_us', 'read_own_us', 'write_own_us', 'read_us_per_kib',
         'write_us_per_kib', 'drain_us', 'drain_us_per_kib',
         'drain_read_us_per_kib', 'sequential', 'sharpness')
"""The coefficients of a trend.

A floor is the time of one request alone; that of reads and that of writes
are added by half at ``half_q`` of them outstanding. ``own`` is for a request
of 64 KiB. ``sequential`` is the fixed cost of a sequential request as a
fraction of a random one's, ``sharpness`` is p.
"""

COORDINATES = ('log_us', 'read_us', 'write_us', 'own_us', 'read_us_per_kib',
               'write_us_per_kib', 'drain_us')
"""Inputs of the residual: the log of the trend, and the elasticity of the
trend in each of its terms."""

FIELDS = ('sum_q_r', 'sum_q_w', 'sum_q_s_r', 'sum_q_s_w', 'sum_q_r_x',
          'sum_q_w_x', 'sum_q_s2_r', 'sum_q_s2_w')
"""The fields of a Load that are read."""

_NOTHING = 1e-9
_ROUNDED = 1e-7  # by which the parts of one request may fall short of it

Number = Any
"""A float, or an array of them."""


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """The functions that differ between numbers and arrays."""

    exp: Callable[[Number], Number]
    log: Callable[[Number], Number]
    sqrt: Callable[[Number], Number]
    larger: Callable[[Number, Number], Number]
    smaller: Callable[[Number, Number], Number]


NUMBERS = Arithmetic(math.exp, math.log, math.sqrt, max, min)


def arrays() -> Arithmetic:
    import numpy as np  # the scheduler, which has none, never calls this
    return Arithmetic(np.exp, np.log, np.sqrt, np.maximum, np.minimum)


def at_least_one(sums: Sequence[Number], of: Arithmetic) -> list[Number]:
    """The sums with at least one request outstanding.

    A request in service is outstanding itself: a Load of less than one
    request is taken as one, of the same mix.

    :param sums: of :data:`FIELDS`
    """
    one = of.larger(of.smaller(sums[0] + sums[1] + _ROUNDED, 1.0), _NOTHING)
    return [each / one for each in sums]


def coordinates(trend: Mapping[str, float], sums: Sequence[Number],
                of: Arithmetic) -> tuple[Number, ...]:
    """The values of :data:`COORDINATES`, the log of the trend in µs first.

    :param sums: of :data:`FIELDS`
    """
    t, (q_r, q_w, b_r, b_w, x_r, x_w, s2_r, s2_w) = trend, sums
    p, half = t['sharpness'], t['half_q']
    reads = x_r + t['sequential'] * (q_r - x_r)
    writes = x_w + t['sequential'] * (q_w - x_w)
    by_read, by_write = t['read_us'] * reads, t['write_us'] * writes
    own = of.sqrt(of.larger(t['read_own_us'] ** 2 * s2_r
                            + t['write_own_us'] ** 2 * s2_w, 0.0))
    service = (by_read + by_write + own + t['floor_us']
               + t['read_floor_us'] * (reads / (reads + half))
               + t['write_floor_us'] * (writes / (writes + half)))
    read_kib = t['read_us_per_kib'] * b_r
    transfer = read_kib + t['write_us_per_kib'] * b_w
    drain = (t['drain_us'] * q_w + t['drain_us_per_kib'] * b_w
             + t['drain_read_us_per_kib'] * b_r)
    parts = [of.larger(part, _NOTHING)
             for part in (service, transfer, drain)]
    logs = [of.log(part) for part in parts]
    most = of.larger(of.larger(logs[0], logs[1]), logs[2])
    powers = [of.exp(p * (one - most)) for one in logs]
    total = powers[0] + powers[1] + powers[2]
    served, moved = (powers[0] / (total * parts[0]),
                     powers[1] / (total * parts[1]))
    return (most + of.log(total) / p, served * by_read, served * by_write,
            served * own, moved * read_kib, moved * (transfer - read_kib),
            powers[2] / total)
