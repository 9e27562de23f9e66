# SPDX-License-Identifier: Apache-2.0
"""The kinds of model that are installed: entry points of ``serifos.kinds``.

An entry point names a :class:`Kind`. It is loaded when a model of the kind
is read or fitted. Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import logging
import pkgutil
from typing import Any
from typing import Protocol
from typing import runtime_checkable
from typing import TYPE_CHECKING

from serifos import errors
from serifos.facts import workload as wl
from serifos.model import parameter
from serifos import plugins

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LOG = logging.getLogger(__name__)


class Predictor(Protocol):
    """A fitted model, ready to predict."""

    def predict(self, load: wl.Load) -> float:
        """The prediction for a Load, never negative; 0 for a count of 0."""

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """The same for many Loads at once, to 1e-9, by numpy.

        Each element is computed alike, whatever the others are: equal
        Loads give results equal to the last bit.

        :param loads: float[n, k], the first k of :data:`.workload.FEATURES`,
            all but ``outside`` at least
        :returns: float[n]
        """

    def work(self, load: wl.Load) -> float:
        """About how many multiplications :meth:`predict` takes for this."""

    @property
    def terms(self) -> int:
        """Fitted coefficients besides an intercept, for the adjusted R²."""

    def lines(self) -> list[tuple[str, str]]:
        """The rules or formulas for people: (label, text)."""


@runtime_checkable
class UncertainPredictor(Predictor, Protocol):
    """A Predictor that gives a standard deviation for each Load."""

    def log_std(self, load: wl.Load) -> float:
        """The standard deviation of the log latency of a new run."""

    def log_std_work(self) -> float:
        """About how many multiplications :meth:`log_std` takes."""

    def log_std_many(self, loads: npt.NDArray[np.float64]
                     ) -> npt.NDArray[np.float64]:
        """The same for many Loads, as :meth:`many` takes them: float[n]."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """The reader and the fitter of a kind of model.

    :param read: (kind, parameters of a model file) → a Predictor; it and its
        module use the standard library alone
    :param fitter: ``module:function`` of the fit, imported when called:
        (Loads of n runs, float[n] of what they measured, each setting
        by its name) → the parameters of a model file
    :param settings: those of the fitter
    """

    read: Callable[[str, Mapping[str, Any]], Predictor]
    fitter: str
    settings: tuple[parameter.Parameter, ...] = ()

    def fit(self, loads: Sequence[wl.Load], y: npt.NDArray[np.float64],
            given: Mapping[str, float]) -> Mapping[str, Any]:
        """:raises InputError: where a setting is unknown or out of range"""
        settings = parameter.settings(self.settings, given)
        return pkgutil.resolve_name(self.fitter)(loads, y, **settings)


def formula(terms: Iterable[tuple[float, str]]) -> str:
    """A sum of (coefficient, symbol), such as '113.44 + 22.135 block_kib'.

    The symbol of a constant is empty; a coefficient of 0 is left out.
    """
    found = [f'{value:.5g} {symbol}'.strip()
             for value, symbol in terms if value]
    return ' + '.join(found).replace('+ -', '- ') or '0'


def names() -> tuple[str, ...]:
    """The names of the kinds that are installed, in alphabetical order."""
    return tuple(sorted(plugins.installed(plugins.KINDS)))


def of(name: str) -> Kind:
    """:raises FormatError: where the kind is not installed, or is broken"""
    if name not in names():
        raise errors.FormatError(
            f'The model is of kind {name}, which is not installed; there is '
            f'{", ".join(names()) or "none"}. Install the package that has '
            'it, or fit the model again with serifos-model fit.')
    kind = plugins.load(plugins.KINDS, name, errors.FormatError)
    if not isinstance(kind, Kind):
        raise errors.FormatError(
            f'{name} of {plugins.KINDS} is not a serifos.model.kinds.Kind; '
            'install its package again, or remove it.')
    return kind


@functools.cache
def every() -> Mapping[str, Kind]:
    """The kinds that can be loaded; one warning for each other."""
    found = {}
    for name in names():
        try:
            found[name] = of(name)
        except errors.FormatError as exc:
            LOG.warning('%s', exc)
    return found


def predictor(kind: str, parameters: Mapping[str, Any]) -> Predictor:
    """:raises FormatError: where the kind or its parameters are unknown"""
    return of(kind).read(kind, parameters)
