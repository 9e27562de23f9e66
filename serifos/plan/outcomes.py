# SPDX-License-Identifier: Apache-2.0
"""What would each of many moves do to the whole cluster?

A pair is a volume and a target pool. A move changes the latencies on two
devices only, the volume's and the target's, so the cluster's worst latency
and variance follow from sums over the others. What is found here is a
proposal: the decision is taken on the whole vector of latencies
(:meth:`serifos.plan.limits.Limits.accepts`), from which the sums here
differ by rounding; :data:`SLACK` is wider than that.
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
"""Pairs priced at once: their Loads stay in the processor's cache."""


@dataclasses.dataclass(frozen=True, eq=False)
class Pairs:
    """Moves, and the cluster's worst latency and variance after each."""

    volume: Ints
    target: Ints
    worst_us: Floats
    variance_us2: Floats

    def __getitem__(self, which: Ints | Bools) -> Pairs:
        return Pairs(self.volume[which], self.target[which],
                     self.worst_us[which], self.variance_us2[which])


def elsewhere(state: st.State, volumes: Ints) -> Bools:
    """bool[volumes, pools]: pools with a model on another device."""
    problem = state.problem
    at = problem.device[state.home[volumes]]
    return problem.modelled & (problem.device != at[:, None])


def allowed(state: st.State, volumes: Ints) -> Bools:
    """bool[volumes, pools]: where the rules and the space let them go."""
    problem = state.problem
    return (elsewhere(state, volumes)
            & problem.open[problem.group[volumes]]
            & (problem.size_gib[volumes][:, None] <= state.room))


def prices(state: st.State, volumes: Ints) -> Floats:
    """float[volumes, pools]: µs of each pool with each volume come to it.

    inf where a pool has no model. A volume's own device is priced with the
    volume there twice; it is no target.
    """
    problem = state.problem
    found = np.full((len(volumes), len(problem.device)), np.inf)
    if len(volumes):
        found[:, problem.members] = _grid(state, volumes, problem.members)
    return found


def reprice(price: Floats, volumes: Ints, was: st.State,
            state: st.State) -> None:
    """Brings prices of one state to another, device by changed device."""
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
    """Where each volume would see the least latency; -1 where at home.

    Its home is priced at the home's present latency; a tie stays home, and
    of several targets the first wins.

    :param among: bool[volumes, pools], the targets to compare
    :param price: as from :func:`prices`
    """
    price = np.where(among, price, np.inf)
    choice = price.argmin(axis=1)
    least = price[np.arange(len(volumes)), choice]
    home_us = state.latency_us[state.home[volumes]]
    return np.where(least < home_us, choice, -1)


def outcomes(state: st.State, volumes: Ints, targets: Ints) -> Pairs:
    """What each pair would make of the cluster: one row per pair."""
    problem, figures = state.problem, state.figures
    if not len(volumes):
        return Pairs(volumes, targets, np.zeros(0), np.zeros(0))
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
    return Pairs(volumes, targets, worst, variance)


def outcomes_of_most(state: st.State, volumes: Ints, among: Bools) -> Pairs:
    """As :func:`outcomes`, for most targets of each volume at once.

    Where no pools share a device, rows and columns do what would else be
    done pair by pair.
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
    return Pairs(volumes[row], target, worst[row, target],
                 variance[row, target])


def screen(state: st.State, pairs: Pairs) -> Pairs:
    """The pairs that may be acceptable; none that is acceptable is lost."""
    keeps = state.problem.limits.keeps + SLACK
    was = state.score
    return pairs[(pairs.worst_us <= was.max_us * keeps)
                 | ((pairs.worst_us <= was.max_us * (1 + SLACK))
                    & (pairs.variance_us2 <= was.variance_us2 * keeps))]


def batches(problem: pm.Problem, volumes: Ints) -> Iterator[Ints]:
    """The volumes in batches whose pairs fit the memory we allow."""
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
    """Devices under a changed Load: as in Figures, but one row per device."""
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
