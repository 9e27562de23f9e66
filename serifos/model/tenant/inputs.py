# SPDX-License-Identifier: Apache-2.0
"""What a tenant model reads of a Load, and of the workload that asks.

Standard library only: cinder-scheduler loads this module. Every input rises
with every workload that is added. The same code computes with numbers and
with arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model.tenant.arithmetic import Arithmetic
from serifos.model.tenant.arithmetic import Number
from serifos.model.tenant import trend

FIELDS = (*trend.FIELDS, 'sum_q_quick_w', 'sum_q_s_quick_w', 'sum_q_slow_w',
          'sum_q_s_slow_w')
"""The fields of a Load that the inputs are made of."""

INPUTS = ('reads', 'writes', 'read_kib', 'write_kib', 'read_square',
          'write_square', 'requests', 'kib', 'quick_writes',
          'quick_write_kib', 'slow_writes', 'slow_write_kib',
          'reads_beside', 'read_kib_beside', 'trend')
"""Inputs, each the log of a sum: of requests, of blocks of 16 KiB, of the
squares of blocks of 64 KiB; ``quick`` and ``slow`` are as in
:class:`.workload.Load`, ``beside`` are the reads outstanding where writes
are slow, ``trend`` is the latency of :mod:`.trend`, µs."""

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


def of_load(sums: Sequence[Number], coefficients: Mapping[str, float],
            of: Arithmetic) -> list[Number]:
    """The values of :data:`INPUTS`.

    :param sums: of :data:`FIELDS`
    :param coefficients: of the trend, by :data:`.trend.TREND`
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
            trend.log_us(coefficients, sums[:8], of)]


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
