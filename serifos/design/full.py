# SPDX-License-Identifier: Apache-2.0
"""The full design: every set of workloads of a space, as in the paper.

The order of the workloads of a set plays no role, so sets are combinations
with repetition, not the Cartesian product [1]_.

.. [1] Yao, Papapanagiotou, Griffith: Serifos: Workload Consolidation and
   Load Balancing for SSD Based Cloud Storage Systems, section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
import itertools
import math

from serifos.design import design

TRAINING = design.Space(
    write_pcts=(25, 50, 75), block_kibs=(4, 8, 32, 128),
    counts=(1, 2, 3, 4, 5))
"""The paper's training vectors (Eq. 15-16)."""

STUDY = design.Space(
    write_pcts=tuple(range(0, 101, 10)),
    random_pcts=tuple(range(10, 101, 10)),
    block_kibs=(4, 8, 16, 32, 128, 256), counts=(1,))
"""The paper's 660 patterns of its single-workload study (Eq. 3-5)."""


def number(space: design.Space, count: int) -> int:
    """The number of sets of ``count`` workloads, C(p + n - 1, n)."""
    return math.comb(space.size + count - 1, count)


def sets(space: design.Space) -> Iterator[design.Run]:
    """Every set of the space once, by count."""
    for count in sorted(set(space.counts)):
        yield from itertools.combinations_with_replacement(
            space.patterns, count)
