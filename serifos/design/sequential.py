# SPDX-License-Identifier: Apache-2.0
"""Sequential design: each run lowers the mean variance most.

After a first, D-optimal batch, each run is the one that most lowers the
variance of a Gaussian process over the Loads, in the mean over all candidates
(Cohn [1]_, section 4). Choosing the run of the largest variance, or of the
largest error, was tried and is worse: it leads to corners of the space that
are rarely used.

.. [1] D. A. Cohn: Neural Network Exploration Using Optimal Experiment
   Design. Advances in Neural Information Processing Systems 6 (1994).
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import functools
import math

import numpy as np
import numpy.typing as npt

from serifos.design import d_optimal
from serifos.design import design
from serifos.design import stopping
from serifos import errors
from serifos.facts import dataset
from serifos.facts.workload import Load

Floats = npt.NDArray[np.float64]

CORE = d_optimal.WIDE
"""The space of most tenants."""

EDGE = design.Space(
    write_pcts=(0, 100), block_kibs=(4, 1024), iodepths=(1, 64),
    random_pcts=(0, 100), counts=tuple(range(1, 17)))
"""The space of some tenants, measured less densely."""

_CANDIDATES, _EDGE_SHARE, _LIGHT_SHARE = 400, 0.25, 0.1
_PER_RUN = 3  # as in the short design

# Length scales of the process, by _place; it also has a level and slopes.
_LENGTH_SCALES = np.array([1.2, 1.2, 0.4, 0.4, 0.6, 1.5, 1.5, 0.6])
_LEVEL, _SLOPES, _NOISE = 0.1, 0.02, 0.05


@dataclasses.dataclass(frozen=True)
class Sequential:
    """Runs that are chosen one after another.

    :param space: the one asked for; None for :data:`CORE`, :data:`EDGE` and
        :data:`.d_optimal.LIGHT`
    :param most: runs that are made without a stopping rule
    """

    space: design.Space | None = None
    seed: int = 0
    first: int = stopping.FIRST
    most: int = stopping.MOST

    def __post_init__(self) -> None:
        if not d_optimal.LEAST <= self.first <= self.most:
            raise errors.InputError(
                f'{self.most} runs cannot be chosen one after another; give '
                f'{max(self.first, d_optimal.LEAST)} or more.')

    @functools.cached_property
    def candidates(self) -> tuple[design.Run, ...]:
        """Different runs, all over the space."""
        rng = np.random.default_rng(self.seed)
        edge = 0 if self.space else round(_EDGE_SHARE * _CANDIDATES)
        light = 0 if self.space else round(_LIGHT_SHARE * _CANDIDATES)
        found = d_optimal.inside(
            self.space or CORE, _CANDIDATES - edge - light, rng)
        if edge:
            found += d_optimal.inside(EDGE, edge, rng)
            found += d_optimal.inside(d_optimal.LIGHT, light, rng)
        return tuple({dataset.key(run): run for run in found}.values())

    @functools.cached_property
    def begin(self) -> tuple[design.Run, ...]:
        """The first batch, D-optimal among some of the candidates.

        :raises InputError: where the space holds fewer different runs
        """
        if len(self.candidates) < self.first:
            raise errors.InputError(
                f'The vectors hold {len(self.candidates)} different runs, '
                f'fewer than {self.first}; widen them, or use --full.')
        rng = np.random.default_rng(self.seed)
        some = [self.candidates[i] for i in rng.permutation(
            len(self.candidates))[:_PER_RUN * self.first]]
        return tuple(some[i] for i in d_optimal.exchange(
            d_optimal.relative_rows(some), self.first, rng))

    @functools.cached_property
    def runs(self) -> tuple[design.Run, ...]:
        """All runs in order, if none fails and none is left out."""
        made = [*self.begin]
        while more := self.following(made):
            made += more
        return tuple(made)

    def following(self, made: Sequence[design.Run],
                  without: Collection[dataset.Key] = ()) -> tuple[design.Run,
                                                                  ...]:
        """The rest of the batch that the runs made are in.

        It depends on the runs made, not on their results, so that a campaign
        that was stopped goes on with the same runs.

        :param without: keys of runs that are not to be chosen
        :returns: none where none is left
        """
        batch = (stopping.BATCH
                 - max(len(made) - self.first, 0) % stopping.BATCH)
        gone = {*map(dataset.key, made), *without}
        # A replacement of a run that cannot be made must not have more
        # workloads than regions were prepared for.
        most = max(map(len, self.runs)) if without else math.inf
        left = np.array([dataset.key(run) not in gone and len(run) <= most
                         for run in self.candidates])
        number = min(batch, self.most - len(made), int(left.sum()))
        return tuple(self.candidates[i] for i in greedy(
            self.covariance(made), left, number))

    def covariance(self, made: Sequence[design.Run]) -> Floats:
        """The covariance of the candidates, given the runs made."""
        known = _places(made) - self._middle
        cross = _kernel(self._at, known)
        return self._before - cross @ np.linalg.solve(
            _kernel(known, known) + _NOISE * np.eye(len(known)), cross.T)

    @functools.cached_property
    def _middle(self) -> Floats:
        return _places(self.candidates).mean(axis=0)

    @functools.cached_property
    def _at(self) -> Floats:
        return _places(self.candidates) - self._middle

    @functools.cached_property
    def _before(self) -> Floats:
        return _kernel(self._at, self._at)


def greedy(covariance: Floats, left: npt.NDArray[np.bool_],
           number: int) -> Iterator[int]:
    """The candidates that lower the mean variance of all most, in order.

    :param covariance: of the candidates, float[n, n]
    :param left: those that may be chosen
    """
    left = left.copy()
    for _ in range(number):
        gain = (covariance ** 2).sum(axis=0) / (np.diag(covariance) + _NOISE)
        best = int(np.argmax(np.where(left, gain, -np.inf)))
        left[best] = False
        yield best
        row = covariance[best]
        covariance = covariance - np.outer(row, row) / (row[best] + _NOISE)


def _kernel(a: Floats, b: Floats) -> Floats:
    """The covariance of measurements at two places."""
    squares = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    return np.exp(-squares / 2) + _SLOPES * a @ b.T + _LEVEL


def _places(runs: Sequence[design.Run]) -> Floats:
    """The places of runs, in length scales: float[n, 8]."""
    return np.array([_place(run) for run in runs]) / _LENGTH_SCALES


def _place(run: design.Run) -> tuple[float, ...]:
    load = sum(map(Load.of, run), Load())
    q, n = load.sum_iodepth, load.count
    kib = load.sum_q_s_r + load.sum_q_s_w
    return (math.log(q), math.log(kib / q), load.sum_q_w / q,
            load.sum_q_s_w / kib, (load.sum_q_r_x + load.sum_q_w_x) / q,
            math.log(n), math.log(load.sum_block_kib / n),
            load.sum_write_pct / n / 100)
