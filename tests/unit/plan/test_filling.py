# SPDX-License-Identifier: Apache-2.0
"""Pools that their own growth fills are left by volumes."""

import dataclasses
import random

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from serifos.facts.cluster import Cluster
from serifos.plan import evacuate
from serifos.plan import relieve
from serifos.plan.search import filling
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

WEEK = Limits(capacity_horizon_s=7 * 86400.0)


def planned(pools, volumes, **limits):
    return clusters.planned(
        relieve, Cluster(tuple(pools), tuple(volumes)),
        dataclasses.replace(WEEK, **limits))


def steps(plan):
    return [(move.volume, move.target) for move in plan.moves]


def resting(name, size_gib, where='a', **more):
    return volume(name, where, size_gib=size_gib, workload=clusters.IDLE,
                  **more)


A, B = pool('a', free_gib=32, growth_gib_day=10.0), pool('b')
"""``a`` is full in 3.2 days; within a week it lacks 38 GiB."""


@ddt.ddt
class FillingTest(testtools.TestCase):

    def test_one_move_is_enough_of_the_smallest_volume_that_is(self):
        plan = planned([A, B], [resting('u', 20), resting('v', 60),
                                resting('w', 40)])
        self.assertEqual([('w', 'b')], steps(plan))
        self.assertEqual('a is full in 3.2 days by its growth',
                         plan.moves[0].reason)
        self.assertFalse(plan.truncated)

    def test_where_none_is_enough_the_largest_go_first(self):
        plan = planned([A, B], [resting(f'v{size}', size)
                                for size in (5, 16, 20, 4)])
        self.assertEqual([('v20', 'b'), ('v16', 'b'), ('v4', 'b')],
                         steps(plan))

    @ddt.data(
        ({'capacity_horizon_s': None}, {}),
        ({'capacity_horizon_s': 3 * 86400.0}, {}),
        ({}, {'growth_gib_day': 32 / 7}), ({}, {'growth_gib_day': None}),
        ({}, {'growth_gib_day': -10.0}), ({}, {'state': 'down'}),
        ({}, {'model': None}))
    @ddt.unpack
    def test_a_pool_that_does_not_fill_up_is_left_alone(self, limits, change):
        plan = planned([dataclasses.replace(A, **change), B],
                       [resting('v', 60)], **limits)
        self.assertEqual((), plan.moves)

    @ddt.data({'movable': 'attached'}, {'workload': None})
    def test_a_volume_that_may_not_move_stays(self, change):
        plan = planned([A, B], [
            dataclasses.replace(resting('v', 60), **change)])
        self.assertEqual((), plan.moves)

    def test_max_fill_is_full(self):
        grows = dataclasses.replace(A, free_gib=500.0)
        plan = planned([grows, B], [resting('v', 60)], max_fill=0.76)
        self.assertEqual('a is full in 2 days by its growth',
                         plan.moves[0].reason)
        plan = planned([grows, B], [resting('v', 60)], max_fill=0.7)
        self.assertEqual('a is full, and grows', plan.moves[0].reason)
        self.assertIn('in 24 hours', filling.why(
            dataclasses.replace(A, free_gib=10.0), WEEK))

    def test_no_target_becomes_a_pool_that_fills_up(self):
        also = dataclasses.replace(B, free_gib=109, growth_gib_day=10.0)
        self.assertEqual([], steps(planned([A, also], [resting('v', 40)])))
        also = dataclasses.replace(also, free_gib=110)
        self.assertEqual([('v', 'b')], steps(planned(
            [A, also], [resting('v', 40)])))

    def test_no_move_off_a_hot_pool_takes_the_space_of_growth(self):
        volumes = [volume('u', 'b', 40), volume('v', 'b', 40)]
        plan = planned([A, B], volumes)
        self.assertEqual([], steps(plan))
        self.assertEqual(
            {'a has 0 GiB free, 70 GiB kept for its growth, 10 needed'},
            {each.reason for each in plan.refused})
        self.assertEqual(1, len(planned([A, B], volumes,
                                        capacity_horizon_s=None).moves))

    def test_no_target_becomes_slower_than_the_source_was(self):
        busy = [volume('u', 'a', 40, size_gib=40),
                volume('w', 'b', 60, movable='attached')]
        self.assertEqual([], steps(planned([A, B], busy)))
        self.assertEqual([('u', 'c')], steps(planned(
            [A, B, pool('c', free_gib=50)], busy)))

    def test_no_slo_is_broken(self):
        slos = volume('w', 'b', 16, max_latency_us=200, movable='attached')
        busy = volume('u', 'a', 40, size_gib=40)
        self.assertEqual([('v', 'b')], steps(planned(
            [A, B], [resting('v', 50), slos, busy])))
        for held, moves in (slos, []), (dataclasses.replace(
                slos, max_latency_us=None), [('u', 'b')]):
            self.assertEqual(moves, steps(planned(
                [A, B], [busy, held], hot_ratio=9.0)))

    def test_an_evacuation_leaves_room_for_growth(self):
        cluster = Cluster((A, B), (resting('v', 10, 'b'),))
        plan = evacuate.plan(cluster, clusters.models_of(cluster), WEEK, 'b')
        self.assertEqual(
            ['a has 0 GiB free, 70 GiB kept for its growth, 10 needed'],
            [each.reason for each in plan.refused])

    @hypothesis.given(clusters.clusters(), strategies.integers(0, 1 << 32))
    @hypothesis.settings(max_examples=60, deadline=None)
    def test_carried_out_and_planned_again_it_is_empty(self, cluster, seed):
        rng = random.Random(seed)
        cluster = dataclasses.replace(cluster, pools=tuple(
            dataclasses.replace(
                each, growth_gib_day=rng.choice((None, -3.0, 1.7, 4.0, 40.1)))
            for each in cluster.pools))
        limits = dataclasses.replace(WEEK, max_fill=rng.choice((0.97, 1.0)))
        for _ in range(60):
            plan = clusters.planned(relieve, cluster, limits)
            for move in plan.moves:
                moving = cluster.volume(move.volume)
                cluster = cluster.without(moving).place(moving, move.target)
                target = cluster.pool(move.target)
                self.assertIsNone(filling.why(target, limits))
            if not plan.moves:
                self.assertEqual(0, plan.truncated)
                return
        self.fail('planning does not come to an end')
