# SPDX-License-Identifier: Apache-2.0
"""Moves are worth their copies, and a plan copies no more than it may."""

import dataclasses

import ddt
import numpy as np
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts.refusals import Code
from serifos.facts.workload import Workload
from serifos.plan import acceptance
from serifos.plan import bfd
from serifos.plan import outcomes
from serifos.plan.plan import Cause
from serifos.plan.problem import Problem
from serifos.plan import relieve
from serifos.plan.state import State
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

COLD = Limits(hot_ratio=100.0, every_refusal=True)


def planned(volumes, limits=COLD, planner=relieve, pools='ab'):
    return clusters.planned(planner, Cluster(
        tuple(map(pool, pools)), tuple(volumes)), limits)


class RestoringTest(testtools.TestCase):
    """v leaves for 3 % of what its pool shows, and u sees enough then."""

    def volumes(self, sees_us=None):
        its = Workload(50, 96) if sees_us is None else Workload(
            50, 96, iops=8e6 / sees_us, latency_us=sees_us)
        return (volume('u', 'a', workload=its, max_latency_us=980,
                       movable='pinned'), volume('v', 'a', 3))

    def test_a_small_gain_restores_what_is_measured_to_be_violated(self):
        self.assertEqual([('v', Cause.SLO_RESTORED.of())], [
            (move.volume, move.reason)
            for move in planned(self.volumes(1000)).moves])

    def test_for_a_forecast_it_is_too_small(self):
        for sees_us in None, 900:
            plan = planned(self.volumes(sees_us))
            self.assertEqual((), plan.moves)
            self.assertIn(('v', Code.MIN_GAIN), {
                (each.volume, each.code) for each in plan.refused})

    def test_a_forecast_is_avoided_where_that_gains_enough(self):
        fixed, moves = self.volumes()
        moves = dataclasses.replace(moves, workload=Workload(50, 32))
        self.assertEqual([Cause.FORECAST_AVOIDED.of()], [
            move.reason for move in planned([fixed, moves]).moves])

    def test_measured_before_and_restored_after_are_counted(self):
        plan = planned(self.volumes(1000))
        self.assertEqual((1, 0), (
            plan.slo_violated.before, plan.slo_violated.after))
        plan = planned(self.volumes(900))
        self.assertEqual((0, 0, 1), (
            plan.slo_violated.before, plan.slo_violated.after,
            plan.slo_misses.before))


class SeveralTest(testtools.TestCase):

    def test_none_of_several_takes_more_space_than_it_brings(self):
        crowd = [volume(f'v{i:02}', 'a', 16, size_gib=10) for i in range(60)]
        crowd[7] = dataclasses.replace(crowd[7], size_gib=900)
        cluster = Cluster((pool('a'), pool('b')), tuple(crowd))
        state = State.of(Problem.of(
            cluster, clusters.models_of(cluster), Limits()))
        moves = outcomes.outcomes(state, np.array([6, 7]), np.array([1, 1]))
        self.assertEqual(
            [True, False], acceptance.of_several(state, moves).tolist())


@ddt.ddt
class GibTest(testtools.TestCase):

    def volumes(self, number=6):
        return [volume(f'v{i}', 'a', 64, size_gib=50) for i in range(number)]

    @ddt.data((relieve, 49, 0), (relieve, 99, 1), (relieve, 100, 2),
              (bfd, 100, 2))
    @ddt.unpack
    def test_a_plan_copies_no_more(self, planner, most, moves):
        plan = planned(self.volumes(), Limits(max_gib_per_plan=most),
                       planner, 'abcd')
        self.assertEqual(moves, len(plan.moves))
        self.assertEqual(moves > 0, plan.truncated)

    def test_what_is_left_says_why(self):
        plan = planned(self.volumes(), Limits(max_gib_per_plan=60.0))
        self.assertIn((Code.MAX_GIB, 'its 50 GiB are more than '
                       'max_gib_per_plan 60 leaves'), {
                           (each.code, str(each.reason))
                           for each in plan.refused})

    def test_of_a_large_cloud_too(self):
        pools = [f'p{i:02}' for i in range(40)]
        volumes = [volume(f'v{i}{j}', pools[i], 64, size_gib=50,
                          max_latency_us=700)
                   for i in range(8) for j in range(2)]
        for hot_ratio in 0.25, 100.0:
            plan = planned(volumes, Limits(
                hot_ratio=hot_ratio, max_gib_per_plan=170.0), pools=pools)
            self.assertEqual(3, len(plan.moves))
