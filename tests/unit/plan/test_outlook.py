# SPDX-License-Identifier: Apache-2.0
"""What a plan comes to agrees with the plan itself."""

import dataclasses
import functools

from hypothesis import example
from hypothesis import given
from hypothesis import settings
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts import refusals
from serifos.facts.workload import Workload
from serifos.plan.outlook import carried_out
from serifos.plan.outlook import Expected
from serifos.plan.outlook import of
from serifos.plan.problem import Problem
from serifos.plan import relieve
from serifos.plan.state import State
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

LIMITS = Limits()


def outlook(cluster, limits=LIMITS, expected=({}, {})):
    plan = clusters.planned(relieve, cluster, limits)
    first = State.of(Problem.of(
        cluster, clusters.models_of(cluster), limits))
    return of(plan, first, carried_out(first, plan), *expected)


class OutlookTest(testtools.TestCase):

    @given(clusters.clusters())
    @example(clusters.of_seed(2451))  # an unknown one in a pool not listed
    @settings(deadline=None, max_examples=30)
    def test_its_pools_add_up_to_the_plan(self, cluster):
        seen = outlook(cluster, Limits(every_refusal=True))
        plan = seen.plan
        self.assertEqual(
            {name: (change.before, change.after)
             for name, change in plan.latency_us.items()},
            {each.pool.name: each.latencies_us for each in seen.pools
             if each.planned})
        for side in 'before', 'after':
            self.assertEqual(getattr(plan.slo_violated, side), sum(
                getattr(each, side).violated for each in seen.pools))
            self.assertLessEqual(getattr(plan.slo_misses, side), sum(
                getattr(each, side).broken for each in seen.pools))
        self.assertEqual(plan.hot_pools.after, sum(
            each.after.hot for each in seen.pools))
        self.assertEqual(len(plan.refused), sum(
            each.volumes for each in seen.staying))
        self.assertEqual(
            [each.latencies_us[0] for each in seen.pools],
            sorted((each.latencies_us[0] for each in seen.pools),
                   reverse=True))
        shares = sum(each.share for each in seen.immovable)
        self.assertTrue(0 <= shares <= 1 + 1e-9, shares)
        self.assertEqual(shares > 0, any(each.immovable for each in seen.pools)
                         or any(each.share > 0 for each in seen.immovable
                                if each.example.pool == 'gone'))

    def test_what_moves_leaves_space(self):
        seen = outlook(Cluster((pool('a', free_gib=100), pool('b')), (
            volume('u', 'a', 64, size_gib=60), volume('v', 'a', 64))))
        free = {each.pool.name: (each.before.free_gib, each.after.free_gib)
                for each in seen.pools}
        moved = seen.gib
        self.assertEqual({'a': (100, 100 + moved), 'b': (1000, 1000 - moved)},
                         free)
        self.assertEqual(['a'], [each.pool.name for each in seen.relieved])
        self.assertEqual(['b'], [each.pool.name for each in seen.slower])
        self.assertEqual({'a', 'b'}, seen.touched)

    def test_what_tenants_see_is_the_mean_of_the_known(self):
        def busy(name, latency_us, iops=1000.0):
            return volume(name, 'a', workload=Workload(
                50, 16, iops=iops, latency_us=latency_us))

        seen, = outlook(Cluster((pool('a'),), (
            busy('t', 1000.0), busy('u', 3000.0), busy('v', 9000.0, 0.01),
            volume('w', 'a', workload=None)))).pools
        self.assertEqual((4, 3, 2000), (
            seen.volumes, seen.active, seen.seen_us))

    def test_what_may_not_move_is_told_by_its_load(self):
        def busy(name, q, movable=True):
            return volume(name, 'a', movable=movable, workload=Workload(
                50, 16, q))

        held = functools.partial(
            refusals.Reason, code=refusals.Code.SNAPSHOTS)
        seen = outlook(Cluster((pool('a'), pool('b')), (
            busy('u', 6, held('a snapshot holds it')), busy('v', 3),
            busy('w', 2, held('2 snapshots hold it')),
            busy('x', 1, 'Tuesday'))))
        slow, _ = seen.pools
        self.assertEqual(0.75, slow.immovable)
        self.assertEqual(
            [('snapshots hold it', 2, 8 / 12, 'u', ('a',)),
             ('Tuesday', 1, 1 / 12, 'x', ('a',))],
            [(each.kind, each.volumes, each.share, each.example.id,
              each.pools) for each in seen.immovable])

    def test_what_no_other_pool_may_take_is_immovable(self):
        bars = {
            'zone': ({'zone': 'y'}, {}),
            'backend': ({'backend_name': 'hdd'},
                        {'required_backend_name': 'ssd'}),
            'type': ({'refuses': frozenset(['gold'])},
                     {'volume_type': 'gold'}),
            'state': ({'state': 'down'}, {}),
            'left out': ({'balance': False}, {}),
            'one device': ({'device': 'd'}, {}),
            'apart': ({}, {'different_pool': ('x',)})}
        for name, (other, its) in bars.items():
            a, b = pool('a'), dataclasses.replace(pool('b'), **other)
            if name == 'one device':
                a = dataclasses.replace(a, device='d')
            if name == 'backend':
                a = dataclasses.replace(a, backend_name='ssd')
            seen = outlook(Cluster((a, b), (
                volume('u', 'a', 64, **its),
                volume('v', 'b', 1, different_pool=('x',)))))
            found = [each for each in seen.immovable
                     if each.example.id == 'u']
            self.assertEqual(
                [refusals.Code.NO_OTHER_MODEL if name == 'one device'
                 else refusals.Code.NO_OTHER_POOL],
                [each.code for each in found], name)
            self.assertEqual(1, next(
                each.immovable for each in seen.pools
                if each.pool.name == 'a'))

    def test_a_pool_without_space_freezes_nothing(self):
        seen = outlook(Cluster((pool('a'), pool('b', free_gib=0)), (
            volume('u', 'a', 64), volume('v', 'a', 64))))
        self.assertEqual((), seen.immovable)

    def test_a_gain_may_be_an_error_of_the_model(self):
        cluster = Cluster((pool('a'), pool('b')), (
            volume('u', 'a', 64), volume('v', 'a', 64)))
        for low_us, within in (600.0, True), (700.0, False):
            before = {'a': Expected(low_us, 2000.0, False)}
            slow, other = outlook(cluster, expected=(before, before)).pools
            self.assertEqual((1280, 640), slow.latencies_us)
            self.assertEqual((within, False), (
                slow.within_interval, other.within_interval))

    def test_a_move_of_an_unknown_duration(self):
        seen = outlook(Cluster((pool('a'), pool('b')), (
            volume('u', 'a'), volume('v', 'a'))))
        self.assertEqual(100, seen.copy_s)
        move, = seen.plan.moves
        old = dataclasses.replace(
            move, copy_s=None, source_during_us=None, target_during_us=None)
        seen = dataclasses.replace(seen, plan=dataclasses.replace(
            seen.plan, moves=(move, old)))
        self.assertIsNone(seen.copy_s)
        self.assertEqual(max(move.source_during_us, move.target_during_us),
                         seen.meanwhile_us)
