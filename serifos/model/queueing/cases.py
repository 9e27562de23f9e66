# SPDX-License-Identifier: Apache-2.0
"""Choose the service times of a workload class.

The paper has two cases, s1 and s2: of file sets that the cache holds and that
it does not, and of few clients, half of whose reads the cache serves, and of
more. Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
import dataclasses
import math
from typing import Any

from serifos import errors
from serifos.facts import fields
from serifos.model import kinds

TERMS = ('us_per_client_kib', 'us_per_client', 'us_per_kib', 'us')
"""c1 ... c4 of Eq. 1; with :data:`LN`, times ln f (Eq. 2-3)."""

LN = '_ln_gib'
"""Of a term that grows with the logarithm of the file set, GiB."""

CACHED = '_cached'
"""Of a term of file sets that the cache holds: the paper's case s1."""

FEW = '_few'
"""Of a term that stands in place of the one without, for few clients."""

KNOWN = tuple(term + size + few for few in ('', FEW)
              for size in ('', LN, CACHED) for term in TERMS)

_SYMBOLS = ('t·s', 't', 's', '')
_ROUNDING = 1e-9

Times = tuple[float, ...]
"""c1 ... c4 of a class at a station, the file set within them."""

MOST = 1e9
AGAIN = 'fit it again with serifos-model fit or calibrate.'


@dataclasses.dataclass(frozen=True)
class Share:
    """The share of a class's requests that need the media.

    :param p1: of many clients, or of any number
    :param p1_few: of up to ``clients``; None where there is one case
    :param most: the clients up to which it was seen
    :param volumes: how many volumes' data the cache holds, where they share
        it evenly; p1 is 1 then
    :param single: whether only runs of a single volume tell it
    """

    p1: float
    p1_few: float | None = None
    clients: float | None = None
    most: float = math.inf
    volumes: float | None = None
    single: bool = False

    @property
    def spread(self) -> Share:
        """The same where a cache seen with one volume is of all volumes."""
        return dataclasses.replace(
            self, p1=1.0, volumes=1 - self.p1) if (
                self.single and self.p1_few is None) else self

    @property
    def alone(self) -> float:
        """Of a single outstanding request."""
        if self.volumes is not None:
            return max(0.0, 1 - self.volumes)
        return self.p1 if self.p1_few is None else self.p1_few

    def stepped(self, clients: float) -> Share:
        """The same where the work steps up after so many clients.

        Where no run beyond told the share, it is taken for 1, as without
        distributions: the work is that of all requests.
        """
        return dataclasses.replace(
            self, p1=self.p1 if self.most > clients else 1.0,
            p1_few=self.p1, clients=clients)


@dataclasses.dataclass(frozen=True)
class Cases:
    """The cases of a class.

    :param gib: the size of the file set
    :param cached_gib: the largest file set of case s1, or None
    :param few: the most clients of case s1, or None
    :param p1: the share of the requests that need the media
    :param p1_few: the same of few clients
    :param cached_volumes: how many volumes' data the cache holds, or None
    """

    gib: float = 1.0
    cached_gib: float | None = None
    few: float | None = None
    p1: float = 1.0
    p1_few: float = 1.0
    cached_volumes: float | None = None

    def missing(self, volumes: Any, larger: Callable[[Any, Any], Any]) -> Any:
        """The factor of p1 where volumes share the cache evenly."""
        return 1.0 if self.cached_volumes is None else larger(
            0.0, 1 - self.cached_volumes / larger(volumes, 1.0))

    def times(self, row: Mapping[str, float], few: bool = False) -> Times:
        """The times of a request at a station.

        :param row: as in the file
        :param few: whether clients are few
        """
        def value(term: str) -> float:
            usual = row.get(term, 0.0)
            return row.get(term + FEW, usual) if few else usual
        if self.cached_gib is not None and self.gib <= self.cached_gib:
            return tuple(value(term + CACHED) for term in TERMS)
        log = math.log(max(self.gib, 1.0))
        return tuple(value(term) + value(term + LN) * log for term in TERMS)

    def work(self, row: Mapping[str, float], is_media: bool,
             few: bool = False) -> Times:
        """The same in the mean over requests that come and that do not."""
        p1 = (self.p1_few if few else self.p1) if is_media else 1.0
        return tuple(p1 * time for time in self.times(row, few))

    def refuse_falling(self, label: str, row: Mapping[str, float],
                       is_media: bool) -> None:
        """:raises FormatError: where more clients would have less work"""
        if any(few > more * (1 + _ROUNDING) for few, more in zip(
                self.work(row, is_media, True), self.work(row, is_media))):
            raise errors.FormatError(
                f'A queueing model has more work of {label} for up to '
                f'{self.few:g} clients than for more of them, so that a '
                f'device would be better for more load; {AGAIN}')

    def lines(self, row: Mapping[str, float],
              is_media: bool) -> list[tuple[str, str]]:
        """What each case that takes time is called, and what it takes."""
        both = self.times(row, True) != self.times(row) or (
            is_media and self.p1_few != self.p1)
        return [(words, kinds.formula(zip(times, _SYMBOLS)) + (
            f' (p1 {share:.3g})' if share != 1 else self._shared * is_media))
            for words, its, few in (self if both else dataclasses.replace(
                self, few=None))._each()
            for times in [its.times(row, few)] if any(times)
            for share in [
                (self.p1_few if few else self.p1) if is_media else 1.0]]

    @property
    def _shared(self) -> str:
        return '' if self.cached_volumes is None else (
            f' (p1 1 - {self.cached_volumes:.3g} / volumes)')

    def _each(self) -> list[tuple[str, Cases, bool]]:
        of_size = [('', self)]
        if self.cached_gib is not None:
            of_size = [(f', up to {self.cached_gib:g} GiB',
                        dataclasses.replace(self, gib=self.cached_gib))]
            if self.gib > self.cached_gib:
                of_size.append((f', {self.gib:g} GiB', self))
        if self.few is None:
            return [(words, its, False) for words, its in of_size]
        clients = f'{self.few:g} clients'
        return [(f'{words}, {more} {clients}', its, few)
                for words, its in of_size
                for more, few in (('up to', True), ('more than', False))]


def read(parameters: Mapping[str, Any], classes: tuple[str, ...]
         ) -> dict[str, Cases]:
    """Class → its cases, as a model file says.

    :raises FormatError: where a size, a number or a share is unfit
    """
    gib = parameters.get('file_set_gib', 1.0)
    figure('file_set_gib', gib, MOST)
    given = {}
    for name, most in (('p1', 1.0), ('p1_few', 1.0), ('few_clients',
                       MOST), ('cached_gib', MOST),
                       ('cached_volumes', MOST)):
        given[name] = mapping(
            parameters.get(name) or {}, name, classes)
        for label, value in given[name].items():
            figure(f'{name} of {label}', value, most)
    found = {}
    for label in classes:
        p1 = given['p1'].get(label, 1.0)
        found[label] = Cases(
            gib, given['cached_gib'].get(label),
            given['few_clients'].get(label), p1,
            given['p1_few'].get(label, p1),
            given['cached_volumes'].get(label))
    for label in given['p1_few']:
        _refuse_unbounded(label, found[label], 'p1_few')
    return found


def refuse_unbounded(label: str, row: Mapping[str, Any],
                     its: Cases) -> None:
    """:raises FormatError: where a case of the row has no bound"""
    if its.cached_gib is None and any(CACHED in term for term in row):
        raise errors.FormatError(
            f'A queueing model has times of {label} for file sets '
            'that a cache holds and no cached_gib, the size of the '
            f'largest of them; {AGAIN}')
    if any(term.endswith(FEW) for term in row):
        _refuse_unbounded(label, its, 'times')


def _refuse_unbounded(label: str, its: Cases, what: str) -> None:
    if its.few is None:
        raise errors.FormatError(
            f'A queueing model has {what} of {label} for few clients and no '
            f'few_clients, the largest number of them; {AGAIN}')


def mapping(doc: object, name: str,
            known: tuple[str, ...]) -> Mapping[str, Any]:
    """A part of the file, of known names only.

    :raises FormatError: where it is none, or has an unknown name
    """
    if not isinstance(doc, Mapping):
        raise errors.FormatError(
            f'A queueing model has no {name} that can be read; {AGAIN}')
    unknown = sorted(set(doc) - set(known))
    if unknown:
        raise errors.FormatError(
            f'A queueing model has no {unknown[0]} in its {name}; it may use '
            f'{", ".join(known)}.')
    return doc


def figure(name: str, value: object, most: float) -> None:
    """:raises FormatError: where it is no number from 0 to ``most``"""
    if not fields.is_number(value, 0, most):
        raise errors.FormatError(
            f'The {name} of a queueing model is {value}; it must be a number '
            f'from 0 to {most:g}: {AGAIN}')
