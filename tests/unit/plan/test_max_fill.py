# SPDX-License-Identifier: Apache-2.0
"""No plan fills a pool beyond max_fill."""

import dataclasses
import random

import ddt
import hypothesis
from hypothesis import strategies
import testtools

from serifos.facts.cluster import Cluster
from serifos.plan import bfd
from serifos.plan import evacuate
from serifos.plan import relieve
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

CROWD = [volume('u', 'a', 40, size_gib=150), volume('v', 'a', 40)]


def planned(pools, max_fill, volumes=CROWD, **limits):
    return clusters.planned(
        relieve, Cluster(tuple(pools), tuple(volumes)),
        Limits(max_fill=max_fill, **limits))


@ddt.ddt
class RoomTest(testtools.TestCase):

    @ddt.data(
        # Of 2000 GiB: free, used, max_fill, room.
        (1000, None, 1.0, 1000), (1000, None, 0.75, 500),
        (1000, 800, 0.75, 700), (100, 800, 0.75, 100),
        (1000, None, 0.25, -500), (0.1, 3000, 1.0, 0.1))
    @ddt.unpack
    def test_what_a_plan_may_fill(self, free_gib, used_gib, max_fill, room):
        self.assertEqual(room, pool(
            'a', free_gib=free_gib, used_gib=used_gib).room_gib(max_fill))

    @ddt.data((0.75, 500), (1.0, 1000), (None, -500))
    @ddt.unpack
    def test_what_a_pool_says_goes_first(self, max_fill, room):
        self.assertEqual(room, pool('a', max_fill=max_fill).room_gib(0.25))

    def test_what_comes_is_used(self):
        was = Cluster((pool('a', used_gib=900), pool('b')), ())
        then = was.place(volume('v', 'a'), 'a').place(volume('w', 'b'), 'b')
        self.assertEqual([(990, 910), (990, None)], [
            (each.free_gib, each.used_gib) for each in then.pools])


class MaxFillTest(testtools.TestCase):

    def test_the_next_pool_is_taken(self):
        pools = [pool('a'), pool('b', free_gib=600), pool('c', 'slow')]
        self.assertEqual(['b'], [
            move.target for move in planned(pools, 1.0).moves])
        self.assertEqual([('v', 'b')], [
            (move.volume, move.target)
            for move in planned(pools, 0.8).moves])

    def test_a_volume_that_stays_for_it_is_told_why(self):
        plan = planned([pool('a'), pool('b', free_gib=500)], 0.7)
        self.assertEqual((), plan.moves)
        self.assertEqual(
            {'b has 0 GiB free below max_fill 70 %, 150 needed',
             'b has 0 GiB free below max_fill 70 %, 10 needed'},
            {each.reason for each in plan.refused})

    def test_a_pool_that_says_so_itself(self):
        plan = planned([pool('a'), pool('b', free_gib=500, max_fill=0.7)], 1.0)
        self.assertEqual((), plan.moves)
        self.assertIn('b has 0 GiB free below serifos_max_fill 70 %, 10 '
                      'needed', {each.reason for each in plan.refused})

    def test_an_evacuation_keeps_to_it(self):
        cluster = Cluster((pool('a'), pool('b', free_gib=600)),
                          (volume('u', 'a', size_gib=220),
                           volume('v', 'a', size_gib=180)))
        plan = evacuate.plan(cluster, clusters.models_of(cluster),
                             Limits(max_fill=0.8), 'a')
        self.assertEqual(['v'], [move.volume for move in plan.moves])
        self.assertEqual(
            ['b has 200 GiB free below max_fill 80 %, 220 needed'],
            [each.reason for each in plan.refused])

    @hypothesis.given(clusters.clusters(), strategies.integers(0, 1 << 32))
    @hypothesis.settings(max_examples=30, deadline=None)
    def test_no_plan_fills_more(self, cluster, seed):
        rng = random.Random(seed)
        max_fill = rng.choice((0.3, 0.8, 0.97, 1.0))
        cluster = dataclasses.replace(cluster, pools=tuple(
            dataclasses.replace(each, used_gib=rng.choice((
                None, 0.0, 290.0, 780.0, 965.0, 990.0)))
            for each in cluster.pools))
        limits = Limits(max_fill=max_fill)
        plans = [clusters.planned(planner, cluster, limits)
                 for planner in (bfd, relieve)]
        plans += [evacuate.plan(cluster, clusters.models_of(cluster), limits,
                                each.name)
                  for each in cluster.pools if each.state != 'down']
        for plan in plans:
            then = clusters.applied(cluster, plan.moves)
            for move in plan.moves:
                self.assertGreaterEqual(
                    then.pool(move.target).room_gib(max_fill), -1e-9)
