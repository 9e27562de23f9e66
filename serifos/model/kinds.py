# SPDX-License-Identifier: Apache-2.0
"""Which kinds of model are there, and how does each read its parameters?

Standard library only: cinder-scheduler loads this module. What fits a kind
is in :mod:`serifos.model.fit`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import Protocol
from typing import runtime_checkable
from typing import TYPE_CHECKING

from serifos import errors
from serifos.model import hybrid
from serifos.model import linear
from serifos.model import queueing
from serifos.model import splines
from serifos.model import tree
from serifos import workload as wl

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Form(Protocol):
    """What a model's parameters say, ready to predict."""

    def predict(self, load: wl.Load) -> float:
        """The prediction for a Load, never negative; 0 for a count of 0."""

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """The same for many Loads at once, to 1e-9, by numpy.

        Each element is computed alike, in whatever company it is asked
        for: equal Loads are equal to the last bit.

        :param loads: float[n, k], the first k of :data:`.workload.FEATURES`,
            all but ``outside`` at least
        :returns: float[n]
        """

    def work(self, load: wl.Load) -> float:
        """About how many multiplications :meth:`predict` takes for this."""

    @property
    def terms(self) -> int:
        """Fitted figures besides an intercept, for the adjusted R²."""

    def lines(self) -> list[tuple[str, str]]:
        """What a person reads of it: (label, rule or formula)."""


@runtime_checkable
class Unsure(Form, Protocol):
    """A Form that says of each Load how sure it is."""

    def spread(self, load: wl.Load) -> float:
        """The standard deviation of the log of what a new run measures."""

    def spread_work(self) -> float:
        """About how many multiplications :meth:`spread` takes."""

    def deviation(self, loads: npt.NDArray[np.float64]
                  ) -> npt.NDArray[np.float64]:
        """The same for many Loads, as :meth:`many` takes them: float[n]."""


READERS: Mapping[str, Callable[[str, Mapping[str, Any]], Form]] = {
    'consolidation': linear.from_parameters,
    'outstanding': linear.from_parameters,
    'queueing': queueing.from_parameters,
    'hybrid': hybrid.from_parameters,
    'lrm': splines.from_parameters,
    'mars': splines.from_parameters,
    'cart': tree.from_parameters,
    'm5': tree.from_parameters,
    'cubist': tree.from_parameters,
}
"""Kind → what makes a Form of (kind, the parameters of a model file)."""


def form(kind: str, parameters: Mapping[str, Any]) -> Form:
    """:raises FormatError: where the kind or its parameters are unknown"""
    if kind not in READERS:
        raise errors.FormatError(
            f'The model is of kind {kind}; this serifos knows '
            f'{", ".join(READERS)}.')
    return READERS[kind](kind, parameters)
