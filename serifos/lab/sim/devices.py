# SPDX-License-Identifier: Apache-2.0
"""Simulated devices by name, and testbeds of them.

``paper``: two SSDs whose costs :func:`.paper.fitted` found, by least mean
relative error against Table 6 of the paper; ``sequential`` and ``run_cv``
are assumed. ``serifos-sim evaluate`` prints how far they are from the table:
in the mean 2.6 % (SSD1) and 3.2 % (SSD2) of the latency on the training
vectors, 9 and 12 % for a single workload.

``other``: fitted to nothing, so that no table of the paper is in them. An
aged SATA drive whose write buffer drains at a fifth of the bus's pace, in
pages of 16 KiB: above some 20 % of written bytes writes take the bus with
them. A fast drive whose dies are busy for as long as a write is large: its
reads wait behind writes, though its bus is nearly idle.

``drawn``, ``drawn2``, ``drawn3``: pairs that :func:`drawn` mixed.

``serial``: another such pair, in hosts whose threads each serve the requests
of one volume in turn, for 20 to 60 µs a request and 0.2 to 1 µs a KiB (both
are drawn, too; assumed for QEMU's and iSCSI's), and volumes of 1 to 32
outstanding requests: a shallow one does not wait for a deep one's thread.

:data:`FEATURED` has one device for each thing that a device may do beside
that. :func:`drawn` mixes all of them at random, so that a model can be
tested on devices that nobody knew when it was made.

:data:`PAGED` is simulated page by page, for the paper's study of one workload
(its Tables 3 and 4). Its dies program less than its link brings, and a write
takes whole pages, so the share of writes matters as on the paper's drives. Its
times are set by hand to come near Table 4 for SSD1.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import functools

import numpy as np

from serifos.design import design
from serifos.design import random_tests
from serifos.lab.sim import nand
from serifos.lab.sim import ssd as ssds

_RUN_CV = 0.03  # of the same run made again on one machine

SSD1 = ssds.Ssd(
    'SSD1', dies=64, read_us=170.3, write_us=176.3,
    bus_read_us_per_kib=3.078, bus_write_us_per_kib=3.108,
    program_us_per_kib=0.05179, sequential=0.7, noise_cv=0.5,
    run_cv=_RUN_CV)
SSD2 = ssds.Ssd(
    'SSD2', dies=64, read_us=226.7, write_us=160.9,
    bus_read_us_per_kib=2.657, bus_write_us_per_kib=2.783,
    program_us_per_kib=0.03515, sequential=0.7, noise_cv=0.5,
    run_cv=_RUN_CV)
AGED = ssds.Ssd(
    'AGED', dies=32, read_us=140, write_us=60, bus_read_us_per_kib=2.0,
    bus_write_us_per_kib=2.0, sequential=0.5, drain_us_per_kib=10.0,
    buffer_kib=2048, page_kib=16, noise_cv=0.8, run_cv=_RUN_CV)
FAST = ssds.Ssd(
    'FAST', dies=32, read_us=85, write_us=15, bus_read_us_per_kib=0.35,
    bus_write_us_per_kib=0.35, program_us_per_kib=30.0, sequential=0.5,
    noise_cv=0.7, run_cv=_RUN_CV)

COLLECTING = ssds.Ssd(
    'COLLECTING', dies=32, read_us=90, write_us=25, bus_read_us_per_kib=0.6,
    bus_write_us_per_kib=0.7, program_us_per_kib=5.0, sequential=0.6,
    gc_us=2500.0, gc_us_per_kib=40.0, page_kib=4, noise_cv=0.6,
    run_cv=_RUN_CV)
CLIFF = ssds.Ssd(
    'CLIFF', dies=16, read_us=110, write_us=20, bus_read_us_per_kib=1.0,
    bus_write_us_per_kib=1.2, program_us_per_kib=8.0, sequential=0.6,
    fast_kib=4096, fold_us_per_kib=4.0, direct=5.0, noise_cv=0.6,
    run_cv=_RUN_CV)
CACHED = ssds.Ssd(
    'CACHED', dies=24, read_us=180, write_us=80, bus_read_us_per_kib=1.8,
    bus_write_us_per_kib=2.0, sequential=0.7, cache_share=0.7, cache_us=12.0,
    readahead=0.8, noise_cv=0.6, run_cv=_RUN_CV)
PARALLEL = ssds.Ssd(
    'PARALLEL', dies=64, read_us=85, write_us=18, bus_read_us_per_kib=2.4,
    bus_write_us_per_kib=3.0, program_us_per_kib=3.0, sequential=0.6,
    channels=8, stripe_kib=16, noise_cv=0.6, run_cv=_RUN_CV)

FEATURED = (COLLECTING, CLIFF, CACHED, PARALLEL)
PAGED = nand.Nand(
    'PAGED', channels=8, dies=16, page_kib=16, read_us=60, program_us=1600,
    channel_us_per_kib=3.0, link_us_per_kib=3.6, write_us=20,
    buffer_kib=1024, half_duplex=True, queue=32, command_us=5.0,
    gathers=False, readahead=0.8, noise_cv=0.2, run_cv=_RUN_CV)

NAMED = (SSD1, SSD2, AGED, FAST, *FEATURED)


def drawn(rng: np.random.Generator) -> ssds.Ssd:
    """A device drawn at random from plausible parameters.

    From an aged SATA drive of 300 MB/s to an NVMe drive of 4 GB/s; each
    feature is there or not, with a strength of its own.
    """
    between = functools.partial(ssds.between, rng)
    kib_us = between(0.25, 3.3)  # of all channels together
    channels = int(rng.choice([1, 1, 2, 4, 8]))
    dies = channels * int(rng.choice([8, 16, 32]))
    read_us, write_us = between(60, 250), between(10, 250)
    found = ssds.Ssd(
        f'drawn-{rng.integers(10 ** 9):09}', dies, read_us, write_us,
        bus_read_us_per_kib=kib_us * channels,
        bus_write_us_per_kib=kib_us * channels * between(0.9, 1.8),
        program_us_per_kib=kib_us * dies * between(0.01, 2.0),
        sequential=float(rng.uniform(0.4, 1.0)),
        noise_cv=float(rng.uniform(0.3, 0.9)),
        run_cv=float(rng.uniform(0.01, 0.04)), channels=channels,
        stripe_kib=float(rng.choice([0, 4, 16, 64])),
        page_kib=float(rng.choice([0, 4, 8, 16])))
    features = (
        {'drain_us_per_kib': kib_us * between(1.0, 5.0),
         'buffer_kib': float(rng.choice([512, 2048, 8192]))},
        {'fold_us_per_kib': kib_us * between(1.0, 6.0),
         'fast_kib': float(rng.choice([1024, 4096, 16384])),
         'direct': float(rng.uniform(2, 6))},
        {'gc_us_per_kib': kib_us * dies * between(0.1, 1.5),
         'gc_us': between(500, 5000)},
        {'cache_share': float(rng.uniform(0.1, 1.0)),
         'readahead': float(rng.uniform(0.3, 0.95)),
         'cache_us': between(5, 30)})
    for feature in features:
        if rng.random() < 0.5:
            found = dataclasses.replace(found, **feature)
    return found


@dataclasses.dataclass(frozen=True)
class Testbed:
    """Hosts of two kinds, as in section 6 of the paper.

    :param hosts: ssd → (number of hosts, GiB of each)
    :param volumes: the space that the workloads of volumes are drawn from
    """

    name: str
    hosts: Mapping[ssds.Ssd, tuple[int, float]]
    volumes: design.Space = random_tests.PAPER


_GIB_480, _GIB_400 = 447.0, 372.5  # 480 and 400 GB


def _drawn(name: str, seed: int) -> Testbed:
    rng = np.random.default_rng([77, seed])
    return Testbed(name, {drawn(rng): (3, _GIB_480),
                          drawn(rng): (2, _GIB_400)})


def _serial(name: str, seed: int) -> Testbed:
    rng = np.random.default_rng([77, seed])
    between = functools.partial(ssds.between, rng)
    thread = {'thread_us': between(20, 60),
              'thread_us_per_kib': between(0.2, 1)}
    return Testbed(
        name, {dataclasses.replace(drawn(rng), **thread): (3, _GIB_480),
               dataclasses.replace(drawn(rng), **thread): (2, _GIB_400)},
        dataclasses.replace(random_tests.PAPER, iodepths=(1, 2, 4, 8, 16, 32)))


TESTBEDS = {
    'paper': Testbed('paper', {SSD1: (3, _GIB_480), SSD2: (2, _GIB_400)}),
    'other': Testbed('other', {AGED: (3, _GIB_480), FAST: (2, _GIB_400)}),
    'drawn': _drawn('drawn', 100),
    'drawn2': _drawn('drawn2', 101),
    'drawn3': _drawn('drawn3', 102),
    'serial': _serial('serial', 103),
}
