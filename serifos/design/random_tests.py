# SPDX-License-Identifier: Apache-2.0
"""Random runs to test models.

Those of the paper [1]_: each workload is drawn from test vectors of its own
(Eq. 17-18), 100 runs of each count from 1 to 5 and 200 of 6 to 10 (Table 7).

.. [1] Yao, Papapanagiotou, Griffith: Serifos: Workload Consolidation and
   Load Balancing for SSD Based Cloud Storage Systems, section 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serifos.design import design
from serifos.facts import fields
from serifos.facts.workload import Workload

PAPER = design.Space(
    write_pcts=(5, 30, 50, 70, 95),             # Eq. 17
    block_kibs=(4, 8, 16, 32, 64, 128, 256),    # Eq. 18
    counts=(1, 2, 3, 4, 5))
"""The paper's test vectors."""

MORE = 6, 10
"""The least and the greatest count of the runs beyond those of 1 to 5."""

_MOST = 10_000


def runs(each: int, more: int, space: design.Space = PAPER,
         seed: int | Sequence[int] = 0) -> list[design.Run]:
    """Random runs of workloads that are drawn from vectors.

    :param each: runs of each count of the space
    :param more: runs beside them of 6 to 10 workloads
    :raises InputError: where ``each`` is not from 1 to 10,000
    """
    fields.refuse_outside('--tests', each, 1, _MOST)
    rng = np.random.default_rng(seed)
    counts = [*(n for n in space.counts for _ in range(each)),
              *rng.integers(MORE[0], MORE[1] + 1, more).tolist()]
    return [tuple(drawn(rng, space) for _ in range(n)) for n in counts]


def drawn(rng: np.random.Generator,
          space: design.Space = PAPER) -> Workload:
    """A random workload of the vectors."""
    return Workload(*(float(rng.choice(values)) for values in (
        space.write_pcts, space.block_kibs, space.iodepths,
        space.random_pcts)), think_time_us=float(
            rng.choice(space.think_times_us)))
