# SPDX-License-Identifier: Apache-2.0
"""The mean square over tenants of what each sees, from additive columns.

What a tenant sees is the sum of its pool's parts times factors of its own. So
the square is the sum over each two parts of their product times that of the
two factors, and the mean over any tenants needs only the sums of these.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.facts import workload
from serifos.model import kinds

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


@dataclasses.dataclass(frozen=True, eq=False)
class Squares:
    """The products of each two factors of a kind, as columns of Loads.

    :param begin: the first of these columns
    :param pairs: int[2, columns], the two factors of each
    """

    begin: int
    pairs: tuple[Ints, Ints]

    @classmethod
    def of(cls, predictor: kinds.TenantPredictor, begin: int) -> Squares:
        none = predictor.factors(np.zeros((0, len(workload.FEATURES))))
        first, second = np.triu_indices(none.shape[1])
        return cls(begin, (first, second))

    @property
    def end(self) -> int:
        return self.begin + len(self.pairs[0])

    def products(self, factors: Floats) -> Floats:
        """Those of each workload, on the grid: float[n, columns].

        :param factors: float[n, parts], each of one workload
        """
        first, second = self.pairs
        return np.rint(factors[:, first] * factors[:, second]
                       * workload.GRID) / workload.GRID

    def root_mean(self, parts: Floats, own: Floats) -> Floats:
        """The root of the mean square over tenants, µs[n]; 0 without any.

        :param parts: float[n, parts], of the pools
        :param own: float[n, features], the sum of the tenants' Loads
        """
        total = np.zeros(len(parts))
        for column, (i, j) in enumerate(zip(*self.pairs), self.begin):
            total += (1 + (i != j)) * parts[:, i] * parts[:, j] * (
                own[:, column])
        return np.sqrt(np.maximum(total, 0.0) / np.maximum(own[:, 0], 1.0))
