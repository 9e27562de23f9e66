# SPDX-License-Identifier: Apache-2.0
"""Random runs to compare devices.

Mesnier et al. [1]_ draw each parameter of a run uniformly between its ends,
and the block from powers of two. Their blocks of 1 and 2 KiB are left out:
direct I/O to a disk of 4 KiB sectors refuses them.

.. [1] Mesnier, Wachs, Ganger: Modeling the relative fitness of storage
   devices, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serifos.design import design
from serifos.facts import fields
from serifos.facts.workload import Workload

PAPER = design.Space(
    write_pcts=(0, 100), random_pcts=(0, 100), iodepths=(1, 16),
    think_times_us=(0, 1000), block_kibs=(4, 8, 16, 32, 64, 128),
    counts=(1,))
"""The paper's parameters; of a workload alone on its device."""

MAIL = design.Space(
    write_pcts=(20, 100), random_pcts=(50, 90), iodepths=(1, 4),
    think_times_us=(0, 500), block_kibs=(4, 8, 12), counts=(2, 3, 4))
"""Runs of a server of many small files, as the paper's Postmark is one
(section 6.2): several workloads at once, whose requests are as small as
files of 5 KiB and what describes them, and mostly at random."""

MOST = 100_000


def runs(number: int, space: design.Space = PAPER,
         seed: int = 0) -> tuple[design.Run, ...]:
    """Random runs; those of a smaller number are the first of a greater one.

    :param number: how many
    :param space: blocks and counts are drawn from its vectors, the others
        as whole numbers between their ends
    :raises InputError: where that is not from 1 to 100,000
    """
    fields.refuse_outside('--sampled', number, 1, MOST)
    rng = np.random.default_rng(seed)
    return tuple(
        tuple(_workload(space, rng) for _ in range(rng.choice(space.counts)))
        for _ in range(number))


def _workload(space: design.Space, rng: np.random.Generator) -> Workload:
    write, depth, random, think = (
        _between(values, rng) for values in (
            space.write_pcts, space.iodepths, space.random_pcts,
            space.think_times_us))
    return Workload(write, float(rng.choice(space.block_kibs)), depth,
                    random, think_time_us=think)


def _between(values: Sequence[float], rng: np.random.Generator) -> float:
    return float(rng.integers(round(min(values)), round(max(values)) + 1))
