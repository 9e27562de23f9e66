# SPDX-License-Identifier: Apache-2.0
"""The inputs of a regression: the count of a Load and its mean pattern.

Of a single workload they are its own pattern. Standard library only:
cinder-scheduler loads this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from serifos.facts import workload as wl

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

INPUTS = ('count', 'write_pct', 'block_kib', 'iodepth', 'random_pct')
"""The names of the inputs, in the order of every vector of them."""

INTERCEPT = 'intercept'

ROW = (INTERCEPT, *INPUTS)
"""The terms of a leaf of a tree."""

_SUMS = ('sum_write_pct', 'sum_block_kib', 'sum_iodepth', 'sum_random_pct')
_COLUMNS = tuple(wl.FEATURES.index(name) for name in _SUMS)


def of(load: wl.Load) -> tuple[float, ...]:
    """(count, mean write_pct, mean block_kib, mean iodepth, mean random_pct)

    All 0 where no workload is active.
    """
    if load.count == 0:
        return (0.0,) * len(INPUTS)
    return (load.count, *(getattr(load, name) / load.count
                          for name in _SUMS))


def of_many(loads: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The same for many Loads: float[n, k] → float[n, 5]."""
    import numpy as np  # the scheduler, which has none, never calls this
    count = loads[:, 0]
    return np.column_stack([count, *(
        loads[:, column] / np.maximum(count, 1) for column in _COLUMNS)])
