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
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos import plugins

LOG = logging.getLogger(__name__)

_REMOVED = ('hybrid',)


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A setting of a fit, such as minsplit: its standard value and its range.

    :param whole: whether it is rounded to a whole number
    :param searched: whether a search for settings tries other values
    """

    name: str
    standard: float
    least: float
    greatest: float
    whole: bool = True
    searched: bool = True

    def valid(self, value: float) -> float:
        """The nearest value that may be used."""
        value = min(max(value, self.least), self.greatest)
        return float(round(value)) if self.whole else float(value)


def valid_settings(parameters: Iterable[Parameter],
                   given: Mapping[str, float]) -> dict[str, float]:
    """Every setting of a kind: the value given, else its standard.

    :raises InputError: where a name is unknown, or a value out of range
    """
    by_name = {one.name: one for one in parameters}
    for name, value in given.items():
        if name not in by_name:
            raise errors.InputError(
                f'There is no setting {name} here; there is '
                f'{", ".join(by_name) or "none"}.')
        one = by_name[name]
        if not one.least <= value <= one.greatest or (
                one.whole and value != round(value)):
            raise errors.InputError(
                f'{name} = {value:g} cannot be used; give a '
                f'{"whole " * one.whole}number from {one.least:g} to '
                f'{one.greatest:g}.')
    return {name: float(given.get(name, one.standard))
            for name, one in by_name.items()}


if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from serifos.facts.dataset import Sample
    from serifos.model.conditions import Conditions


class Predictor(Protocol):
    """A fitted model, ready to predict."""

    def predict(self, load: Load) -> float:
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

    def work(self, load: Load) -> float:
        """About how many multiplications :meth:`predict` takes for this."""

    @property
    def terms(self) -> int:
        """Fitted coefficients besides an intercept, for the adjusted R²."""

    def lines(self) -> list[tuple[str, str]]:
        """The rules or formulas for people: (label, text)."""


@runtime_checkable
class ClassPredictor(Predictor, Protocol):
    """A Predictor with equations of their own for each class of requests."""

    def classes(self, loads: npt.NDArray[np.float64]) -> list[str]:
        """Of which class most requests of each Load are.

        :param loads: float[n, k], as :meth:`many` takes them
        """


@dataclasses.dataclass(frozen=True)
class Seen:
    """The latencies of one tenant, µs; None where it has no such requests."""

    latency_us: float | None
    read_latency_us: float | None = None
    write_latency_us: float | None = None

    def at_least(self, least_us: float) -> Seen:
        """The same; where its latency is lower, all of it slowed to that."""
        if not self.latency_us or self.latency_us >= least_us:
            return self
        rise = least_us / self.latency_us
        return Seen(least_us, *(each and each * rise for each in (
            self.read_latency_us, self.write_latency_us)))


@runtime_checkable
class TenantPredictor(Predictor, Protocol):
    """A Predictor of what each tenant sees.

    What it predicts of a Load is the mean over the tenants of that Load.
    """

    def log_std(self, load: Load) -> float:
        """The standard deviation of the log latency of a new run."""

    def log_std_many(self, loads: npt.NDArray[np.float64]
                     ) -> npt.NDArray[np.float64]:
        """The same for many Loads, as :meth:`many` takes them: float[n]."""

    def tenant(self, load: Load, workload: Workload) -> Seen:
        """What a workload sees in a pool of a Load, itself included."""

    def tenant_log_std(self, load: Load, workload: Workload) -> float:
        """The standard deviation of the log of what it sees."""

    def means(self, load: Load,
              several: Iterable[Load]) -> list[float]:
        """The mean over any tenants of what each sees in a pool of a Load.

        :param several: for each mean, the sum of the Loads of the tenants
            asked for
        """

    def tenants(self, loads: npt.NDArray[np.float64],
                own: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """One of these means for each of many pools, by numpy.

        :param loads: float[n, k], the pools', as :meth:`many` takes them
        :param own: float[n, k], the sum of the Loads of the tenants asked
            for: of one, of some or of all of a pool's
        :returns: float[n]
        """

    def parts(self, loads: npt.NDArray[np.float64]
              ) -> npt.NDArray[np.float64]:
        """What the latencies of a pool's tenants are made of, µs.

        A tenant sees the sum of these times its :meth:`factors`, so that
        those of a pool's many tenants cost one prediction.

        :param loads: float[n, k], as :meth:`many` takes them
        :returns: float[n, parts]
        """

    def factors(self, own: npt.NDArray[np.float64]
                ) -> npt.NDArray[np.float64]:
        """How much of each part tenants see in the mean: float[m, parts].

        :param own: float[m, k], the sum of the Loads of the tenants asked
            for, as :meth:`tenants` takes them
        """

    def tenants_log_std(self, loads: npt.NDArray[np.float64],
                        own: npt.NDArray[np.float64]
                        ) -> npt.NDArray[np.float64]:
        """:meth:`tenant_log_std` for many: float[n]."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """The reader and the fitter of a kind of model.

    :param read: (kind, parameters of a model file) → a Predictor; it and its
        module use only the standard library
    :param fitter: ``module:function`` of the fit, imported when called:
        (Loads of n runs, float[n] of what they measured, each setting
        by its name) → the parameters of a model file
    :param settings: those of the fitter
    :param tenants: whether its predictors are :class:`TenantPredictor`; its
        fitter also takes ``seen``, for each run its tenants and what they
        saw, and ``predicts``, the name of the figure
    :param method: raised by one where the fitter makes another model of the
        same runs and settings, so that no search goes on from old errors
    :param conditions: whether its fitter also takes ``conditions``, those of
        the runs where they vary, and its parameters then have ``at``, those
        for which they predict
    :param distributions: whether its fitter also takes ``samples``, the runs
        with the distributions of their response times; ``build`` then makes
        runs of only reads and of only writes for it
    :param devices: whether its fitter also takes ``devices``, those measured
        before, for what few runs do not say
    """

    read: Callable[[str, Mapping[str, Any]], Predictor]
    fitter: str
    settings: tuple[Parameter, ...] = ()
    tenants: bool = False
    method: int = 1
    conditions: bool = False
    distributions: bool = False
    devices: bool = False

    def fit(self, loads: Sequence[Load], y: npt.NDArray[np.float64],
            given: Mapping[str, float],
            seen: Sequence[Sequence[tuple[Workload, Seen]]] = (),
            predicts: str = 'latency_us',
            conditions: Conditions | None = None,
            samples: Sequence[Sample] = (),
            devices: Sequence[TenantPredictor] = ()) -> Mapping[str, Any]:
        """:raises InputError: where a setting is unknown or out of range"""
        settings = valid_settings(self.settings, given)
        more: dict[str, Any] = (
            {'seen': seen, 'predicts': predicts} if self.tenants else {})
        if self.conditions and conditions is not None:
            more['conditions'] = conditions
        if self.distributions:
            more['samples'] = samples
        if self.devices:
            more['devices'] = devices
        return pkgutil.resolve_name(self.fitter)(
            loads, y, **more, **settings)


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
    if name in _REMOVED and name not in names():
        raise errors.FormatError(
            f'The model is of kind {name}, which this release no longer has; '
            'fit it again with serifos-model fit.')
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
