# SPDX-License-Identifier: Apache-2.0
"""The trend of a tenant model: latency by the resources a Load occupies.

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

from collections.abc import Mapping
from collections.abc import Sequence

from serifos.model.tenant.arithmetic import Arithmetic
from serifos.model.tenant.arithmetic import Number

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

FIELDS = ('sum_q_r', 'sum_q_w', 'sum_q_s_r', 'sum_q_s_w', 'sum_q_r_x',
          'sum_q_w_x', 'sum_q_s2_r', 'sum_q_s2_w')
"""The fields of a Load that are read."""

_NOTHING = 1e-9


def log_us(coefficients: Mapping[str, float], sums: Sequence[Number],
           of: Arithmetic) -> Number:
    """The log of the latency of the trend in µs.

    :param coefficients: by :data:`TREND`
    :param sums: of :data:`FIELDS`
    """
    t, (q_r, q_w, b_r, b_w, x_r, x_w, s2_r, s2_w) = coefficients, sums
    p, half = t['sharpness'], t['half_q']
    reads = x_r + t['sequential'] * (q_r - x_r)
    writes = x_w + t['sequential'] * (q_w - x_w)
    own = of.sqrt(of.larger(t['read_own_us'] ** 2 * s2_r
                            + t['write_own_us'] ** 2 * s2_w, 0.0))
    service = (t['read_us'] * reads + t['write_us'] * writes + own
               + t['floor_us']
               + t['read_floor_us'] * (reads / (reads + half))
               + t['write_floor_us'] * (writes / (writes + half)))
    transfer = t['read_us_per_kib'] * b_r + t['write_us_per_kib'] * b_w
    drain = (t['drain_us'] * q_w + t['drain_us_per_kib'] * b_w
             + t['drain_read_us_per_kib'] * b_r)
    logs = [of.log(of.larger(part, _NOTHING))
            for part in (service, transfer, drain)]
    most = of.larger(of.larger(logs[0], logs[1]), logs[2])
    return most + of.log(
        sum(of.exp(p * (one - most)) for one in logs)) / p
