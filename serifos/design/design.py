# SPDX-License-Identifier: Apache-2.0
"""A design: the runs of a measurement, its rounds and its time."""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import functools
import itertools
import math

from serifos import errors
from serifos.facts.dataset import Condition
from serifos.facts import fields
from serifos.facts import workload

_MOST_PATTERNS = 200_000

Run = tuple[workload.Workload, ...]
"""Workloads that run together, in no particular order."""


@dataclasses.dataclass(frozen=True)
class Space:
    """The vectors from which workloads are drawn.

    :param counts: numbers of workloads run together
    """

    write_pcts: tuple[float, ...]
    block_kibs: tuple[float, ...]
    counts: tuple[int, ...]
    iodepths: tuple[float, ...] = (workload.DEFAULT_IODEPTH,)
    random_pcts: tuple[float, ...] = (workload.DEFAULT_RANDOM_PCT,)
    think_times_us: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        for what, values, least, greatest in (
                ('write_pct', self.write_pcts, 0, 100),
                ('block_kib', self.block_kibs, 0.5, 65536),
                ('count', self.counts, 1, 64),
                ('iodepth', self.iodepths, 1, 4096),
                ('random_pct', self.random_pcts, 0, 100),
                ('think_time_us', self.think_times_us, 0, 1e7)):
            if not values:
                raise errors.InputError(
                    f'The design is empty: it needs at least one {what}.')
            for value in values:
                if not least <= value <= greatest:
                    raise errors.InputError(
                        f'{what} {value:g} cannot be run; give {least:g} to '
                        f'{greatest:.12g}.')
                if what.endswith('_pct') and value != round(value):
                    raise errors.InputError(
                        f'fio cannot run a {what} of {value:g}; give a whole '
                        'number.')
        if self.size > _MOST_PATTERNS:
            raise errors.InputError(
                f'These vectors make {self.size:,} patterns, more than the '
                f'{_MOST_PATTERNS:,} that a design can have; narrow them.')

    @property
    def size(self) -> int:
        """The number of patterns."""
        return math.prod(len(set(values)) for values in (
            self.write_pcts, self.block_kibs, self.iodepths,
            self.random_pcts, self.think_times_us))

    @property
    def patterns(self) -> tuple[workload.Workload, ...]:
        """Every workload of the space, once."""
        return tuple(
            workload.Workload(w, s, q, x, think_time_us=z)
            for w in sorted(set(self.write_pcts))
            for s in sorted(set(self.block_kibs))
            for q in sorted(set(self.iodepths))
            for x in sorted(set(self.random_pcts))
            for z in sorted(set(self.think_times_us)))


@dataclasses.dataclass(frozen=True)
class Design:
    """Runs, rounds and their times; the runs are made when first asked for.

    :param numbers: count of workloads → number of runs
    :param choose: makes the runs
    :param seconds: count of workloads → seconds of one run
    :param valid_round: the round that counts, from 1 to ``rounds``
    :param conditions: that of each run; empty where none has any
    """

    numbers: Mapping[int, int]
    choose: Callable[[], Iterable[Run]]
    seconds: Callable[[int], float]
    rounds: int = 1
    valid_round: int = 1
    conditions: tuple[Condition, ...] = ()

    def __post_init__(self) -> None:
        fields.refuse_outside('--rounds', self.rounds, 1, 1000)
        if not 1 <= self.valid_round <= self.rounds:
            raise errors.InputError(
                f'Round {self.valid_round} cannot be the one that counts: '
                f'there are rounds 1 to {self.rounds}.')

    @functools.cached_property
    def runs(self) -> tuple[Run, ...]:
        return tuple(self.choose())

    @property
    def under(self) -> Iterator[tuple[Run, Condition]]:
        """The runs with their conditions."""
        return zip(self.runs, self.conditions
                   or itertools.repeat(Condition()))

    @property
    def total(self) -> int:
        """Runs of one round."""
        return sum(self.numbers.values())

    def beginning(self, number: int) -> Design:
        """The same with only its first runs."""
        first = self.runs[:number]
        return dataclasses.replace(
            self, numbers=collections.Counter(map(len, first)),
            choose=lambda: first, conditions=self.conditions[:number])

    def hours(self, count: int | None = None) -> float:
        """Hours of measuring in all rounds, of one count or of all."""
        counts = self.numbers if count is None else (count,)
        return self.rounds * sum(
            self.numbers[n] * self.seconds(n) for n in counts) / 3600
