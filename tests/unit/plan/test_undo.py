# SPDX-License-Identifier: Apache-2.0
"""The moves back of plans that were carried out."""

import dataclasses

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts.refusals import Code
from serifos.plan import bfd
from serifos.plan import relieve
from serifos.plan import undo
from serifos.plan import usable
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

COOLS = Code.COOL_DOWN.of(moved='2027-01-15T08:00:00Z',
                          until='2027-01-15T14:00:00Z')


def _undo(cluster, made, limits=Limits()):
    return undo.plan(cluster, clusters.models_of(cluster), limits, made)


def _made(moves):
    return [undo.Made(move.volume, move.source, move.target)
            for move in moves]


def _homes(cluster):
    return {each.id: each.pool for each in cluster.volumes}


def _cooling(cluster, moved):
    """The cluster as it is observed after moves."""
    return dataclasses.replace(cluster, volumes=tuple(
        dataclasses.replace(each, movable=COOLS)
        if each.id in moved else each for each in cluster.volumes))


def _steps(plan):
    return [(move.volume, move.source, move.target) for move in plan.moves]


@ddt.ddt
class UndoTest(testtools.TestCase):

    @settings(max_examples=40, deadline=None)
    @given(strategies.sampled_from((bfd, relieve)), clusters.clusters(),
           strategies.sampled_from((0.0, 0.1)))
    def test_after_the_whole_plan_all_is_as_before(
            self, planner, before, min_gain):
        limits = Limits(min_gain=min_gain)
        plan = clusters.planned(planner, before, limits)
        moved = {move.volume for move in plan.moves}
        after = _cooling(clusters.applied(before, plan.moves), moved)
        back = _undo(after, _made(plan.moves), limits)
        strays = {each.volume: after.volume(each.volume).pool
                  for each in back.refused}
        for each in back.refused:  # its type never allowed that pool
            self.assertIn('the volume requires s', each.reason)
            self.assertNotEqual('s', before.pool(before.volume(
                each.volume).pool).backend_name)
        self.assertEqual({**_homes(before), **strays}, _homes(
            clusters.applied(after, back.moves)))
        if strays:
            return
        for name, change in plan.latency_us.items():
            self.assertAlmostEqual(
                change.before, back.latency_us[name].after, places=3)

    @settings(max_examples=30, deadline=None)
    @given(clusters.clusters(), strategies.randoms(use_true_random=False))
    def test_whatever_happened_since_each_volume_goes_back_or_says_why(
            self, before, rng):
        plan = clusters.planned(relieve, before, Limits(min_gain=0.0))
        now = clusters.applied(before, plan.moves)
        now = Cluster(tuple(
            dataclasses.replace(
                each, state=rng.choice(('up', 'up', 'up', 'disabled')),
                free_gib=each.free_gib * rng.choice((0, 1, 1)))
            for each in now.pools), tuple(
            dataclasses.replace(
                each, movable=rng.choice((True, COOLS, 'a snapshot holds it')),
                pool=rng.choice((each.pool, each.pool, now.pools[0].name)))
            for each in now.volumes if rng.random() < 0.9))
        back = _undo(now, _made(plan.moves))
        went = {move.volume: move.target for move in back.moves}
        stay = {refusal.volume: refusal.reason for refusal in back.refused}
        self.assertEqual({move.volume for move in plan.moves},
                         {*went, *stay})
        self.assertFalse({*went} & {*stay})
        came = {move.volume: move.source for move in plan.moves}
        room = {each.name: each.free_gib for each in now.pools}
        for move in back.moves:
            self.assertEqual(came[move.volume], move.target)
            self.assertEqual('up', now.pool(move.target).state)
            self.assertNotEqual('a snapshot holds it',
                                now.volume(move.volume).movable)
            room[move.target] -= move.size_gib
            self.assertGreaterEqual(room[move.target], 0)

    def test_the_last_one_goes_back_first(self):
        now = Cluster((pool('a'), pool('b')),
                      (volume('u', 'b'), volume('v', 'b')))
        back = _undo(now, [undo.Made('u', 'a', 'b'),
                           undo.Made('v', 'a', 'b')])
        self.assertEqual([('v', 'b', 'a'), ('u', 'b', 'a')], _steps(back))
        self.assertEqual(('undo', 'back to a'),
                         (back.planner, back.moves[0].reason))
        self.assertEqual((320, 160, 0, 160), (
            back.moves[0].source_before_us, back.moves[0].source_after_us,
            back.moves[0].target_before_us, back.moves[0].target_after_us))

    def test_an_slo_that_breaks_is_counted_and_refuses_nothing(self):
        now = Cluster((pool('a', 'slow'), pool('b')), (
            volume('v', 'b', 16, max_latency_us=200),))
        back = _undo(now, [undo.Made('v', 'a', 'b')])
        self.assertEqual([('v', 'b', 'a')], _steps(back))
        self.assertEqual((0, 1), (back.slo_misses.before,
                                  back.slo_misses.after))

    @ddt.data(
        ({'pool': 'c'}, {}, 'it was moved on since, to c'),
        ({'pool': 'a'}, {}, 'it is on a, where it came from'),
        ({'movable': '2 snapshots hold it'}, {}, '2 snapshots hold it'),
        ({'size_gib': 20}, {'free_gib': 19}, 'a has 19 GiB free, 20 needed'),
        ({'size_gib': 20}, {'state': 'disabled'}, 'a is disabled'),
        ({}, {'model': None}, 'a has no model'),
        ({}, {'zone': 'west'}, 'a is in another zone, west'),
        ({'volume_type': 'gold'}, {'refuses': frozenset({'gold'})},
         'a does not offer what the extra specs of gold ask for'),
        ({}, {'drifting': 'it does'}, 'a drifts: it does'))
    @ddt.unpack
    def test_what_cannot_go_back_says_why(self, of_volume, of_pool, reason):
        now = Cluster(
            (pool('a', **of_pool), pool('b'), pool('c')),
            (volume('u', 'b', size_gib=1), dataclasses.replace(
                volume('v', 'b'), **of_volume)))
        back = _undo(now, [undo.Made('v', 'a', 'b')])
        self.assertEqual([('v', reason)], [
            (each.volume, each.reason) for each in back.refused])
        self.assertEqual((), back.moves)

    @ddt.data(
        (undo.Made('gone', 'a', 'b'), 'it is no longer there'),
        (undo.Made('v', 'x', 'b'), 'there is no pool x'),
        (undo.Made('v', 'a', 'b', ended=False), Code.UNDER_WAY.of()))
    @ddt.unpack
    def test_what_is_no_longer_there(self, made, reason):
        now = Cluster((pool('a'), pool('b')), (volume('v', 'b'),))
        back = _undo(now, [made])
        self.assertEqual([reason], [each.reason for each in back.refused])

    def test_max_fill_counts(self):
        now = Cluster((pool('a', free_gib=150), pool('b')),
                      (volume('v', 'b', size_gib=60),))
        back = _undo(now, [undo.Made('v', 'a', 'b')],
                     Limits(max_fill=0.95))
        self.assertEqual(
            ['a has 50 GiB free below max_fill 95 %, 60 needed'],
            [each.reason for each in back.refused])

    def test_none_goes_back_off_a_pool_that_is_left_out_since(self):
        now = Cluster((pool('a'), pool('b', balance=False)),
                      (volume('v', 'b'),))
        back = _undo(now, [undo.Made('v', 'a', 'b')])
        self.assertEqual((), back.moves)
        self.assertEqual(['b is left out of balancing by its serifos_balance'],
                         [each.reason for each in back.refused])

    def test_only_its_own_volumes_do_not_cool_down_for_it(self):
        now = Cluster((pool('a'), pool('b')), (
            volume('v', 'b', movable=COOLS), volume('w', 'b', movable=COOLS),
            volume('x', 'b', movable='attached')))
        back = _undo(now, [undo.Made('v', 'a', 'b')])
        found = usable.of(back, now)
        self.assertEqual([True, COOLS, 'attached'],
                         [each.movable for each in found.volumes])
        self.assertIs(now, usable.of(
            dataclasses.replace(back, planner='relieve'), now))
