# SPDX-License-Identifier: Apache-2.0
"""Prediction of a Load by a closed queueing network of two stations.

The kind ``queueing``, after [1]_. Standard library only: cinder-scheduler
loads this module.

Clients are the outstanding I/Os, t = Σ q. Of the paper's two stations, a
request is first at the cache and then, with probability p1, at the media.
A device has the same: a part that takes every byte in turn (its interface,
its buffer), and channels that work side by side. A station with n requests
keeps each for Eq. 1, μ = c1 n s + c2 n + c3 s + c4, with s the mean block
of their class. Such a station is the same as 1 + (c3 s + c4) / (c1 s + c2)
channels, any of which can serve a request.

Differences from the paper: the paper's t in μ is all clients, since it
separates the two stations' times by their distribution; here n is who is
at the station, and how many that are follows from the network. The size of
the file set (Eq. 2-3) is constant for a device, and becomes part of the
c's. The paper's workloads are of one class; here each request draws its
class from the mix. Times alone do not tell p1 from μ: their product is what
is fitted, with a p1 of 1, or of 0 for a class that never needs the media.

Coefficients are not negative, so that more of the same workloads, deeper
queues or larger blocks never lower a prediction. A light workload beside
heavy ones does lower the mean over workloads, as it does on a device.

.. [1] Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of
   Virtualized Storage Systems.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import math
from typing import Any
from typing import TYPE_CHECKING

from serifos import errors
from serifos.facts import workload as wl
from serifos.model import kinds
from serifos.model import parameter
from serifos.model.queueing import checks
from serifos.model.queueing import two_stations

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CLASSES = ('random_read', 'sequential_read', 'random_write',
           'sequential_write')
STATIONS = ('cache', 'media')

TERMS = ('us_per_client_kib', 'us_per_client', 'us_per_kib', 'us')
"""c1 ... c4 of Eq. 1; with :data:`LN`, times ln f (Eq. 2-3)."""

LN = '_ln_gib'
"""Of a term that grows with the logarithm of the file set, GiB."""

CACHED = '_cached'
"""Of a term of file sets that the cache holds: the paper's case s1."""

_KNOWN = tuple(term + suffix for suffix in ('', LN, CACHED) for term in TERMS)
_SYMBOLS = ('t·s', 't', 's', '')
_NOTHING = 1e-300

# Whose times a class has that was never measured: the same direction's
# first, then the same pattern's.
_INSTEAD = {'random_read': (1, 2, 3), 'sequential_read': (0, 3, 2),
            'random_write': (3, 0, 1), 'sequential_write': (2, 1, 0)}

Times = tuple[float, ...]
"""c1 ... c4 of a class at a station, p1 and the file set within them."""


@dataclasses.dataclass(frozen=True)
class Queueing:
    """The network of a device, for any mix of the classes.

    :param times: station → class, in the order of :data:`CLASSES` → Times
    :param p1: class → the probability that a request needs the media
    :param fitted: how many coefficients there are
    :param shown: what a person reads of it
    """

    times: tuple[tuple[Times, ...], ...]
    p1: Times
    fitted: int
    shown: tuple[tuple[str, str], ...]

    def predict(self, load: wl.Load) -> float:
        """µs, never negative; 0 for a count of 0."""
        if load.count == 0 or load.sum_iodepth <= 0:
            return 0.0
        return two_stations.response_us(
            load.sum_iodepth, *self.of_mix(load))

    def of_mix(self, load: wl.Load) -> list[float]:
        """a and b of each station, a n + b being the time of n, µs."""
        return _means(self.times, *mix(load))

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """float[n, k] → float[n], as :meth:`.kinds.Predictor.many` says."""
        import numpy as np  # as above
        load = wl.Load(*loads.T)
        return np.where(
            (load.count > 0) & (load.sum_iodepth > 0),
            two_stations.responses_us(load.sum_iodepth, *_means(
                self.times, *mix(load, np.maximum))), 0.0)

    def classes(self, loads: npt.NDArray[np.float64]) -> list[str]:
        """As :meth:`.kinds.ClassPredictor.classes` says."""
        return classes(loads)

    def work(self, load: wl.Load) -> float:
        return 60.0 + 2 * min(load.sum_iodepth, two_stations.LARGEST)

    @property
    def terms(self) -> int:
        return self.fitted

    def lines(self) -> list[tuple[str, str]]:
        """Such as ('cache random_read', '3.05 t·s + 183.7')."""
        return list(self.shown)


def mix(load: wl.Load, larger: Callable[[Any, Any], Any] = max
        ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """(share of the outstanding I/Os, mean block in KiB) of each class.

    :param load: its fields are numbers, or arrays where ``larger`` is
        numpy's maximum
    """
    q, r, w = (larger(total, _NOTHING) for total in (
        load.sum_iodepth, load.sum_q_r, load.sum_q_w))
    shares = (load.sum_q_r_x / q,
              larger(0.0, load.sum_q_r - load.sum_q_r_x) / q,
              load.sum_q_w_x / q,
              larger(0.0, load.sum_q_w - load.sum_q_w_x) / q)
    read_kib, write_kib = load.sum_q_s_r / r, load.sum_q_s_w / w
    return shares, (read_kib, read_kib, write_kib, write_kib)


def classes(loads: npt.NDArray[np.float64]) -> list[str]:
    """Of which class most outstanding I/Os of each Load are, float[n, k]."""
    import numpy as np  # the scheduler, which has none, never calls this
    shares, _ = mix(wl.Load(*loads.T), np.maximum)
    return [CLASSES[i] for i in np.argmax(shares, axis=0)]


def _means(times: Any, shares: Any, kib: Any) -> list[Any]:
    """a and b of each station at a mix; of numbers or of arrays."""
    found = []
    for of_class in times:
        for first in (0, 2):
            found.append(sum(
                share * (s * c[first] + c[first + 1])
                for share, s, c in zip(shares, kib, of_class)))
    return found


def from_parameters(kind: str, parameters: Mapping[str, Any]) -> Queueing:
    """The predictor that a model file's ``parameters`` describe.

    :raises FormatError: where a station, class, term or figure is unfit
    """
    stations = checks.mapping(parameters.get('stations'), 'stations', STATIONS)
    for name, classes in stations.items():
        for label, row in checks.mapping(classes, name, CLASSES).items():
            for term, value in checks.mapping(
                    row, f'{name} {label}', _KNOWN).items():
                checks.figure(f'{term} of {name} {label}', value, checks.MOST)
    p1 = checks.mapping(parameters.get('p1') or {}, 'p1', CLASSES)
    for label, value in p1.items():
        checks.figure(f'p1 of {label}', value, 1.0)
    gib = parameters.get('file_set_gib', 1.0)
    checks.figure('file_set_gib', gib, checks.MOST)
    cached = _cached_gib(parameters.get('cached_gib') or {}, stations)
    fitted = sum(bool(value) for classes in stations.values()
                 for row in classes.values() for value in row.values())
    if not fitted:
        raise errors.FormatError(
            'The stations of the model take no time at all; ' + checks.AGAIN)
    measured = {label for classes in stations.values() for label in classes}
    sources = [nearest(label, measured) for label in CLASSES]
    times = tuple(tuple(
        _times(stations.get(name, {}).get(label, {}), gib,
               cached.get(label), p1.get(label, 1.0) if name == 'media'
               else 1.0)
        for label in sources) for name in STATIONS)
    return Queueing(times, tuple(p1.get(label, 1.0) for label in sources),
                    fitted, tuple(_lines(stations, p1, gib, cached)))


def nearest(label: str, measured: Collection[str]) -> str:
    """A class itself where it was measured, else whose times it takes."""
    return label if label in measured else next(
        CLASSES[i] for i in _INSTEAD[label] if CLASSES[i] in measured)


def _times(row: Mapping[str, float], gib: float,
           cached: float | None = None, p1: float = 1.0) -> Times:
    """:param cached: the largest file set of case s1, GiB, or None"""
    if cached is not None and gib <= cached:
        return tuple(p1 * row.get(term + CACHED, 0.0) for term in TERMS)
    log = math.log(max(gib, 1.0))
    return tuple(p1 * (row.get(term, 0.0) + row.get(term + LN, 0.0) * log)
                 for term in TERMS)


def _cached_gib(doc: object, stations: Mapping[str, Any]
                ) -> Mapping[str, float]:
    """Class → the largest file set that the cache holds, GiB."""
    cached = checks.mapping(doc, 'cached_gib', CLASSES)
    for label, value in cached.items():
        checks.figure(f'cached_gib of {label}', value, checks.MOST)
    for classes in stations.values():
        for label, row in classes.items():
            if label not in cached and any(
                    term.endswith(CACHED) for term in row):
                raise errors.FormatError(
                    f'A queueing model has times of {label} for file sets '
                    'that a cache holds and no cached_gib, the size of the '
                    f'largest of them; {checks.AGAIN}')
    return cached


def _lines(stations: Mapping[str, Any], p1: Mapping[str, float],
           gib: float, cached: Mapping[str, float]
           ) -> list[tuple[str, str]]:
    used = [name for name in STATIONS if any(
        any(row.values()) for row in stations.get(name, {}).values())]
    said = [('stations', ' and '.join(used) if len(used) > 1 else
             'one (its times do not tell cache and media apart)')]
    for name in used:
        for label, row in stations[name].items():
            share = p1.get(label, 1.0)
            for case, size in _cases(gib, cached.get(label)):
                times = _times(row, size, cached.get(label))
                if any(times):
                    said.append((f'{name} {label}{case}', kinds.formula(
                        zip(times, _SYMBOLS)) + (
                            f' (p1 {share:.3g})' if name == 'media'
                            and share != 1 else '')))
    return said


def _cases(gib: float, cached: float | None) -> list[tuple[str, float]]:
    """What each of the paper's cases s1 and s2 is called; a size of it."""
    if cached is None:
        return [('', gib)]
    found = [(f', up to {cached:g} GiB', cached)]
    return [*found, (f', {gib:g} GiB', gib)] if gib > cached else found


QUEUEING = kinds.Kind(
    from_parameters, 'serifos.model.queueing.fit:fit',
    (parameter.Parameter('stations', 2, 1, 2),
     parameter.Parameter('alpha', 0.05, 0, 1, whole=False)))
"""``alpha`` is the p-value above which a term is removed."""
