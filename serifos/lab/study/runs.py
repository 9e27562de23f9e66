# SPDX-License-Identifier: Apache-2.0
"""The runs of a study: few that are D-optimal for its terms, or the paper's.

Of one workload the 660 patterns of Eq. 3-5 of [1]_ are the candidates, and of
several each ordered choice of its write ratios and block sizes: with terms of
their own (Table 5) the first workload is not the second.

.. [1] Yao, Papapanagiotou, Griffith: Serifos: Workload Consolidation and
   Load Balancing for SSD Based Cloud Storage Systems, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import itertools

import numpy as np
import numpy.typing as npt

from serifos.design import d_optimal
from serifos.design import design
from serifos.design import full
from serifos.design import random_runs
from serifos import errors
from serifos.facts.dataset import Condition
from serifos.facts import fields
from serifos.model import conditions

TOGETHER = design.Space(
    write_pcts=full.STUDY.write_pcts, block_kibs=full.STUDY.block_kibs,
    counts=(2,))
"""Of workloads that run together: 66 patterns, so 4,356 ordered pairs."""

RUNS = 40
"""Runs of each count that a study makes where nobody says how many."""

RUNS_A_TERM = 4
"""Those of one workload for each term of the polynomial, where conditions
vary, too; without them they are 40."""

Pair = tuple[design.Run, Condition]
"""A run and the condition that it is made under."""

_ALWAYS = (Condition(),)

_MOST = 1000  # the exchange grows with the third power
_CANDIDATES_PER_RUN = 20


def vectors(count: int) -> design.Space:
    """The vectors of the paper's study of so many workloads (Eq. 3-5)."""
    return dataclasses.replace(full.STUDY if count == 1 else TOGETHER,
                               counts=(count,))


def terms(count: int, space: design.Space,
          conditions: Sequence[Condition] = _ALWAYS) -> int:
    """How many terms the largest model of so many workloads has."""
    runs = [((one,) * count, conditions[0]) for one in space.patterns]
    return _rows([*runs, *((runs[0][0], one) for one in conditions)]).shape[1]


def refuse_few(spaces: Sequence[design.Space], sampled: int,
               conditions: Sequence[Condition]) -> None:
    """:raises InputError: where random runs are too few for the terms"""
    for space in spaces:
        for count in space.counts:
            has = terms(count, space, tuple(conditions) or _ALWAYS)
            fields.refuse_outside('--sampled', sampled, has + 2,
                                  random_runs.MOST)


def some(spaces: Sequence[design.Space], number: int | None,
         sampled: int | None, seed: int) -> list[design.Run]:
    """As many runs of each space: the short ones, or random ones.

    :param number: how many short ones, as many as :data:`RUNS` says where
        None
    :param sampled: how many random ones instead
    :raises InputError: as :func:`short` does
    """
    return [run for run, _ in pairs(spaces, number, sampled, seed, ())]


def pairs(spaces: Sequence[design.Space], number: int | None,
          sampled: int | None, seed: int,
          conditions: Sequence[Condition]) -> list[Pair]:
    """The same, each with one of the conditions."""
    among = tuple(conditions) or _ALWAYS
    rng = np.random.default_rng([seed, 1])
    if sampled is not None:
        return [(run, among[int(rng.integers(len(among)))])
                for space in spaces
                for run in random_runs.runs(sampled, space, seed)]
    return [pair for space in spaces for pair in _short(
        space, number, seed, among)]


def short(space: design.Space, number: int,
          seed: int) -> tuple[design.Run, ...]:
    """D-optimal runs for the terms of the study, of each count.

    Every fifth is drawn at random instead: those that are D-optimal for
    linear terms are at the ends of the vectors, where it would not show that
    something between is not linear.

    :param number: how many of each count
    :raises InputError: where these are too few, or more than there are
    """
    return tuple(run for run, _ in _short(space, number, seed, _ALWAYS))


def _short(space: design.Space, number: int | None, seed: int,
           conditions: Sequence[Condition]) -> list[Pair]:
    rng = np.random.default_rng(seed)
    return [pair for count in sorted(set(space.counts))
            for pair in _of_count(space, count, number, rng, conditions)]


def _of_count(space: design.Space, count: int, number: int | None,
              rng: np.random.Generator,
              conditions: Sequence[Condition]) -> list[Pair]:
    has = terms(count, space, conditions)
    if number is None:
        number = max(RUNS, RUNS_A_TERM * has) if count == 1 else RUNS
    fields.refuse_outside('--runs', number, has + 2, _MOST)
    candidates = [
        (run, one) for run in _candidates(space, count, number, rng)
        for one in conditions]
    if len(candidates) < number:
        raise errors.InputError(
            f'The vectors hold {len(candidates)} different runs of {count} '
            f'workload{"s" * (count > 1)}, fewer than {number}; ask for '
            'fewer by --runs, or give longer lists.')
    inside = number // 5
    chosen = d_optimal.exchange(_rows(candidates), number - inside, rng)
    others = np.setdiff1d(np.arange(len(candidates)), chosen)
    picked = [*chosen, *rng.choice(others, inside, replace=False)]
    return [candidates[i] for i in rng.permutation(picked)]


def _candidates(space: design.Space, count: int, number: int,
                rng: np.random.Generator) -> list[design.Run]:
    patterns = space.patterns
    enough = _CANDIDATES_PER_RUN * number
    if count == 1 or len(patterns) ** count <= enough:
        return list(itertools.product(patterns, repeat=count))
    found = dict.fromkeys(
        tuple(each) for each in rng.integers(
            len(patterns), size=(enough, count)).tolist())
    return [tuple(patterns[i] for i in each) for each in found]


def _rows(pairs: Sequence[Pair]) -> npt.NDArray[np.float64]:
    """float[n, terms]: the terms of each run, its factors from -1 to 1."""
    runs = [run for run, _ in pairs]
    alone = len(runs[0]) == 1
    factors = np.array([
        [value for w in run for value in (
            (w.write_pct, w.random_pct, w.block_kib) if alone
            else (w.write_pct, w.block_kib))] for run in runs])
    varied = conditions.of([one for _, one in pairs])
    if varied is not None:
        moving = np.ptp(varied.values, axis=0) > 0
        factors = np.column_stack([factors, varied.values[:, moving]])
    low, high = factors.min(axis=0), factors.max(axis=0)
    scaled = (2 * factors - low - high) / np.where(high > low, high - low, 1)
    columns = [np.ones(len(runs)), *scaled.T]
    if alone:
        columns += [
            one * other for one, other
            in itertools.combinations_with_replacement(scaled.T, 2)
            if one is not other or len(np.unique(one)) > 2]
    return np.column_stack(columns)


def number(space: design.Space, count: int) -> int:
    """How many ordered runs of so many workloads a space has."""
    return space.size ** count


def all_pairs(spaces: Sequence[design.Space],
              conditions: Sequence[Condition], seed: int) -> list[Pair]:
    """Every ordered run of each space under every condition.

    In a random order, so that what drifts is no effect of a condition.
    """
    found = [(run, one) for space in spaces for run in every(space)
             for one in conditions]
    order = np.random.default_rng(seed).permutation(len(found))
    return [found[i] for i in order]


def every(space: design.Space) -> Iterator[design.Run]:
    """Every ordered run of a space, by count."""
    for count in sorted(set(space.counts)):
        yield from itertools.product(space.patterns, repeat=count)
