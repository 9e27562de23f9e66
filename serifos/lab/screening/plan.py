# SPDX-License-Identifier: Apache-2.0
"""The runs of a screening, and the responses of those made."""

from __future__ import annotations

import collections
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import random
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.lab.screening import design as screening
from serifos.lab.screening import effects
from serifos.lab.screening import journal
from serifos.lab.screening.levels import Levels

Rows = Sequence[Mapping[str, str]]

Wanted = tuple[Mapping[str, str], int]
"""Levels of every parameter, and which repeat of them it is."""


@dataclasses.dataclass(frozen=True)
class ResponseScale:
    """The response and its scale.

    :param response: one of :data:`serifos.lab.screening.journal.RESPONSES`
    :param log: whether effects are factors, not differences
    """

    response: str
    log: bool


@dataclasses.dataclass(frozen=True)
class Middle:
    """A middle level whose response is not between those of the ends."""

    name: str
    level: str
    others: str
    low: float
    middle: float
    high: float

    @property
    def words(self) -> str:
        return (f'{self.name} is not monotone: with the other key '
                f'parameters {self.others} the response is {self.low:.4g}, '
                f'then {self.middle:.4g} at {self.level}, then '
                f'{self.high:.4g}; it is split there, and its halves are '
                'listed as effects of their own.')


@dataclasses.dataclass(frozen=True)
class Half:
    """A part of a parameter's range, where the whole is not monotone.

    :param effect: mean response at its high level less that at its low
    """

    name: str
    low: str
    high: str
    effect: float
    interval: tuple[float, float]
    p_value: float


def rows(space: Levels, names: Sequence[str],
         design: screening.Signs) -> list[dict[str, str]]:
    """The levels of each run of a design; other parameters low or held."""
    return [space.run({name: space.varied[name][int(sign > 0)]
                       for name, sign in zip(names, signs)})
            for signs in design]


def wanted(levels: Rows, rounds: int, seed: int) -> list[Wanted]:
    """Every run of every round, in a random order each round.

    What drifts in the meantime then looks like noise, not like an effect.
    """
    found: list[Wanted] = []
    numbers = _numbers(levels, rounds)
    for number in range(1, rounds + 1):
        order = [*range(len(levels))]
        random.Random(f'{seed} {number}').shuffle(order)
        found += [(levels[i], numbers[i][number - 1]) for i in order]
    return found


def distinct(levels: Rows) -> list[Mapping[str, str]]:
    """Each of these runs once."""
    return [*{journal.key(row, 0): row for row in levels}.values()]


def _numbers(levels: Rows, rounds: int) -> list[list[int]]:
    """The repeat number of each run of a round, by its levels.

    Where few parameters vary, a design has the same levels several times.
    """
    names = [journal.key(row, 0) for row in levels]
    often, before = collections.Counter(names), collections.Counter[Any]()
    found = []
    for name in names:
        before[name] += 1
        found.append([before[name] + often[name] * i for i in range(rounds)])
    return found


def rounds(levels: Rows, made: Sequence[journal.ScreeningRun]) -> int:
    """In how many rounds every one of these runs was made, 1 at least."""
    done = {run.key for run in made}
    found = 1
    while all(journal.key(row, numbers[-1]) in done for row, numbers
              in zip(levels, _numbers(levels, found + 1))):
        found += 1
    return found


def missing(wanted: Sequence[Wanted], made: Sequence[journal.ScreeningRun]
            ) -> tuple[Wanted, ...]:
    """The runs that are wanted and not made, each once."""
    done = {run.key for run in made}
    found = {journal.key(*one): one for one in wanted}
    return tuple(one for name, one in found.items() if name not in done)


def middles(space: Levels, names: Sequence[str]
            ) -> Iterator[tuple[str, str, int, Rows]]:
    """For each number among key parameters: its low, middle and high runs.

    Twice: with the other key parameters low, and with them high.

    :returns: (name, middle level, other keys' level 0 or 1, three runs)
    """
    for name in names:
        middle = space.middle(name)
        if middle is None:
            continue
        for side in (0, 1):
            others = {n: space.varied[n][side] for n in names if n != name}
            low, high = space.varied[name]
            yield name, middle, side, [
                space.run({**others, name: level})
                for level in (low, middle, high)]


def responses(levels: Rows, rounds: int, made: Sequence[journal.ScreeningRun],
              how: ResponseScale) -> npt.NDArray[np.float64]:
    """float[n, rounds] of runs in the order of their levels.

    :raises InputError: where a run is missing
    """
    seen = {run.key: run.seen[how.response] for run in made}
    names = [[journal.key(row, number) for number in numbers]
             for row, numbers in zip(levels, _numbers(levels, rounds))]
    lacking = {one for row in names for one in row if one not in seen}
    if lacking:
        raise errors.InputError(
            f'{len(lacking)} of the {len(levels) * rounds} runs are '
            'missing, and effects take all of them; run the same command '
            'again, or hold by --levels what does not run here.')
    found = np.array([[seen[one] for one in row] for row in names])
    return np.log(found) if how.log else found


def turning(space: Levels, names: Sequence[str], rounds: int,
            made: Sequence[journal.ScreeningRun], how: ResponseScale,
            noise: float) -> list[Middle]:
    """The key parameters whose middle level is not between their ends."""
    found = []
    for name, middle, side, three in middles(space, names):
        low, between, high = responses(three, rounds, made, how).mean(axis=1)
        if effects.not_between(low, between, high, noise / rounds ** 0.5):
            found.append(Middle(
                name, middle, ('low', 'high')[side],
                *(float(np.exp(v) if how.log else v)
                  for v in (low, between, high))))
    return found


def halves(space: Levels, names: Sequence[str], rounds: int,
           made: Sequence[journal.ScreeningRun], how: ResponseScale,
           noise: float, only: Collection[str]) -> list[Half]:
    """The two halves of key parameters, split at their middle level.

    The effect of each is the mean of both sides that :func:`middles` makes.

    :param names: the key parameters
    :param noise: standard deviation of a single run
    :param only: those of them to split
    """
    found = []
    for name in (name for name in names if name in only):
        sides = np.array([
            responses(three, rounds, made, how).mean(axis=1)
            for one, *_, three in middles(space, names) if one == name])
        low, high = space.varied[name]
        levels = (low, space.middle(name) or high, high)
        error = noise * (2 / (len(sides) * rounds)) ** 0.5
        found += [Half(name, start, end, *effects.of_difference(step, error))
                  for (start, end), step in zip(itertools.pairwise(levels),
                                                np.diff(sides.mean(axis=0)))]
    return found
