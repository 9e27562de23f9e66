# SPDX-License-Identifier: Apache-2.0
"""Reading and writing of a tenant model's ``parameters``.

Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from serifos import errors
from serifos.facts import fields
from serifos.model.tenant.arithmetic import Arithmetic
from serifos.model.tenant.arithmetic import Number
from serifos.model.tenant import inputs

FIGURES = {'latency_us': 'all',
           'read_latency_us': 'read', 'read_p99_us': 'read',
           'write_latency_us': 'write', 'write_p99_us': 'write'}
"""What a model predicts → the requests that it is about."""

_OFFSET = 'offset'
# So that a prediction of any Load is finite, and so is its square.
_MOST, _STEEPEST, _GREATEST = 1e6, 1e3, 1e9
# The part of their own queue that files of former releases do not have: none.
_FORMER = {name: {_OFFSET: -_MOST} for name in inputs.OWN[inputs.QUEUE]}
_TREND = {'half_q': (1e-6, _GREATEST), 'sharpness': (1.0, 1e4)}

_LONGEST = 50.0  # the log of a part in µs


def figure_of(predicts: str) -> str | None:
    """``all``, ``read`` or ``write``; None of what no tenant sees."""
    return FIGURES.get(predicts)


def document(offset: float,
             terms: Iterable[tuple[str, float]]) -> dict[str, float]:
    """A sum as a model file states it: six digits, no zeros."""
    return {_OFFSET: _short(offset), **{
        name: _short(slope) for name, slope in terms if _short(slope)}}


def _short(value: float) -> float:
    return float(f'{value:.6g}') if abs(value) > 1e-5 else 0.0


def read(doc: Mapping[str, Any]
         ) -> tuple[str, dict[str, float], float, tuple[Member, ...]]:
    """The figure, the trend, the noise, the networks.

    :raises FormatError: where something is missing or not a number
    """
    figure, networks = doc.get('figure'), doc.get('members')
    if figure not in FIGURES.values():
        raise _refused('figure', 'must be all, read or write')
    if not isinstance(networks, list) or not networks:
        raise _refused('members', 'must be a list of networks')
    return (figure, _trend(doc),
            _number(doc, 'noise', 0.0, _STEEPEST),
            tuple(map(_member, networks)))


def _trend(doc: Mapping[str, Any]) -> dict[str, float]:
    its = doc.get('trend')
    if not isinstance(its, Mapping) or set(its) != set(inputs.TREND):
        raise _refused('trend', f'must name {", ".join(inputs.TREND)}')
    return {name: _number(its, name, *_TREND.get(name, (0.0, _GREATEST)))
            for name in inputs.TREND}


def _member(doc: Any) -> Member:
    if not isinstance(doc, Mapping) or not isinstance(
            doc.get('units'), list) or not isinstance(
            doc.get('parts'), Mapping) or set(
            inputs.OWN) != {*doc['parts'], *_FORMER}:
        raise _refused('members', 'must have units, and the parts '
                       + ', '.join(inputs.OWN))
    parts = {**_FORMER, **doc['parts']}
    every = [*inputs.INPUTS, *(str(i) for i in range(len(doc['units'])))]
    return Member(
        tuple(_sum(one, inputs.INPUTS) for one in doc['units']),
        tuple(_sum(parts[name], every) for name in inputs.OWN))


def _sum(doc: Any, names: Sequence[str]) -> Sum:
    if not isinstance(doc, Mapping) or not set(doc) <= {_OFFSET, *names}:
        raise _refused('members', 'must be sums over '
                       f'{", ".join(inputs.INPUTS)} and the units')
    return Sum(_number(doc, _OFFSET, -_MOST, _MOST), tuple(
        (i, _number(doc, name, 0.0, _STEEPEST))
        for i, name in enumerate(names) if name in doc))


def _number(doc: Mapping[str, Any], name: str, least: float,
            greatest: float) -> float:
    value = doc.get(name)
    if not fields.is_number(value, least, greatest):
        raise _refused(name, f'is not a number from {least:g} to '
                       f'{greatest:g}')
    return float(value)


def _refused(name: str, why: str) -> errors.FormatError:
    return errors.FormatError(
        f'The {name} of a tenant model {why}; fit it again with '
        'serifos-model fit.')


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
            (bounded if i % 2 else bent)(unit(inputs), of)
            for i, unit in enumerate(self.units))]
        return [part(one(every), of) for one in self.parts]

    @property
    def work(self) -> float:
        """About how many multiplications :meth:`values` takes."""
        return float(sum(len(one.terms) + 4
                         for one in (*self.units, *self.parts)))


def bent(value: Number, of: Arithmetic) -> Number:
    """log(1 + exp(value)), which goes on to rise."""
    up = of.larger(value, 0.0)
    return up + of.log(1 + of.exp(value - 2 * up))


def bounded(value: Number, of: Arithmetic) -> Number:
    """tanh(value)."""
    return 1 - 2 / (of.exp(of.smaller(2 * value, _LONGEST)) + 1)


def part(log: Number, of: Arithmetic) -> Number:
    """A part of its log, µs."""
    return of.exp(of.smaller(log, _LONGEST))
