# SPDX-License-Identifier: Apache-2.0
"""Inputs of a tenant model, from a Load and a workload.

Standard library only: cinder-scheduler loads this module. Every input rises
with every workload that is added. The same code computes with numbers and
with arrays.

The trend of a model is latency by the resources that a Load occupies. It
bounds a closed network from three sides,

    service   floors, µs per outstanding request (the dies of a device) and
              the part of a request's own size, √Σ q·s²,
    transfer  µs per outstanding KiB: the bus,
    drain     µs per outstanding write and KiB: how its buffer empties,

and is (service^p + transfer^p + drain^p)^(1/p), their smooth maximum. No
coefficient is negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from serifos.facts.workload import Load
from serifos.facts.workload import Workload
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

TREND_FIELDS = ('sum_q_r', 'sum_q_w', 'sum_q_s_r', 'sum_q_s_w', 'sum_q_r_x',
                'sum_q_w_x', 'sum_q_s2_r', 'sum_q_s2_w')
"""The fields of a Load that the trend reads."""

_NOTHING = 1e-9

FIELDS = (*TREND_FIELDS, 'sum_q_quick_w', 'sum_q_s_quick_w', 'sum_q_slow_w',
          'sum_q_s_slow_w')
"""The fields of a Load that the inputs are made of."""

INPUTS = ('reads', 'writes', 'read_kib', 'write_kib', 'read_square',
          'write_square', 'requests', 'kib', 'quick_writes',
          'quick_write_kib', 'slow_writes', 'slow_write_kib',
          'reads_beside', 'read_kib_beside', 'trend')
"""Inputs, each the log of a sum: of requests, of blocks of 16 KiB, of the
squares of blocks of 64 KiB; ``quick`` and ``slow`` are as in
:class:`.workload.Load`, ``beside`` are the reads outstanding where writes
are slow, ``trend`` is the latency of :data:`TREND`, µs."""

PLAIN = ('reads', 'writes', 'read_kib', 'write_kib')
"""The inputs that take a read to be outstanding as long as a write."""

OWN_FIELDS = ('sum_write_pct', 'count', 'sum_block_kib', 'sum_s_w',
              'sum_root_s_r', 'sum_root_s_w', 'sum_queue')
"""The fields of a Load that give its tenants' own requests."""

OWN = ('read_us', 'read_us_per_root', 'read_us_per_block',
       'write_us', 'write_us_per_root', 'write_us_per_block', 'queue_us')
"""Parts of a latency: fixed, by √(block / 16 KiB), by block / 16 KiB; times
the share of reads, or of writes. ``queue_us`` is of a tenant's own queue:
hosts serve the requests of one volume one after another, whatever the device
does: it is per 8 of ``queue`` of :class:`.workload.Load`."""

READS, WRITES, QUEUE = slice(0, 3), slice(3, 6), slice(6, 7)

_BLOCK_KIB = 16.0
_QUEUE = 8.0
_LEAST = 0.5  # requests; fewer hardly wait for one another
_SURE = 1e4  # a share of this part of requests counts in full


def log_us(coefficients: Mapping[str, float], sums: Sequence[Number],
           of: Arithmetic) -> Number:
    """The log of the latency of the trend in µs.

    :param coefficients: by :data:`TREND`
    :param sums: of :data:`TREND_FIELDS`
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


def of_load(sums: Sequence[Number], coefficients: Mapping[str, float],
            of: Arithmetic) -> list[Number]:
    """The values of :data:`INPUTS`.

    :param sums: of :data:`FIELDS`
    :param coefficients: of the trend, by :data:`TREND`
    """
    (q_r, q_w, b_r, b_w, x_r, x_w, r2, w2, quick, b_quick, slow,
     b_slow) = sums
    sequential = coefficients['sequential']
    reads = x_r + sequential * (q_r - x_r)
    writes = x_w + sequential * (q_w - x_w)
    blocks = [each / _BLOCK_KIB for each in (
        b_r, b_w, b_r + b_w, b_quick, b_slow, b_r + b_w - b_slow)]
    found = (reads, writes, *blocks[:2], r2, w2, reads + writes, blocks[2],
             quick, blocks[3], slow, blocks[4], q_r + q_w - slow, blocks[5])
    return [*(of.log(of.larger(each, 0.0) + _LEAST) for each in found),
            log_us(coefficients, sums[:8], of)]


def own(sums: Sequence[Number]) -> tuple[Number, ...]:
    """The factors of :data:`OWN`, summed over the tenants of a Load.

    :param sums: of :data:`OWN_FIELDS`
    """
    write_pct, count, s, s_w, root_r, root_w, queue = sums
    w = write_pct / 100
    return (count - w, root_r, (s - s_w) / _BLOCK_KIB,
            w, root_w, s_w / _BLOCK_KIB,
            queue / _QUEUE)


def own_of(workload: Workload) -> tuple[float, ...]:
    """The factors of :data:`OWN` for one workload, active or not."""
    return own(sums_of(workload))


def sums_of(workload: Workload) -> list[float]:
    """:data:`OWN_FIELDS` of one workload, active or not."""
    its = Load.of(workload, floor=0.0)
    return [getattr(its, name) for name in OWN_FIELDS]


def of_figure(figure: str, sums: Sequence[Number], of: Arithmetic
              ) -> tuple[list[Number], Number]:
    """The factors of a figure, summed over tenants, and the tenants.

    The figure of reads counts every tenant once, whatever its share of
    reads, and none where all write alone; that of writes likewise.

    :param figure: ``all``, ``read`` or ``write``
    :param sums: of :data:`OWN_FIELDS`
    """
    factors = own(sums)
    if figure == 'all':
        return [*factors], sums[1]
    which = READS if figure == 'read' else WRITES
    any_of = of.smaller(_SURE * of.larger(factors[which.start], 0.0), 1.0)
    once = [any_of * each for each in (
        sums[1], sums[4] + sums[5], sums[2] / _BLOCK_KIB)]
    none = [0.0 * each for each in once]
    both = once + none if figure == 'read' else none + once
    return [*both, any_of * factors[QUEUE.start]], once[0]
