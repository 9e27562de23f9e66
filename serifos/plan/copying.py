# SPDX-License-Identifier: Apache-2.0
"""The price of a move: what its copy costs the tenants of both pools.

Meanwhile the copy is a tenant more on either pool: a sequential reader on the
source, a sequential writer on the target, at the rate of earlier copies; where
the source is wiped afterwards, there is a writer on it again.

Harm and gain are sums over the tenants of both pools, each by its outstanding
I/Os times the logarithm of the ratio of two figures: of those while it is
copied and now, of those now and afterwards. A move pays where the gain over a
horizon is no less than the harm over the seconds of the copy. That those on
the target lose by the move is no part of that: it is the local rule that says
how much they may, or no pool would be relieved at the cost of many others.
"""

from __future__ import annotations

import numpy as np

from serifos.facts import hot_by
from serifos.facts import phrases
from serifos.facts.refusals import Code
from serifos.plan.outcomes import Outcomes
from serifos.plan.problem import Bools
from serifos.plan.problem import COPY
from serifos.plan.problem import COPY_REQUESTS
from serifos.plan.problem import Floats
from serifos.plan.problem import Ints
from serifos.plan.state import State


READER, WRITER = 0, 1
"""Rows of :attr:`.problem.Problem.copies`."""


def at_rate(now_us: Floats, busiest_us: Floats, s_per_gib: Floats,
            takes_us: Floats | None = None) -> Floats:
    """What a pool shows under a copy of a rate, µs[n].

    Its requests are outstanding for the part of the time in which they come
    to that rate, by Little's law.

    :param busiest_us: under a copy whose requests are always outstanding
    :param takes_us: a request of such a copy; None for ``busiest_us``
    """
    per_s = COPY_REQUESTS / np.maximum(s_per_gib, 1e-9)
    takes_us = busiest_us if takes_us is None else takes_us
    share = np.minimum(1.0, per_s * takes_us / 1e6 / COPY[0].iodepth)
    return now_us + share * (busiest_us - now_us)


def penalty_us(state: State, moves: Outcomes) -> Floats:
    """What each move's copy adds to the figure of its source, µs[n].

    As much as to its tenants in the mean, over the horizon; 0 without one,
    and where nothing is outstanding.
    """
    horizon_s = state.problem.limits.horizon_s
    if horizon_s is None:
        return np.zeros(len(moves.volume))
    return moves.before_us * _harm_s(state, moves) / (
        horizon_s * _queued(state, moves))


def pays(state: State, moves: Outcomes) -> Bools:
    """bool[n]: whether a move gains at least what its copy costs."""
    horizon_s = state.problem.limits.horizon_s
    if horizon_s is None:
        return np.ones(len(moves.volume), bool)
    return _harm_s(state, moves) <= _gain(state, moves) * horizon_s


def why_not(state: State, moves: Outcomes) -> list[str | None]:
    """Why each move does not pay for its copy, None where it does."""
    limits = state.problem.limits
    found: list[str | None] = [None] * len(moves.volume)
    rows = np.flatnonzero(~pays(state, moves))
    moves = moves[rows]
    if limits.horizon_s is None or not len(rows):
        return found
    here = state.problem.device[state.home[moves.volume]]
    gain = 1 - np.exp(-_gain(state, moves) / _some(state.queued[here]))
    copy_s = state.problem.carried_s[moves.volume]
    wiping_s = (state.problem.carried_gib[moves.volume]
                * limits.copying.wiping)
    harm = np.exp(_harm_s(state, moves) / _queued(state, moves) / (
        copy_s + wiping_s)) - 1
    for i, row in enumerate(rows.tolist()):
        wiped = (f' and wiping its source {phrases.duration(wiping_s[i])}'
                 if wiping_s[i] else '')
        found[row] = Code.COPY_COSTS.of(
            copy=phrases.duration(copy_s[i]), wiped=wiped, harm=100 * harm[i],
            gain=100 * gain[i], horizon=phrases.duration(limits.horizon_s))
    return found


def _some(q: Floats) -> Floats:
    """Outstanding I/Os by which a sum over tenants is divided.

    Infinite where there are none: the sum is 0 then, and so is the mean.
    """
    return np.where(q > 0, q, np.inf)


def _queued(state: State, moves: Outcomes) -> Floats:
    """The outstanding I/Os of both pools, n; infinite for none."""
    device = state.problem.device
    return _some(state.queued[device[state.home[moves.volume]]]
                 + state.queued[device[moves.target]])


def _gain(state: State, moves: Outcomes) -> Floats:
    """What the tenants that gain by moves gain, n."""
    problem, moved = state.problem, state.problem.carried[moves.volume]
    source = problem.device[state.home[moves.volume]]
    return np.maximum(0.0, _rise(
        problem.queued(state.loads[source] - moved), moves.left_us,
        moves.before_us)) + np.maximum(0.0, _rise(
            problem.queued(moved), moves.came_us, moves.before_us))


def _harm_s(state: State, moves: Outcomes) -> Floats:
    """What the tenants of both pools lose by the copies, s[n]."""
    problem, volume = state.problem, moves.volume
    copying, gib = problem.limits.copying, problem.carried_gib[volume]
    rate = np.array(copying.s_per_gib)[problem.attached[volume]]
    several = np.isin(volume, [*problem.bonds.bundles])
    rate[several] = problem.carried_s[volume[several]] / np.maximum(
        gib[several], 1e-9)
    source, target = (problem.device[pools] for pools in (
        state.home[volume], moves.target))

    def harm(devices: Ints, copy: int, s_per_gib: Floats) -> Floats:
        return gib * s_per_gib * np.maximum(0.0, _rise(
            state.queued[devices], state.figure_us[devices],
            _shown_us(state, devices, copy, s_per_gib)))

    found = harm(source, READER, rate) + harm(target, WRITER, rate)
    if copying.wiping:
        found += harm(source, WRITER, np.full(len(gib), copying.wiping))
    return found


def _rise(q: Floats, was_us: Floats, then_us: Floats) -> Floats:
    """The outstanding I/Os times the logarithm of a ratio; 0 for none.

    Also where either figure is 0: nothing is known of what is outstanding.
    """
    some = (q > 0) & (was_us > 0) & (then_us > 0)
    return q * np.log(np.where(some, then_us, 1.0)
                      / np.where(some, was_us, 1.0))


def _shown_us(state: State, devices: Ints, copy: int,
              s_per_gib: Floats) -> Floats:
    """The figure of devices under the reader or writer of a copy."""
    problem = state.problem
    takes_us = problem.models.latency(
        problem.members[problem.begins[devices]], np.broadcast_to(
            problem.copies[copy], (len(devices), *problem.copies[
                copy, None].shape))) if problem.hot_by == hot_by.BUSY else None
    return at_rate(state.figure_us[devices], state.copied_us[copy, devices],
                   s_per_gib, takes_us)
