# SPDX-License-Identifier: Apache-2.0
"""Prediction of what each tenant of a pool sees, and of their mean.

Standard library only: cinder-scheduler loads this module. A tenant whose
requests are writes by w, of s KiB, sees

    (1 - w) (a + b √s + c s) + w (d + e √s + f s) + g q (1 + s / 64 KiB),

with q of its own outstanding, and a to g rise with the Load of its pool. So
the mean over any tenants needs only the sums of their factors, and these are
fields of a Load.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import operator
from typing import Any
from typing import TYPE_CHECKING

from serifos.facts.workload import FEATURES
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model import kinds
from serifos.model.tenant import arithmetic
from serifos.model.tenant.arithmetic import Arithmetic
from serifos.model.tenant.arithmetic import Number
from serifos.model.tenant.arithmetic import NUMBERS
from serifos.model.tenant import inputs
from serifos.model.tenant import parameters

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from serifos.model.tenant import networks

_AT_ONCE = 4096  # rows that stay in a processor's cache
_FEW = 512  # rows, up to which calls of numpy cost more than what they do
_INPUT_WORK = 190.0
_APART = 2.0  # networks of one form err alike, so by more than they differ

_NONE = 1e-9
_LOAD, _OWN = len(inputs.FIELDS), len(inputs.OWN_FIELDS)
_FIELDS = (*inputs.FIELDS, *inputs.OWN_FIELDS)
_COLUMNS = [FEATURES.index(name) for name in _FIELDS]


@dataclasses.dataclass(frozen=True)
class Tenants:
    """The mean of several networks.

    :param figure: what is predicted: the latency of all requests (``all``),
        of reads (``read``) or of writes (``write``)
    :param trend: the coefficients of the trend
    :param noise: standard deviation of a log latency about the mean
    """

    figure: str
    trend: Mapping[str, float]
    noise: float
    members: tuple[parameters.Member, ...]

    def predict(self, load: Load) -> float:
        """The mean over the tenants of a Load, 0 for a count of 0.

        That of reads, or of writes, takes each tenant once.
        """
        return self._mean(_sums(load), NUMBERS) if load.count else 0.0

    def tenant(self, load: Load, workload: Workload) -> kinds.Seen:
        """As :meth:`.kinds.TenantPredictor.tenant` says."""
        parts = self._parts(_sums(load), NUMBERS)
        if self.figure != 'all':
            own, number = self._own(workload)
            seen = _dot(parts, own) / number if number else None
            return kinds.Seen(seen, *(seen if self.figure == name else None
                                      for name in ('read', 'write')))
        own = inputs.own_of(workload)
        queue = _dot(parts[inputs.QUEUE], own[inputs.QUEUE])
        return kinds.Seen(_dot(parts, own), *(
            _dot(parts[which], own[which]) / own[which.start] + queue
            if own[which.start] else None
            for which in (inputs.READS, inputs.WRITES)))

    def means(self, load: Load,
              several: Iterable[Load]) -> list[float]:
        """As :meth:`.kinds.TenantPredictor.means` says."""
        parts = self._parts(_sums(load), NUMBERS)
        found = []
        for their in several:
            own, number = inputs.of_figure(
                self.figure, _sums(their)[_LOAD:], NUMBERS)
            found.append(_dot(parts, own) / max(number, _NONE))
        return found

    def many(self, loads: npt.NDArray[np.float64]
             ) -> npt.NDArray[np.float64]:
        """As :meth:`.kinds.Predictor.many` says."""
        return _in_pieces(self._mean, loads)

    def tenants(self, loads: npt.NDArray[np.float64],
                own: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """As :meth:`.kinds.TenantPredictor.tenants` says."""
        return _in_pieces(self._of_others, loads, own)

    def parts(self, loads: npt.NDArray[np.float64]
              ) -> npt.NDArray[np.float64]:
        """As :meth:`.kinds.TenantPredictor.parts` says."""
        import numpy as np  # the scheduler, which has none, never calls this
        of, columns = arithmetic.arrays(), _columns(loads, _COLUMNS[:_LOAD])
        found = np.empty((len(loads), len(inputs.OWN)))
        for first in range(0, len(loads), _AT_ONCE):
            piece = slice(first, first + _AT_ONCE)
            for part, each in enumerate(self._parts(
                    list(columns[:, piece]), of)):
                found[piece, part] = each  # one number where nothing slopes
        return found

    def factors(self, own: npt.NDArray[np.float64]
                ) -> npt.NDArray[np.float64]:
        """As :meth:`.kinds.TenantPredictor.factors` says."""
        import numpy as np  # the scheduler, which has none, never calls this
        its, number = inputs.of_figure(
            self.figure, list(_columns(own, _COLUMNS[_LOAD:])),
            arithmetic.arrays())
        return np.column_stack(its) / np.maximum(number, _NONE)[:, None]

    def log_std(self, load: Load) -> float:
        """The standard deviation of the log latency of a new run."""
        return self._log_std(_sums(load), NUMBERS) if load.count else 0.0

    def log_std_many(self, loads: npt.NDArray[np.float64]
                     ) -> npt.NDArray[np.float64]:
        """The same for many Loads, as :meth:`many` reads them: float[n]."""
        return _in_pieces(self._log_std, loads)

    def tenant_log_std(self, load: Load, workload: Workload) -> float:
        """The same of the latency that one workload sees."""
        return self._spread(_sums(load), self._own(workload)[0], NUMBERS)

    def tenants_log_std(self, loads: npt.NDArray[np.float64],
                        own: npt.NDArray[np.float64]
                        ) -> npt.NDArray[np.float64]:
        """As :meth:`.kinds.TenantPredictor.tenants_log_std` says."""
        return _in_pieces(self._std_of_others, loads, own)

    @functools.cached_property
    def _networks(self) -> networks.Networks:
        # It needs numpy, which the scheduler that never calls this lacks.
        from serifos.model.tenant import networks
        return networks.Networks.of(self.members)

    def _own(self, workload: Workload
             ) -> tuple[list[float], float]:
        return inputs.of_figure(
            self.figure, inputs.sums_of(workload), NUMBERS)

    def _each(self, sums: Sequence[Number],
              of: Arithmetic) -> Iterable[Sequence[Number]]:
        """The parts of each network, of numbers or of arrays."""
        values = inputs.of_load(sums[:_LOAD], self.trend, of)
        if of is NUMBERS or len(values[0]) > _FEW:
            return [one.values(values, of) for one in self.members]
        return self._networks.values(values)

    def _parts(self, sums: Sequence[Number],
               of: Arithmetic) -> list[Number]:
        """The mean of the networks."""
        return [functools.reduce(operator.add, several) / len(self.members)
                for several in zip(*self._each(sums, of))]

    def _mean(self, sums: Sequence[Number],
              of: Arithmetic) -> Number:
        own, number = inputs.of_figure(self.figure, sums[_LOAD:], of)
        return _dot(self._parts(sums, of), own) / of.larger(number, _NONE)

    def _of_others(self, sums: Sequence[Number],
                   of: Arithmetic) -> Number:
        return self._mean([*sums[:_LOAD], *sums[_LOAD + _OWN:]], of)

    def _std_of_others(self, sums: Sequence[Number],
                       of: Arithmetic) -> Number:
        return self._log_std([*sums[:_LOAD], *sums[_LOAD + _OWN:]], of)

    def _log_std(self, sums: Sequence[Number],
                 of: Arithmetic) -> Number:
        own, _ = inputs.of_figure(self.figure, sums[_LOAD:], of)
        return self._spread(sums, own, of)

    def _spread(self, sums: Sequence[Number], own: Sequence[Number],
                of: Arithmetic) -> Number:
        """By the noise, and by how far the networks are apart."""
        found = [_dot(parts, own) for parts in self._each(sums, of)]
        middle = sum(found) / len(found)
        apart = sum((one - middle) * (one - middle) for one in found)
        return of.sqrt(self.noise ** 2 + _APART ** 2 * apart / len(found)
                       / of.larger(middle * middle, _NONE))

    def work(self, load: Load) -> float:
        return _INPUT_WORK + sum(one.work for one in self.members)

    @property
    def terms(self) -> int:
        return sum(len(one.terms) for net in self.members
                   for one in (*net.units, *net.parts)) // len(self.members)

    def lines(self) -> list[tuple[str, str]]:
        return [('latency', '(1 - w) (a + b √s + c s) + w (d + e √s + f s) '
                 '+ g q (1 + s / 4); w: share of writes, s: block / 16 KiB, '
                 'q: own outstanding requests / 8; a to g rise with the load '
                 'of the pool'),
                ('networks', f'{len(self.members)} of '
                 f'{len(self.members[0].units)} units, noise '
                 f'{100 * self.noise:.1f} %')]


def _sums(load: Load) -> tuple[float, ...]:
    return tuple(getattr(load, name) for name in _FIELDS)


def _dot(parts: Sequence[Number],
         own: Sequence[Number]) -> Number:
    total = 0.0
    for part, factor in zip(parts, own):
        total = total + part * factor
    return total


def _in_pieces(
        function: Callable[[Sequence[Number], Arithmetic], Number],
        *rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    import numpy as np  # the scheduler, which has none, never calls this
    of, found = arithmetic.arrays(), np.zeros(len(rows[0]))
    columns = np.vstack([_columns(each, _COLUMNS[_LOAD:] if i else _COLUMNS)
                         for i, each in enumerate(rows)])
    for first in range(0, len(found), _AT_ONCE):
        piece = slice(first, first + _AT_ONCE)
        found[piece] = function(list(columns[:, piece]), of)
    found[rows[-1][:, 0] == 0] = 0.0
    return found


def _columns(rows: npt.NDArray[np.float64],
             which: Sequence[int]) -> npt.NDArray[np.float64]:
    import numpy as np  # the scheduler, which has none, never calls this
    return np.ascontiguousarray(rows[:, which].T)


def from_parameters(kind: str, doc: Mapping[str, Any]) -> Tenants:
    """The predictor that a model file's ``parameters`` describe.

    :raises FormatError: where something is missing or not a number
    """
    return Tenants(*parameters.read(doc))


TENANT = kinds.Kind(from_parameters, 'serifos.model.tenant.fit:fit', (
    kinds.Parameter('units', 10, 1, 100),
    kinds.Parameter('members', 6, 1, 20)), tenants=True, devices=True)
"""``units`` are of each of the ``members``, which are networks."""
