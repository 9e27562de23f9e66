# SPDX-License-Identifier: Apache-2.0
"""One network of a tenant model: it rises with each of its inputs.

Standard library only: cinder-scheduler loads this module. A part of the
latency is exp(offset + Σ slope · input + Σ weight · unit); a unit is a bent
or a bounded rise, in turn, of offset + Σ slope · input. No slope and no
weight is negative, so that no input lowers any part [1]_.

.. [1] J. Sill: Monotonic networks, Advances in Neural Information
   Processing Systems 10, 1998.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from serifos.model.tenant.arithmetic import Arithmetic
from serifos.model.tenant.arithmetic import Number

_LONGEST = 50.0  # the log of a part in µs


@dataclasses.dataclass(frozen=True)
class Sum:
    """offset + Σ slope · value; terms of slope 0 are left out.

    :param terms: (index of the value, slope)
    """

    offset: float
    terms: tuple[tuple[int, float], ...]

    def __call__(self, values: Sequence[Number]) -> Number:
        total = self.offset
        for index, slope in self.terms:
            total = total + slope * values[index]
        return total


@dataclasses.dataclass(frozen=True)
class Member:
    """A network.

    :param units: sums of the inputs
    :param parts: of :data:`.inputs.OWN`: sums of the inputs, then of the
        units' values
    """

    units: tuple[Sum, ...]
    parts: tuple[Sum, ...]

    def values(self, inputs: Sequence[Number],
               of: Arithmetic) -> list[Number]:
        """µs of each of :data:`.inputs.OWN`."""
        every = [*inputs, *(
            (_bounded if i % 2 else _bent)(unit(inputs), of)
            for i, unit in enumerate(self.units))]
        return [of.exp(of.smaller(part(every), _LONGEST))
                for part in self.parts]

    @property
    def work(self) -> float:
        """About how many multiplications :meth:`values` takes."""
        return float(sum(len(one.terms) + 4
                         for one in (*self.units, *self.parts)))


def _bent(value: Number, of: Arithmetic) -> Number:
    """log(1 + exp(value)), which goes on to rise."""
    up = of.larger(value, 0.0)
    return up + of.log(1 + of.exp(value - 2 * up))


def _bounded(value: Number, of: Arithmetic) -> Number:
    """tanh(value)."""
    return 1 - 2 / (of.exp(of.smaller(2 * value, _LONGEST)) + 1)
