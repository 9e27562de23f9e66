# SPDX-License-Identifier: Apache-2.0
"""Pools judged slot by slot: one slot, equal slots, slots in any order."""

from __future__ import annotations

import dataclasses
import random

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts.workload import Workload
from serifos.plan import bfd
from serifos.plan.problem import Problem
from serifos.plan import relieve
from serifos.plan import slots
from serifos.plan.slots import AT_ONCE
from serifos.plan.slots import Slots
from serifos.plan.slots import WIDE
from serifos.plan.state import State
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

PLANNERS = strategies.sampled_from((bfd, relieve))
SMALL = strategies.sampled_from((0, 20))
SEEDS = strategies.integers(0, 1 << 32)
EXAMPLES = settings(max_examples=30, deadline=None)

BUSY, QUIET = Workload(50, 64), Workload(50, 64, iodepth=0.01)


def _present(cluster, copies=1):
    """Slots, all alike, of what the cluster says."""
    known = [v for v in cluster.volumes if v.workload is not None]
    rows = [[clusters.pattern(v.workload)] * copies for v in known]
    return Slots(tuple(v.id for v in known), np.array(
        rows, float).reshape(len(known), copies, 4))


def _state(cluster, their=None, limits=Limits()):
    return State.of(Problem.of(
        cluster, clusters.models_of(cluster), limits, their))


class SlotsTestCase(testtools.TestCase):

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), SMALL, strategies.integers(1, 5))
    def test_equal_slots_are_planned_as_one(
            self, planner, cluster, small, copies):
        self.patch(relieve, 'SMALL', small)
        limits = Limits(horizon_s=86400.0)
        self.assertEqual(
            clusters.planned(planner, cluster, limits),
            clusters.planned(planner, cluster, limits,
                             _present(cluster, copies)))

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), SMALL, SEEDS,
           strategies.integers(2, 6))
    def test_the_order_of_slots_changes_nothing(
            self, planner, cluster, small, seed, number):
        self.patch(relieve, 'SMALL', small)
        rng = random.Random(seed)
        their = clusters.slots(cluster, rng, number)
        order = rng.sample(range(number), number)
        other = dataclasses.replace(their, patterns=their.patterns[:, order])
        self.assertEqual(
            clusters.planned(planner, cluster, Limits(), their),
            clusters.planned(planner, cluster, Limits(), other))

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), SMALL, SEEDS)
    def test_applied_and_planned_again_it_is_empty(
            self, planner, cluster, small, seed):
        self.patch(relieve, 'SMALL', small)
        their = clusters.slots(cluster, random.Random(seed), 3)
        plan = clusters.planned(planner, cluster, Limits(), their)
        for _ in range(60):
            cluster = clusters.applied(cluster, plan.moves)
            again = clusters.planned(planner, cluster, Limits(), their)
            self.assertEqual(bool(again.moves), plan.truncated)
            if not again.moves:
                return
            plan = again
        self.fail('planning does not come to an end')

    @EXAMPLES
    @given(clusters.clusters(), SEEDS, strategies.sampled_from((
        1, AT_ONCE)), strategies.sampled_from((0, WIDE)))
    def test_a_state_reached_by_moves_is_the_one_computed_afresh(
            self, cluster, seed, at_once, wide):
        self.patch(slots, 'AT_ONCE', at_once)
        self.patch(slots, 'WIDE', wide)
        rng = random.Random(seed)
        their = clusters.slots(cluster, rng, 4)
        state = _state(cluster, their)
        for place, one in enumerate(state.problem.volumes):
            if state.home[place] < 0 or rng.random() < 0.5:
                continue
            target = rng.randrange(len(cluster.pools))
            state = state.moved(place, target)
            cluster = cluster.without(one).place(
                one, cluster.pools[target].name)
        afresh = _state(cluster, their)
        self.assertEqual(afresh.loads.tolist(), state.loads.tolist())
        np.testing.assert_array_equal(afresh.figure_us, state.figure_us)
        np.testing.assert_array_equal(afresh.latency_us, state.latency_us)

    @EXAMPLES
    @given(clusters.clusters(), SEEDS)
    def test_a_figure_is_the_mean_of_those_of_slots(
            self, cluster, seed):
        their = clusters.slots(cluster, random.Random(seed), 3)
        state, each = _state(cluster, their), []
        for slot in range(3):
            one = _state(cluster, Slots(
                their.volumes, their.patterns[:, [slot]]))
            each.append((one.figure_us, one.latency_us))
        for found, of in zip((state.figure_us, state.latency_us), zip(*each)):
            # Pools of one device are compared slot by slot, or afterwards.
            if not state.problem.shared:
                np.testing.assert_allclose(
                    found, np.mean(of, axis=0), rtol=1e-9)


class JointTestCase(testtools.TestCase):
    """Nights and days: volumes that are busy in one of two slots."""

    def slots(self, **busy):
        rows = [[clusters.pattern(BUSY if slot in its else QUIET)
                 for slot in (0, 1)] for its in busy.values()]
        return Slots(tuple(busy), np.array(rows))

    def cluster(self, **where):
        return Cluster(
            tuple(pool(name, 'deep') for name in 'ab'),
            tuple(volume(name, at, workload=BUSY)
                  for name, at in where.items()))

    def test_an_slo_is_judged_by_the_mean_over_slots(self):
        for most_us, violated in (1500, 1), (1700, 0):
            cluster = Cluster((pool('a', 'deep'), pool('b', 'deep')), (
                volume('day', 'a', workload=BUSY, max_latency_us=most_us),
                volume('too', 'a', workload=BUSY)))
            plan = clusters.planned(relieve, cluster, Limits(), self.slots(
                day=[0], too=[0]))
            self.assertEqual((violated, 0), (
                plan.slo_misses.before, plan.slo_misses.after))

    def test_a_volume_that_is_busy_at_another_hour_may_move(self):
        cluster = Cluster((pool('a', 'deep'), pool('b', 'deep')), (
            volume('u', 'a', workload=clusters.IDLE),
            volume('v', 'a', workload=clusters.IDLE)))
        self.assertEqual((), clusters.planned(
            relieve, cluster, Limits()).moves)
        self.assertEqual(1, len(clusters.planned(
            relieve, cluster, Limits(),
            self.slots(u=[0], v=[0])).moves))

    def test_without_history_a_volume_does_always_what_it_does_now(self):
        cluster = self.cluster(day='a', new='a')
        state = _state(cluster, self.slots(day=[0]))
        new = [v.id for v in state.problem.volumes].index('new')
        self.assertEqual(*state.problem.loads[new].tolist())
        self.assertEqual(1, state.problem.loads[new, 0, 0])
