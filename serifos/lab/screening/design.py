# SPDX-License-Identifier: Apache-2.0
"""Two-level designs that screen many parameters with few runs.

A Plackett-Burman design [1]_ of N runs takes up to N - 1 parameters at two
levels each: every column is orthogonal to every other, so that N runs
estimate every main effect as well as N runs for that one would. This assumes
that interactions are weak (they are spread over the main effects; the
foldover frees these of those of two parameters), and a response is monotone
between the two levels.

.. [1] R. L. Plackett, J. P. Burman: The Design of Optimum Multifactorial
   Experiments. Biometrika 33 (1946). Used for storage benchmarks by
   N. Park, W. Xiao, K. Choi, D. J. Lilja: A Statistical Evaluation of the
   Impact of Parameter Selection on Storage System Benchmarks.
"""

from __future__ import annotations

from collections.abc import Sequence
import itertools

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.lab.screening import effects

Signs = npt.NDArray[np.int8]
"""A row for each run, a column for each parameter: -1 is low, 1 high."""

SIZES = tuple(range(4, 49, 4))
"""Runs of a design."""

MOST_KEYS = 6
"""Key parameters at most: their full factorial has 64 runs then."""


def plackett_burman(runs: int) -> Signs:
    """The design of N runs; the last one has every parameter low.

    By Paley's first construction where N - 1 is a prime that leaves 3
    divided by 4 (of 12 runs it is the matrix that [1]_ prints), by his
    second where N/2 - 1 is one that leaves 1, else by doubling N/2.

    :returns: int8[N, N - 1], of orthogonal columns that each sum to 0
    :raises InputError: where N is none of :data:`SIZES`
    """
    if runs not in SIZES:
        raise errors.InputError(
            f'There is no Plackett-Burman design of {runs} runs here; give '
            f'a multiple of 4 from {SIZES[0]} to {SIZES[-1]}.')
    if _is_prime(runs - 1) and runs % 4 == 0:
        return np.vstack([_residues(runs - 1, at_zero=1),
                          -np.ones((1, runs - 1), np.int8)])
    square = _hadamard(runs)
    square = square * square[:, :1]
    design = square[:, 1:] * -square[-1:, 1:]
    return design.astype(np.int8)


def smallest(parameters: int) -> int:
    """The runs of the smallest design for this many parameters.

    :raises InputError: where none does
    """
    for size in SIZES:
        if size > parameters >= 1:
            return size
    raise errors.InputError(
        f'{parameters} parameters cannot be screened; give 1 to '
        f'{SIZES[-1] - 1}.')


def of(parameters: int, runs: int | None) -> Signs:
    """The design of N runs for this many parameters.

    :param runs: None for the smallest
    :raises InputError: where there is none, or it is too small
    """
    least = smallest(parameters)
    design = plackett_burman(least if runs is None else runs)
    if len(design) < least:
        raise errors.InputError(
            f'{runs} runs are too few for {parameters} parameters; give '
            f'--runs {least} or more.')
    return design


def foldover(design: Signs) -> Signs:
    """The design, and each of its runs with every level reversed.

    Main effects are then free of the interactions of two parameters.
    """
    return np.vstack([design, -design])


def full_factorial(parameters: int) -> Signs:
    """int8[2^k, k]: every combination of levels, all low first."""
    return np.array([*itertools.product((-1, 1), repeat=parameters)],
                    np.int8).reshape(-1, parameters)


def with_interactions(design: Signs, names: Sequence[str]
                      ) -> tuple[Signs, tuple[str, ...]]:
    """A full factorial's columns and those of all interactions, named."""
    sets = [columns for size in range(1, len(names) + 1)
            for columns in itertools.combinations(range(len(names)), size)]
    return (np.stack([design[:, list(s)].prod(axis=1) for s in sets], axis=1)
            .astype(np.int8),
            tuple(' × '.join(names[i] for i in s) for s in sets))


def keys(ranked: Sequence[effects.Effect], share: float = 0.5,
         most: int = MOST_KEYS) -> tuple[str, ...]:
    """The fewest parameters that explain this share of the variation.

    :param ranked: the effects, the greatest first
    :param most: how many at most, whatever they explain
    """
    found, explained = [], 0.0
    for effect in ranked[:most]:
        if explained >= share:
            break
        found.append(effect.name)
        explained += effect.share
    return tuple(found)


def _hadamard(size: int) -> npt.NDArray[np.int64]:
    half = size // 2
    if _is_prime(half - 1) and (half - 1) % 4 == 1:
        conference = np.ones((half, half), np.int64)
        conference[1:, 1:] = _residues(half - 1, at_zero=0)
        conference[0, 0] = 0
        return (np.kron(conference, [[1, 1], [1, -1]])
                + np.kron(np.eye(half, dtype=np.int64), [[1, -1], [-1, -1]]))
    smaller = np.ones((half, half), np.int64)
    smaller[:, 1:] = plackett_burman(half)
    return np.kron([[1, 1], [1, -1]], smaller)


def _residues(prime: int, at_zero: int) -> Signs:
    """int8[q, q]: 1 where column - row is a square modulo q, else -1."""
    squares = {i * i % prime for i in range(1, prime)}
    row = np.array([at_zero, *(1 if i in squares else -1
                               for i in range(1, prime))], np.int8)
    return np.stack([np.roll(row, i) for i in range(prime)])


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % i for i in range(
        2, int(number ** 0.5) + 1))
