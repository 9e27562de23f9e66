# SPDX-License-Identifier: Apache-2.0
"""The distribution of the response times of a workload's reads or writes.

Cumulative shares at times of which four are a doubling, so that each is 19 %
above the one before: what tells two sorts of requests apart, one of which
takes twice as long or more, in some hundred bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import itertools
import math
from typing import Any

from serifos import errors
from serifos.facts import fields

NAMES = {'read': 'read_distribution', 'write': 'write_distribution'}
"""What a workload's are called in a dataset."""

PER_DOUBLING = 4

_PLACES = 4       # of a share, and so 1 request of 10,000
_LEAST_US = 1e-3
_MOST_US = 1e12


@dataclasses.dataclass(frozen=True)
class Distribution:
    """Cumulative shares of the requests.

    :param first: the first time is 2^(first / 4) µs, each next one 19 % more
    :param shares: of the requests, how many took so long or less, from 0 to
        1; the last is 1
    """

    first: int
    shares: tuple[float, ...]

    @property
    def ends_us(self) -> tuple[float, ...]:
        """The times at which the shares are."""
        return tuple(end_us(self.first + i) for i in range(len(self.shares)))

    @property
    def within(self) -> tuple[float, ...]:
        """The share between each time and the one before."""
        return (self.shares[0], *(b - a for a, b in itertools.pairwise(
            self.shares)))

    @classmethod
    def of(cls, requests: Mapping[int, int]) -> Distribution | None:
        """From how many requests are of each :func:`interval`.

        A share of less than 1 in 20,000 at either end is not kept.

        :return: None where there is no request
        """
        total = sum(requests.values())
        if not total:
            return None
        first, last = min(requests), max(requests)
        shares = [round(done / total, _PLACES) for done in
                  itertools.accumulate(requests.get(i, 0) for i in range(
                      first, last + 1))]
        begin = next(i for i, share in enumerate(shares) if share > 0)
        end = shares.index(1.0)
        return cls(first + begin, tuple(shares[begin:end + 1]))

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Distribution:
        """A validated ``read_distribution`` of a dataset.

        :raises FormatError: where the shares fall, or the last is not 1
        """
        shares = tuple(map(float, doc['shares']))
        if shares[-1] != 1 or any(
                b < a for a, b in itertools.pairwise(shares)):
            raise errors.FormatError(
                'the shares of a distribution are cumulative, so that they '
                'never fall and end with 1')
        return cls(round(_number(doc['from_us'])), shares)

    def to_json(self) -> dict[str, Any]:
        return {'from_us': float(f'{end_us(self.first):.6g}'),
                'shares': list(self.shares)}


def of_seen(saw: Mapping[str, Any], name: str) -> Distribution | None:
    """The one of a workload's reads or writes, None where there is none.

    :param saw: as in a dataset
    :param name: read or write
    """
    doc = saw.get(NAMES[name])
    return None if doc is None else Distribution.from_json(doc)


def refuse_wrong(saw: Mapping[str, Any]) -> None:
    """:raises FormatError: where a distribution of a workload is none"""
    for name in NAMES:
        of_seen(saw, name)


def interval(us: float) -> int:
    """The number of the interval that a time is in, its end included."""
    return math.ceil(_number(us))


def _number(us: float) -> float:
    return PER_DOUBLING * math.log2(min(max(us, _LEAST_US), _MOST_US))


def end_us(number: int) -> float:
    """The longest time of an interval, µs."""
    return 2.0 ** (number / PER_DOUBLING)


def of_bins(bins: fields.Field) -> Distribution | None:
    """That of fio's ``bins``: nanoseconds as text → requests.

    :return: None where there is none, as without ``json+``
    :raises Exception: of the field, where a time or a number is none
    """
    if bins.value is None:
        return None
    requests: dict[int, int] = {}
    for name, number in bins.pairs():
        if not (name.isascii() and name.isdigit() and len(name) < 19):
            raise bins.wrong('requests by their nanoseconds')
        at = interval(int(name) / 1000)
        requests[at] = requests.get(at, 0) + number.whole(0, 2 ** 53)
    return Distribution.of(requests)
