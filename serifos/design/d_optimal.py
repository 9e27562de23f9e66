# SPDX-License-Identifier: Apache-2.0
"""The short design: D-optimal runs, and some inside of the space.

Four runs in five are D-optimal for the features of kind ``outstanding`` in
relative weighting, by Fedorov's exchange [1]_ over a seeded sample of
candidates. They are at the corners of the space, where a wrong form of the
model would not show, so every fifth run is drawn by a Latin hypercube inside
of it; in half of these the tenants think.

.. [1] V. V. Fedorov: Theory of Optimal Experiments, 1972, section 3.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

from serifos.design import design
from serifos import errors
from serifos.facts.workload import Load
from serifos.facts.workload import Workload

WIDE = design.Space(
    write_pcts=(0, 25, 50, 75, 100), block_kibs=(4, 8, 16, 32, 64, 128, 256),
    iodepths=(1, 4, 8, 16, 32), counts=tuple(range(1, 11)))
"""The space of the short design: most of the error of the paper's design
comes from predicting outside of its narrow vectors."""

LIGHT = dataclasses.replace(
    WIDE, iodepths=(1, 8), think_times_us=(0, 2000))
"""The space of tenants that think, most of whose time a device is idle."""

LEAST = 10
"""Runs below which a design cannot hold the model's five terms twice."""

_MOST = 1000  # the exchange takes 10 s, and grows with the third power

# A nominal device (µs: intercept, per outstanding read and write, per
# outstanding KiB read and written) turns rows into relative ones. Table 6
# of the paper has 19.6 to 24.7 µs/KiB at iodepth 8 and intercepts up to
# 217 µs; the design depends only on the ratios, and weakly.
_NOMINAL = np.array([100.0, 10.0, 10.0, 2.75, 2.75])

# Of thousands of candidates the exchange keeps only extremes, where the form
# of the model is least right: on four simulated devices (two
# of them fitted to no table) 3 candidates a run halved the error on the
# paper's test vectors against 40 a run, to that of its 6,187 sets.
_CANDIDATES_PER_RUN = 3
_RIDGE = 1e-9


def runs(number: int, space: design.Space = WIDE,
         seed: int = 0) -> tuple[design.Run, ...]:
    """A short design: distinct runs in a shuffled order.

    :param number: how many, at least :data:`LEAST`
    :param space: a tenth of the runs are of :data:`LIGHT` where none is given
    :raises InputError: where that is too few, or more than there are
    """
    if not LEAST <= number <= _MOST:
        raise errors.InputError(
            f'{number} runs are too {"few" if number < LEAST else "many"} '
            f'for a short design; give --runs {LEAST} to {_MOST}.')
    rng = np.random.default_rng(seed)
    light = number // 10 if space is WIDE else 0
    within = inside(space, number // 5 - light, rng)
    if light:
        within += inside(LIGHT, light, rng)
    corners = number - len(within)
    candidates = _candidates(space, _CANDIDATES_PER_RUN * corners, rng)
    if corners > len(candidates):
        raise errors.InputError(
            f'The vectors hold {len(candidates) + len(within)} different '
            f'runs, fewer than {number}; ask for fewer runs, or widen them.')
    chosen = exchange(relative_rows(candidates), corners, rng)
    picked = [*within, *(candidates[i] for i in chosen)]
    return tuple(picked[i] for i in rng.permutation(len(picked)))


def relative_rows(candidates: Sequence[design.Run]
                  ) -> npt.NDArray[np.float64]:
    """float[n, 5]: the features over a nominal device's latency."""
    rows = np.array([_features(run) for run in candidates])
    return rows / (rows @ _NOMINAL)[:, None]


def exchange(rows: npt.NDArray[np.float64], size: int,
             rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Fedorov's exchange: distinct rows with the greatest det(X'X).

    Each step makes the one swap of a chosen row for another that raises
    the determinant most, until none does.

    :param rows: float[n, k] candidates
    :returns: int[size], indices of the chosen
    """
    chosen = rng.choice(len(rows), size, replace=False)
    for _ in range(20 * size):
        x = rows[chosen]
        inverse = np.linalg.inv(x.T @ x + _RIDGE * np.eye(rows.shape[1]))
        cross = rows @ inverse @ x.T                     # [n, size]
        variance = np.einsum('nk,kl,nl->n', rows, inverse, rows)
        own = variance[chosen]
        gain = (variance[:, None] - own - variance[:, None] * own
                + cross ** 2)
        gain[chosen] = -np.inf
        new, old = np.unravel_index(np.argmax(gain), gain.shape)
        if gain[new, old] <= 1e-9:
            break
        chosen[old] = new
    return chosen


def _features(run: design.Run) -> tuple[float, ...]:
    load = sum((Load.of(w) for w in run), Load())
    return (1.0, load.sum_q_r, load.sum_q_w, load.sum_q_s_r, load.sum_q_s_w)


def _candidates(space: design.Space, number: int,
                rng: np.random.Generator) -> list[design.Run]:
    patterns = space.patterns
    found = {}
    for _ in range(number):
        picks = rng.choice(len(patterns), rng.choice(space.counts))
        found[tuple(sorted(picks))] = tuple(patterns[i] for i in picks)
    return list(found.values())


def inside(space: design.Space, number: int,
           rng: np.random.Generator) -> list[design.Run]:
    """Runs anywhere between the ends of the vectors (a Latin hypercube)."""
    counts = sorted(set(space.counts))
    width = 4 + (len(set(space.think_times_us)) > 1)
    cube = qmc.LatinHypercube(
        1 + width * counts[-1], rng=rng).random(number)
    return [tuple(_drawn(
        space, point[1:].reshape(-1, width),
        counts[int(point[0] * len(counts))])) for point in cube]


def _drawn(space: design.Space, point: npt.NDArray[np.float64],
           count: int) -> Iterator[Workload]:
    least, greatest = min(space.block_kibs), max(space.block_kibs)
    unit = next((unit for unit in (4.0, 2.0, 1.0)
                 if least % unit == greatest % unit == 0), 0.5)
    for w, s, q, x, *z in point[:count]:
        yield Workload(
            float(round(_between(space.write_pcts, w))),
            min(greatest, max(least, unit * round(
                _between(space.block_kibs, s, True) / unit))),
            float(round(_between(space.iodepths, q, True))),
            float(round(_between(space.random_pcts, x))),
            think_time_us=float(round(_between(space.think_times_us, *z)))
            if z else space.think_times_us[0])


def _between(values: Sequence[float], share: float,
             log: bool = False) -> float:
    least, greatest = min(values), max(values)
    if log:
        return float(least * (greatest / least) ** share)
    return float(least + (greatest - least) * share)
