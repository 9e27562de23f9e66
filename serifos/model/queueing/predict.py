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
class from the mix. Times do not tell p1 from μ: their product is what
is fitted, with a p1 of 1, or of 0 for a class that never needs the media,
where the distribution of the times does not tell it. Where it does, its two
modes tell the times at the stations, too.

Coefficients are not negative, and many clients have no less work each than
few, so that more of the same workloads, deeper queues or larger blocks never
lower a prediction. A light workload beside heavy ones does lower the mean over
workloads, as it does on a device.

.. [1] Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of
   Virtualized Storage Systems.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
from typing import Any
from typing import TYPE_CHECKING

from serifos import errors
from serifos.facts.workload import Load
from serifos.model import kinds
from serifos.model.queueing import cases
from serifos.model.queueing import two_stations

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CLASSES = ('random_read', 'sequential_read', 'random_write',
           'sequential_write')
STATIONS = ('cache', 'media')

_NOTHING = 1e-300

# Whose times a class has that was never measured: the same direction's
# first, then the same pattern's.
_INSTEAD = {'random_read': (1, 2, 3), 'sequential_read': (0, 3, 2),
            'random_write': (3, 0, 1), 'sequential_write': (2, 1, 0)}

Works = tuple[tuple[cases.Times, ...], ...]
"""Station → class, in the order of :data:`CLASSES` → the work of a request."""


@dataclasses.dataclass(frozen=True)
class Queueing:
    """The network of a device, for any mix of the classes.

    :param works: of many clients, or of any number
    :param works_few: the same of few clients
    :param of_class: class → its cases, in the order of :data:`CLASSES`
    :param fitted: how many coefficients there are
    :param shown: what a person reads of it
    """

    works: Works
    works_few: Works
    of_class: tuple[cases.Cases, ...]
    fitted: int
    shown: tuple[tuple[str, str], ...]

    def predict(self, load: Load) -> float:
        """µs, never negative; 0 for a count of 0."""
        if load.count == 0 or load.sum_iodepth <= 0:
            return 0.0
        return two_stations.response_us(
            load.sum_iodepth, *self.of_mix(load))

    def of_mix(self, load: Load) -> list[float]:
        """a and b of each station, a n + b being the time of n, µs."""
        return self._at(load, *mix(load))

    def p1_of(self, load: Load) -> float:
        """The share of a Load's requests that need the media."""
        shares, _ = mix(load)
        return float(sum(
            share * its.missing(load.count, max) * (
                its.p1_few if _few(its, load.sum_iodepth) else its.p1)
            for share, its in zip(shares, self.of_class)))

    def _at(self, load: Load, shares: Any, kib: Any,
            larger: Callable[[Any, Any], Any] = max) -> list[Any]:
        missing = [its.missing(load.count, larger) for its in self.of_class]
        if all(its.few is None for its in self.of_class):
            return _means(self.works, shares, missing, kib)
        few = [share * _few(its, load.sum_iodepth)
               for share, its in zip(shares, self.of_class)]
        more = [share - part for share, part in zip(shares, few)]
        return [a + b for a, b in zip(
            _means(self.works_few, few, missing, kib),
            _means(self.works, more, missing, kib))]

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """float[n, k] → float[n], as :meth:`.kinds.Predictor.many` says."""
        import numpy as np  # as above
        load = Load(*loads.T)
        return np.where(
            (load.count > 0) & (load.sum_iodepth > 0),
            two_stations.responses_us(load.sum_iodepth, *self._at(
                load, *mix(load, np.maximum), np.maximum)), 0.0)

    def classes(self, loads: npt.NDArray[np.float64]) -> list[str]:
        """As :meth:`.kinds.ClassPredictor.classes` says."""
        return classes(loads)

    def work(self, load: Load) -> float:
        return 60.0 + 2 * min(load.sum_iodepth, two_stations.LARGEST)

    @property
    def terms(self) -> int:
        return self.fitted

    def lines(self) -> list[tuple[str, str]]:
        """Such as ('cache random_read', '3.05 t·s + 183.7')."""
        return list(self.shown)


def mix(load: Load, larger: Callable[[Any, Any], Any] = max
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
    shares, _ = mix(Load(*loads.T), np.maximum)
    return [CLASSES[i] for i in np.argmax(shares, axis=0)]


def _few(its: cases.Cases, clients: Any) -> Any:
    """1 where clients are few, else 0; of a number or an array."""
    return 0.0 if its.few is None else (clients <= its.few) * 1.0


def _means(works: Works, shares: Any, missing: Any, kib: Any) -> list[Any]:
    """a and b of each station at a mix; of numbers or of arrays."""
    found = []
    at_media = [share * part for share, part in zip(shares, missing)]
    for of_class, come in zip(works, (shares, at_media)):
        for first in (0, 2):
            found.append(sum(
                share * (s * c[first] + c[first + 1])
                for share, s, c in zip(come, kib, of_class)))
    return found


def from_parameters(kind: str, parameters: Mapping[str, Any]) -> Queueing:
    """The predictor that a model file's ``parameters`` describe.

    :raises FormatError: where a station, class, term or figure is unfit
    """
    stations = cases.mapping(parameters.get('stations'), 'stations', STATIONS)
    of_class = cases.read(parameters, CLASSES)
    for name, classes in stations.items():
        for label, row in cases.mapping(classes, name, CLASSES).items():
            for term, value in cases.mapping(
                    row, f'{name} {label}', cases.KNOWN).items():
                cases.figure(f'{term} of {name} {label}', value, cases.MOST)
            cases.refuse_unbounded(label, row, of_class[label])
            of_class[label].refuse_falling(label, row, name == STATIONS[1])
    fitted = sum(bool(value) for classes in stations.values()
                 for row in classes.values() for value in row.values())
    if not fitted:
        raise errors.FormatError(
            'The stations of the model take no time at all; ' + cases.AGAIN)
    measured = {label for classes in stations.values() for label in classes}
    sources = [nearest(label, measured) for label in CLASSES]
    usual, few = (tuple(tuple(
        of_class[label].work(stations.get(name, {}).get(label, {}),
                             name == STATIONS[1], is_few)
        for label in sources) for name in STATIONS)
        for is_few in (False, True))
    return Queueing(usual, few, tuple(of_class[label] for label in sources),
                    fitted, tuple(_lines(stations, of_class)))


def nearest(label: str, measured: Collection[str]) -> str:
    """A class itself where it was measured, else whose times it takes."""
    return label if label in measured else next(
        CLASSES[i] for i in _INSTEAD[label] if CLASSES[i] in measured)


def _lines(stations: Mapping[str, Any], of_class: Mapping[str, cases.Cases]
           ) -> list[tuple[str, str]]:
    used = [name for name in STATIONS if any(
        any(row.values()) for row in stations.get(name, {}).values())]
    return [('stations', ' and '.join(used) if len(used) > 1 else
             'one (its times do not tell cache and media apart)'),
            *((f'{name} {label}{words}', text) for name in used
              for label, row in stations[name].items()
              for words, text in of_class[label].lines(
                  row, name == STATIONS[1]))]


QUEUEING = kinds.Kind(
    from_parameters, 'serifos.model.queueing.fit:fit',
    (kinds.Parameter('stations', 2, 1, 2),
     kinds.Parameter('alpha', 0.05, 0, 1, whole=False)),
    distributions=True)
"""``alpha`` is the p-value above which a term is removed."""
