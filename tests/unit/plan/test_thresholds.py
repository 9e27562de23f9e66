# SPDX-License-Identifier: Apache-2.0
"""Pools and volume types that say themselves when to move."""

import ddt
import testtools

from serifos.facts.cluster import Cluster
from serifos.plan import bfd
from serifos.plan import quota
from serifos.plan import relieve
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

PLANNERS = bfd, relieve


def plan(planner, pools, volumes, **limits):
    return clusters.planned(planner, Cluster(
        tuple(pools), tuple(volumes)), Limits(
            every_refusal=True, **limits))


def moves(found):
    return [(move.volume, move.target) for move in found.moves]


def refused(found):
    return {each.volume: each.reason for each in found.refused}


@ddt.ddt
class HotRatioTest(testtools.TestCase):

    # On a two volumes of 16 KiB, nothing on b: a is at twice the mean.
    two = volume('u', 'a'), volume('v', 'a')

    @ddt.idata(PLANNERS)
    def test_a_pool_that_may_be_hotter_than_others(self, planner):
        pools = pool('a', hot_ratio=1.5), pool('b')
        found = plan(planner, pools, self.two)
        self.assertEqual((), found.moves)
        self.assertEqual('its pool is not hot', refused(found)['u'])
        self.assertEqual(1, len(plan(
            planner, [pool('a'), pool('b')], self.two).moves))

    @ddt.idata(PLANNERS)
    def test_a_pool_that_is_hot_before_others_are(self, planner):
        pools = pool('a', hot_ratio=0.5), pool('b')
        self.assertEqual(1, len(plan(
            planner, pools, self.two, hot_ratio=9).moves))

    @ddt.idata(PLANNERS)
    def test_the_lowest_of_a_device_counts(self, planner):
        pools = (pool('a', device='sda', hot_ratio=9),
                 pool('c', device='sda', hot_ratio=0.1), pool('b'))
        self.assertEqual(1, len(plan(
            planner, pools, self.two, hot_ratio=9).moves))

    @ddt.data((bfd, 0), (relieve, 0), (relieve, 20))
    @ddt.unpack
    def test_no_pool_that_may_be_hot_becomes_hotter_than_its_source(
            self, planner, small):
        """a shows 1,070 us, b 960 and c, which is full, 970.

        Two small volumes of a may go, and with a large one they would take
        10 % off it; b would show 1,080.
        """
        self.patch(quota, 'SMALL', small)
        volumes = [volume('large', 'a', 10, size_gib=100)] + [
            volume(f'{at}{i:02}', at, 1,
                   movable=True if at == 'a' and i < 2 else 'pinned')
            for at, number in (('a', 97), ('b', 96), ('c', 97))
            for i in range(number)]
        pools = [pool('a', hot_ratio=0.05), pool('b', hot_ratio=20),
                 pool('c', free_gib=0)]
        self.assertEqual((), plan(planner, pools, volumes).moves)


@ddt.ddt
class MinGainTest(testtools.TestCase):

    pools = pool('a'), pool('b')

    @ddt.idata(PLANNERS)
    def test_a_type_whose_volumes_move_for_much_alone(self, planner):
        found = plan(planner, self.pools, [
            volume('u', 'a', min_gain=0.9), volume('v', 'a')])
        self.assertEqual([('v', 'b')], moves(found))
        found = plan(planner, self.pools, [
            volume('u', 'a', min_gain=0.9), volume('v', 'a', min_gain=0.6)])
        self.assertEqual((), found.moves)
        self.assertEqual(
            {'u': 'gain 50 % is below serifos:min_gain 90 %',
             'v': 'gain 50 % is below serifos:min_gain 60 %'},
            refused(found))
        self.assertEqual({'type_min_gain'}, {
            each.reason.code for each in found.refused})

    @ddt.idata(PLANNERS)
    def test_a_type_whose_volumes_move_for_little(self, planner):
        volumes = [volume('u', 'a', min_gain=0.4), volume('v', 'a')]
        found = plan(planner, self.pools, volumes, min_gain=0.9)
        self.assertEqual([('u', 'b')], moves(found))
        found = plan(planner, self.pools, volumes[1:] + [
            volume('w', 'a')], min_gain=0.9)
        self.assertEqual({'gain 50 % is below min_gain 90 %'},
                         {*refused(found).values()})

    @ddt.idata(PLANNERS)
    def test_volumes_that_move_together_ask_for_the_most(self, planner):
        def found(min_gain):
            return plan(planner, self.pools, [
                volume('t', 'a', 64, movable='pinned'),
                volume('u', 'a', same_pool=('x',)),
                volume('v', 'a', same_pool=('x',), min_gain=min_gain)])

        # 64 of 96 KiB are left.
        self.assertEqual({'u', 'v'}, {
            move.volume for move in found(0.3).moves})
        held = found(0.5)
        self.assertEqual((), held.moves)
        self.assertEqual('gain 33.3 % is below serifos:min_gain 50 %',
                         refused(held)['u'])

    @ddt.data((bfd, 0), (relieve, 0), (relieve, 20))
    @ddt.unpack
    def test_a_type_that_asks_for_more_is_none_of_several(
            self, planner, small):
        self.patch(quota, 'SMALL', small)
        many = [volume(f'v{i:02}', 'a', 4, min_gain=0.5 if i % 2 else None)
                for i in range(40)]
        found = plan(planner, self.pools, many)
        self.assertTrue(found.moves)
        self.assertEqual(set(), {
            move.volume for move in found.moves} & {
                each.id for each in many if each.min_gain})
