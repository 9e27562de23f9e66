# SPDX-License-Identifier: Apache-2.0
"""Which devices are simulated?

``paper``: two SSDs fitted to Table 6 of the paper by ``python -m
serifos.sim.calibrate``, which also prints how far they are from it: in the
mean 2.4 % (SSD1) and 3.1 % (SSD2) of the latency on the training vectors,
9 and 12 % for one workload alone.

``other``: fitted to nothing, so that no table of the paper is in them. An
aged SATA drive whose write buffer drains at a fifth of the bus's pace, in
pages of 16 KiB: above some 20 % of written bytes writes take the bus with
them. A fast drive whose dies are busy for as long as a write is large: its
reads wait behind writes, though its bus is nearly idle.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses

from serifos.sim import device as dev

_RUN_CV = 0.03  # of the same run made again on one machine

SSD1 = dev.Truth(
    'SSD1', dies=64, read_us=170.3, write_us=176.3,
    bus_read_us_per_kib=3.078, bus_write_us_per_kib=3.108,
    program_us_per_kib=0.05179, sequential=0.7, noise_cv=0.5,
    run_cv=_RUN_CV)
SSD2 = dev.Truth(
    'SSD2', dies=64, read_us=226.7, write_us=160.9,
    bus_read_us_per_kib=2.657, bus_write_us_per_kib=2.783,
    program_us_per_kib=0.03515, sequential=0.7, noise_cv=0.5,
    run_cv=_RUN_CV)
AGED = dev.Truth(
    'AGED', dies=32, read_us=140, write_us=60, bus_read_us_per_kib=2.0,
    bus_write_us_per_kib=2.0, sequential=0.5, drain_us_per_kib=10.0,
    buffer_kib=2048, page_kib=16, noise_cv=0.8, run_cv=_RUN_CV)
FAST = dev.Truth(
    'FAST', dies=32, read_us=85, write_us=15, bus_read_us_per_kib=0.35,
    bus_write_us_per_kib=0.35, program_us_per_kib=30.0, sequential=0.5,
    noise_cv=0.7, run_cv=_RUN_CV)


@dataclasses.dataclass(frozen=True)
class Testbed:
    """Hosts of two kinds, as section 6 of the paper has them.

    :param hosts: truth → (number of hosts, GiB of each)
    """

    name: str
    hosts: Mapping[dev.Truth, tuple[int, float]]


_GIB_480, _GIB_400 = 447.0, 372.5  # 480 and 400 GB

TESTBEDS = {
    'paper': Testbed('paper', {SSD1: (3, _GIB_480), SSD2: (2, _GIB_400)}),
    'other': Testbed('other', {AGED: (3, _GIB_480), FAST: (2, _GIB_400)}),
}
