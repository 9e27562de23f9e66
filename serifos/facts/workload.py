# SPDX-License-Identifier: Apache-2.0
"""Workloads, and the Load that several of them add up to.

The units everywhere: write and random shares are percent of the
requests, blocks are KiB, latencies are microseconds, outstanding I/Os (q)
are a number of requests.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import operator
from typing import Any

ACTIVE_FLOOR = 0.05
"""Outstanding I/Os below which a workload is idle (FORMATS: active_floor)."""

DEFAULT_IODEPTH = 8.0
DEFAULT_RANDOM_PCT = 100.0

# Products are rounded to this binary grid, so that sums of Loads are exact
# in floating point: whatever the order, a + b - b == a to the last bit, and
# a plan computed move by move meets the one computed afresh. The grid is
# 1.5e-8; sums stay exact up to 1.3e8 (1,000 volumes of q = 128 at 1 MiB).
GRID = 2.0 ** 26
_SQUARED_KIB = 64.0  # squares of blocks are in this unit, or leave the grid
_ROOT_KIB = 16.0  # of a block whose root is 1
_TWICE_KIB = 64.0  # a block that takes a volume's own queue twice as long
_QUICK, _SLOW = 0.25, 64.0  # the time of a write, by that of a read


def products(write_pct: Any, block_kib: Any, q: Any,
             random_pct: Any) -> tuple[Any, ...]:
    """The summands of a Load between its count and ``outside``.

    Not yet on the grid; numbers, or arrays of one number a workload.
    """
    w, x = write_pct / 100, random_pct / 100
    s, s2 = block_kib, (block_kib / _SQUARED_KIB) ** 2
    root = (block_kib / _ROOT_KIB) ** 0.5
    quick, slow = (by * w / (1 - w + by * w) for by in (_QUICK, _SLOW))
    alone = (abs(q - 1) + q + 1) / 2  # the larger of q and 1
    return (write_pct, s, q, q * (1 - w), q * w, q * s * (1 - w), q * s * w,
            random_pct, q * (1 - w) * x, q * w * x,
            q * s2 * (1 - w), q * s2 * w,
            s * w, root * (1 - w), root * w, q * quick, q * s * quick,
            q * slow, q * s * slow, alone * (1 + s / _TWICE_KIB))


@dataclasses.dataclass(frozen=True, slots=True)
class Workload:
    """An access pattern, with observed IOPS and latency where known.

    :param write_pct: writes in percent of all requests
    :param block_kib: mean request size, KiB
    :param iodepth: requests kept outstanding
    :param random_pct: requests at a random offset, percent
    :param iops: observed requests per second, or None
    :param latency_us: observed mean latency, µs, or None
    :param think_time_us: what each of the ``iodepth`` requesters waits from
        the end of a request to its next one, µs
    """

    write_pct: float
    block_kib: float
    iodepth: float = DEFAULT_IODEPTH
    random_pct: float = DEFAULT_RANDOM_PCT
    iops: float | None = None
    latency_us: float | None = None
    think_time_us: float = 0.0

    @property
    def outstanding(self) -> float:
        """q: by Little's law where iops and latency are known, else iodepth.

        q stays as it is when a volume moves (closed-loop assumption).
        """
        if self.iops is None or self.latency_us is None:
            return self.iodepth
        return self.iops * self.latency_us / 1e6

    @property
    def settled(self) -> Workload:
        """The same with its outstanding I/Os as iodepth, without a rate."""
        return dataclasses.replace(self, iodepth=self.outstanding, iops=None,
                                   latency_us=None)

    def is_active(self, floor: float = ACTIVE_FLOOR) -> bool:
        return self.outstanding >= floor

    @property
    def pattern(self) -> tuple[float, float, float, float, float]:
        """(write_pct, block_kib, iodepth, random_pct, think_time_us)."""
        return (self.write_pct, self.block_kib, self.iodepth,
                self.random_pct, self.think_time_us)


class Mean:
    """One workload that does what several do in the mean, one by one.

    Its outstanding I/Os and its rate are theirs in the mean; its requests
    are theirs, weighted by outstanding I/Os. Without a rate where one of
    them has none.
    """

    def __init__(self) -> None:
        self._count = self._rated = 0
        self._q = self._rate = 0.0
        self._mix = (0.0, 0.0, 0.0)
        self._last: Workload | None = None

    def add(self, one: Workload) -> None:
        q, (write, kib, random) = one.outstanding, self._mix
        self._count += 1
        self._q += q
        self._mix = (write + q * one.write_pct, kib + q * one.block_kib,
                     random + q * one.random_pct)
        if one.latency_us is not None and one.iops:
            self._rated += 1
            self._rate += one.iops
        self._last = one

    @property
    def workload(self) -> Workload | None:
        """None where none was added; the last of idle ones."""
        if not self._q:
            return self._last
        write, kib, random = (total / self._q for total in self._mix)
        found = Workload(write, kib, self._q / self._count, random)
        if self._rated < self._count:
            return found
        return dataclasses.replace(
            found, iodepth=DEFAULT_IODEPTH, iops=self._rate / self._count,
            latency_us=1e6 * self._q / self._rate)


def mean(seen: Iterable[Workload]) -> Workload | None:
    """The :class:`Mean` of several workloads."""
    found = Mean()
    for one in seen:
        found.add(one)
    return found.workload


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """The sums over the active workloads of a pool; it is additive.

    With q = outstanding I/Os, w = write_pct / 100, r = 1 - w,
    s = block_kib and x = random_pct / 100, the fields are sums over the
    active workloads; where ``s2`` is in a name, of (s / 64 KiB)². ``count``
    and ``outside`` are whole numbers; ``outside`` counts the workloads that
    lie outside the range of the model this Load is meant for.

    ``root_s`` is √(s / 16 KiB). ``quick_w`` is the share of a tenant's
    outstanding requests that are writes where a write takes a quarter of
    the time of a read, as in a closed loop: w / (4 r + w); ``slow_w`` where
    it takes 64 times as long: 64 w / (r + 64 w). ``queue`` is what a
    volume's own queue serves one after another: q, at least 1, times
    1 + s / 64 KiB.

    Placing a volume is ``load + its``, lifting it is ``load - its``, and
    both are exact: see ``GRID``.
    """

    count: float = 0.0
    sum_write_pct: float = 0.0
    sum_block_kib: float = 0.0
    sum_iodepth: float = 0.0
    sum_q_r: float = 0.0
    sum_q_w: float = 0.0
    sum_q_s_r: float = 0.0
    sum_q_s_w: float = 0.0
    sum_random_pct: float = 0.0
    sum_q_r_x: float = 0.0
    sum_q_w_x: float = 0.0
    sum_q_s2_r: float = 0.0
    sum_q_s2_w: float = 0.0
    sum_s_w: float = 0.0
    sum_root_s_r: float = 0.0
    sum_root_s_w: float = 0.0
    sum_q_quick_w: float = 0.0
    sum_q_s_quick_w: float = 0.0
    sum_q_slow_w: float = 0.0
    sum_q_s_slow_w: float = 0.0
    sum_queue: float = 0.0
    outside: float = 0.0

    @classmethod
    def of(cls, workload: Workload | None, outside: bool = False,
           floor: float = ACTIVE_FLOOR) -> Load:
        """The Load of one workload; none where it is unknown or idle."""
        if workload is None or not workload.is_active(floor):
            return cls()
        return cls(1.0, *[
            round(value * GRID) / GRID for value in products(
                workload.write_pct, workload.block_kib, workload.outstanding,
                workload.random_pct)], float(outside))

    @classmethod
    def total(cls, several: Iterable[Load]) -> Load:
        """Their sum; exact, as of two."""
        rows = [one.vector for one in several if one.count or one.outside]
        return cls(*map(sum, zip(*rows)))

    def __add__(self, other: Load) -> Load:
        return Load(*map(operator.add, self.vector, other.vector))

    def __sub__(self, other: Load) -> Load:
        return Load(*map(operator.sub, self.vector, other.vector))

    @property
    def vector(self) -> tuple[float, ...]:
        """The fields in the order of :data:`FEATURES`."""
        return _vector(self)


FEATURES = tuple(field.name for field in dataclasses.fields(Load))
"""The names of a Load's fields, in the order of every feature vector."""

_vector = operator.attrgetter(*FEATURES)
