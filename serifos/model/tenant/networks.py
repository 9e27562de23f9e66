# SPDX-License-Identifier: Apache-2.0
"""The networks of a tenant model as arrays, all of them at once.

They add up term by term, in the order of :class:`.parameters.Member`: every
element is computed alike, whatever the others are.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.model.tenant import arithmetic
from serifos.model.tenant import inputs
from serifos.model.tenant import parameters

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Networks:
    """Offsets and slopes; those of a missing unit are 0.

    :param units: offsets, float[units, members]
    :param slopes: of the units, float[inputs, units, members]
    :param parts: offsets, float[parts, members]
    :param weights: of inputs, then of units, in the parts, float[inputs +
        units, parts, members]
    """

    units: Floats
    slopes: Floats
    parts: Floats
    weights: Floats

    @classmethod
    def of(cls, members: Sequence[parameters.Member]) -> Networks:
        number, k = len(inputs.INPUTS), len(inputs.OWN)
        units = max(len(one.units) for one in members)
        units += units % 2
        found = cls(*map(np.zeros, (
            (units, len(members), 1), (number, units, len(members), 1),
            (k, len(members), 1), (number + units, k, len(members), 1))))
        for m, one in enumerate(members):
            for offsets, slopes, sums in (
                    (found.units, found.slopes, one.units),
                    (found.parts, found.weights, one.parts)):
                for i, each in enumerate(sums):
                    offsets[i, m] = each.offset
                    for term, slope in each.terms:
                        slopes[term, i, m] = slope
        return found

    def values(self, values: Sequence[Floats]) -> Floats:
        """µs of each of :data:`.inputs.OWN`: float[members, parts, n].

        :param values: of :data:`.inputs.INPUTS`, float[n] each
        """
        of = arithmetic.arrays()
        units = _sum(self.units, self.slopes, values)
        units[::2] = parameters.bent(units[::2], of)
        units[1::2] = parameters.bounded(units[1::2], of)
        return parameters.part(_sum(
            self.parts, self.weights, [*values, *units]), of).swapaxes(0, 1)


def _sum(offsets: Floats, slopes: Floats,
         values: Sequence[Floats]) -> Floats:
    total = np.repeat(offsets, values[0].shape[-1], axis=-1)
    term = np.empty_like(total)
    for value, slope in zip(values, slopes):
        total += np.multiply(slope, value, out=term)
    return total
