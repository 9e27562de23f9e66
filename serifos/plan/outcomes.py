# SPDX-License-Identifier: Apache-2.0
"""The cluster's worst latency and variance after each of many moves.

A move changes the latencies of two devices only, the source and the target,
so that both figures follow from sums over the others. They differ by
rounding from those of the whole vector of latencies, on which a move is
accepted (:meth:`serifos.plan.limits.Limits.accepts`); :data:`SLACK` is
wider than that.
"""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses

import numpy as np

from serifos.plan import problem as pm
from serifos.plan.problem import Bools
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan import state as st

SLACK = 2e-10

CELLS = 1 << 15
"""Moves predicted at once: their Loads fit the processor's cache."""


@dataclasses.dataclass(frozen=True, eq=False)
class Outcomes:
    """Moves, and the cluster's worst latency and variance after each."""

    volume: Ints
    target: Ints
    worst_us: Floats
    variance_us2: Floats

    def __getitem__(self, which: Ints | Bools) -> Outcomes:
        return Outcomes(self.volume[which], self.target[which],
                        self.worst_us[which], self.variance_us2[which])


def elsewhere(state: st.State, volumes: Ints) -> Bools:
    """bool[volumes, pools]: pools with a model on another device."""
    problem = state.problem
    at = problem.device[state.home[volumes]]
    return problem.modelled & (problem.device != at[:, None])


def allowed(state: st.State, volumes: Ints) -> Bools:
    """bool[volumes, pools]: targets that rules and free space allow."""
    problem = state.problem
    return (elsewhere(state, volumes)
            & problem.open[problem.group[volumes]]
            & (problem.size_gib[volumes][:, None] <= state.room))


def prices(state: st.State, volumes: Ints) -> Floats:
    """µs[volumes, pools]: the latency of each pool with each volume added.

    inf where a pool has no model. A volume's own device is not a target; its
    figure counts the volume twice.
    """
    problem = state.problem
    found = np.full((len(volumes), len(problem.device)), np.inf)
    if len(volumes):
        found[:, problem.members] = _grid(state, volumes, problem.members)
    return found


def reprice(price: Floats, volumes: Ints, was: st.State,
            state: st.State) -> None:
    """Updates prices in place for the devices that changed."""
    device = state.problem.device
    changed = np.flatnonzero(
        state.problem.modelled
        & (was.loads != state.loads).any(axis=1)[device])
    if len(changed):
        price[:, changed] = _grid(state, volumes, changed)


def _grid(state: st.State, volumes: Ints, pools: Ints) -> Floats:
    problem = state.problem
    loads = (state.loads[problem.device[pools]]
             + problem.loads[problem.kind[volumes]][:, None])
    return problem.latency(
        np.tile(pools, len(volumes)), loads.reshape(-1, loads.shape[-1])
    ).reshape(len(volumes), len(pools))


def best(state: st.State, volumes: Ints, among: Bools,
         price: Floats) -> Ints:
    """The target with the least latency for each volume; -1 to stay.

    Staying costs the present latency of its pool; a tie stays, and of
    several targets the first wins.

    :param among: bool[volumes, pools], the targets to compare
    :param price: as from :func:`prices`
    """
    price = np.where(among, price, np.inf)
    choice = price.argmin(axis=1)
    least = price[np.arange(len(volumes)), choice]
    home_us = state.latency_us[state.home[volumes]]
    return np.where(least < home_us, choice, -1)


def outcomes(state: st.State, volumes: Ints, targets: Ints) -> Outcomes:
    """The outcome of each move, volume by volume with its target."""
    problem, figures = state.problem, state.figures
    if not len(volumes):
        return Outcomes(volumes, targets, np.zeros(0), np.zeros(0))
    begins = np.diff(volumes, prepend=-1) != 0  # lifted once for a run
    movers, which = volumes[begins], np.cumsum(begins) - 1
    source = problem.device[state.home[movers]]
    left = _device(state, source, -problem.loads[problem.kind[movers]])
    there = problem.device[targets]
    came = _device(state, there, problem.loads[problem.kind[volumes]])
    source = source[which]
    count = len(problem.members)
    total = (figures.total.sum() - figures.total[source]
             - figures.total[there] + left[0][which] + came[0])
    squares = (figures.squares.sum() - figures.squares[source]
               - figures.squares[there] + left[1][which] + came[1])
    worst = np.maximum(worst_of_others(figures, source, there),
                       np.maximum(left[2][which], came[2]))
    variance = np.maximum(0.0, squares / count - (total / count) ** 2)
    return Outcomes(volumes, targets, worst, variance)


def outcomes_of_most(state: st.State, volumes: Ints, among: Bools) -> Outcomes:
    """As :func:`outcomes`, for most targets of each volume at once.

    For clusters where no pools share a device.
    """
    problem, figures = state.problem, state.figures
    source = problem.device[state.home[volumes]]
    left = _device(state, source, -problem.loads[problem.kind[volumes]])
    there, count = problem.device, len(problem.members)
    price = np.where(among, prices(state, volumes), figures.mean)
    came = price - figures.mean
    total = came - figures.total[there] + (
        figures.total.sum() - figures.total[source] + left[0])[:, None]
    squares = came * came - figures.squares[there] + (
        figures.squares.sum() - figures.squares[source] + left[1])[:, None]
    variance = np.maximum(0.0, squares / count - (total / count) ** 2)
    worst = np.maximum(np.maximum(price, left[2][:, None]), worst_of_others(
        figures, *np.broadcast_arrays(source[:, None], there)))
    row, target = np.nonzero(among)
    return Outcomes(volumes[row], target, worst[row, target],
                    variance[row, target])


def screen(state: st.State, found: Outcomes) -> Outcomes:
    """The moves that may be acceptable, among them all that are."""
    keeps = state.problem.limits.keeps + SLACK
    was = state.score
    return found[(found.worst_us <= was.max_us * keeps)
                 | ((found.worst_us <= was.max_us * (1 + SLACK))
                    & (found.variance_us2 <= was.variance_us2 * keeps))]


def batches(problem: pm.Problem, volumes: Ints) -> Iterator[Ints]:
    """The volumes in batches of at most :data:`CELLS` moves."""
    step = min(256, max(1, CELLS // max(1, len(problem.device))))
    for begin in range(0, len(volumes), step):
        yield volumes[begin:begin + step]


def worst_of_others(figures: st.Figures, a: Ints, b: Ints) -> Floats:
    """The greatest latency on devices that are neither a nor b."""
    worst = np.full(np.shape(a), -np.inf)
    for device in figures.top[::-1]:
        worst = np.where((a == device) | (b == device), worst,
                         figures.worst[device])
    return worst


def _device(state: st.State, devices: Ints,
            change: Floats) -> tuple[Floats, Floats, Floats]:
    """Devices under a changed Load: as in Figures, one row a device."""
    problem = state.problem
    begins, ends = problem.begins[devices], problem.begins[devices + 1]
    sizes = ends - begins
    loads = state.loads[devices] + change
    if (sizes == 1).all():
        latency = problem.latency(problem.members[begins], loads)
        off = latency - state.figures.mean
        return off, off * off, latency
    row = np.repeat(np.arange(len(devices)), sizes)
    first = np.cumsum(sizes) - sizes
    pools = problem.members[
        begins[row] + np.arange(len(row)) - first[row]]
    latency = problem.latency(pools, loads[row])
    off = latency - state.figures.mean
    return (np.add.reduceat(off, first), np.add.reduceat(off * off, first),
            np.maximum.reduceat(latency, first))
