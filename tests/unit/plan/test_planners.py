# SPDX-License-Identifier: Apache-2.0

import collections
import dataclasses

import ddt
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts.workload import Workload
from serifos.plan import bfd
from serifos.plan.plan import Cause
from serifos.plan import relieve
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

BOTH = (bfd, relieve)


def _plan(planner, pools, volumes, **limits):
    return clusters.planned(
        planner, Cluster(tuple(pools), tuple(volumes)),
        Limits(**{'every_refusal': True, **limits}))


def _steps(plan):
    return [(m.volume, m.source, m.target) for m in plan.moves]


def _why(plan):
    return {r.volume: r.reason for r in plan.refused}


@ddt.ddt
class BothTestCase(testtools.TestCase):
    """The model 'flat' is 10 µs per KiB of all blocks on a pool."""

    @ddt.data(*BOTH)
    def test_a_crowded_pool_is_relieved(self, planner):
        plan = _plan(planner, [pool('a'), pool('b')],
                     [volume('u', 'a', 40), volume('v', 'a', 40)])
        self.assertEqual(1, len(plan.moves))
        move = plan.moves[0]
        self.assertEqual(('a', 'b', 10), (
            move.source, move.target, move.size_gib))
        self.assertEqual((800, 400, 0, 400), (
            move.source_before_us, move.source_after_us,
            move.target_before_us, move.target_after_us))
        self.assertEqual('slower of both pools 0.8 -> 0.4 ms', move.reason)
        self.assertEqual((1, 0), (plan.hot_pools.before, plan.hot_pools.after))
        self.assertEqual((800, 400), (plan.max_us.before, plan.max_us.after))
        self.assertEqual((400, 400),
                         (plan.mean_us.before, plan.mean_us.after))
        self.assertEqual((160000, 0), (
            plan.variance_us2.before, plan.variance_us2.after))
        self.assertFalse(plan.truncated)

    @ddt.data(*BOTH)
    def test_a_tie_stays_home(self, planner):
        plan = _plan(planner, [pool('a'), pool('b')], [volume('u', 'a')])
        self.assertEqual((), plan.moves)
        self.assertEqual({'u': 'a move would gain nothing'}, _why(plan))

    @ddt.data(*BOTH)
    def test_one_hot_pool_of_hundreds_is_relieved(self, planner):
        # The variance over 300 pools falls by 0.1 %, their worst not at all.
        pools = [pool(f'p{i:03}') for i in range(300)]
        volumes = [volume(f'v{i:03}', f'p{i:03}', 10 + 50 * (i % 2))
                   for i in range(297)]
        volumes += [volume('u', 'p297', 100),
                    volume('w', 'p298', 50, movable='pinned'),
                    volume('x', 'p298', 45)]
        plan = _plan(planner, pools, volumes)
        self.assertEqual(['x'], [move.volume for move in plan.moves])
        self.assertLess(plan.latency_us['p298'].after, 600)

    @ddt.data(*BOTH)
    def test_a_pool_that_is_not_hot_is_left_alone(self, planner):
        pools = [pool(f'p{i}') for i in range(6)]
        volumes = [volume(f'v{i}', f'p{i}', 40) for i in range(6)]
        plan = _plan(planner, pools, [*volumes, volume('w', 'p0', 9)])
        self.assertEqual((), plan.moves)
        plan = _plan(planner, pools, [*volumes, volume('w', 'p0', 13)],
                     hot_ratio=0.2, min_gain=0.01)
        self.assertEqual((), plan.moves)
        self.assertEqual(0, plan.hot_pools.before - 1)

    @ddt.data(*BOTH)
    def test_only_pools_that_have_been_hot_for_long_are_relieved(
            self, planner):
        pools = [pool(name) for name in 'abc']
        volumes = [volume('u', 'a', 40), volume('v', 'a', 40)]
        for held, moves in (['a'], 1), (['b'], 0), ([], 0):
            plan = _plan(planner, pools, volumes, held=frozenset(held))
            self.assertEqual(moves, len(plan.moves))

    @ddt.data(*BOTH)
    def test_no_pool_becomes_worse_than_the_worst_was(self, planner):
        # b1 itself would be faster for u; b2 on the same device is slow.
        pools = [pool('a'), pool('b1', device='x'),
                 pool('b2', 'slow', device='x')]
        plan = _plan(planner, pools, [volume('u', 'a', 10),
                                      volume('v', 'a', 4, movable='pinned')])
        self.assertEqual((), plan.moves)
        self.assertEqual(
            'the slower of both pools would show 0.3 ms instead of 0.14',
            _why(plan)['u'])

    @ddt.data(*BOTH)
    def test_max_moves_ends_a_plan_that_has_more_to_do(self, planner):
        pools = [pool(name) for name in 'abc']
        volumes = [volume(f'v{i}', 'a', 40) for i in range(3)]
        one = _plan(planner, pools, volumes, max_moves=1)
        self.assertEqual((1, True), (len(one.moves), one.truncated))
        self.assertIn('max_moves 1 is reached', _why(one).values())
        two = _plan(planner, pools, volumes, max_moves=2)
        self.assertEqual((2, False), (len(two.moves), two.truncated))

    @ddt.data(*BOTH)
    def test_max_moves_bounds_those_off_each_pool_where_there_are_many(
            self, planner):
        pools = [pool(f'p{i:02}') for i in range(30)]
        volumes = [volume(f'v{i:02}', f'p{i % 2:02}', 40) for i in range(18)]
        plan = _plan(planner, pools, volumes, max_moves=2)
        self.assertEqual(
            {'p00': 2, 'p01': 2},
            collections.Counter(move.source for move in plan.moves))
        self.assertTrue(plan.truncated)
        self.assertEqual({'max_moves 2 is reached'}, {*_why(plan).values()})

    @ddt.data(*BOTH)
    def test_several_moves_that_count_as_one_are_one_of_max_moves(
            self, planner):
        # 11 of 100 volumes may leave a, which lowers it by 11 %.
        volumes = [volume(f'v{i:03}', 'a', 16,
                          movable=True if i < 11 else 'pinned')
                   for i in range(100)]
        pools = [pool(name) for name in 'abc']
        plan = _plan(planner, pools, volumes, max_moves=1)
        self.assertEqual((11, False), (len(plan.moves), plan.truncated))
        # Beside a pool of few volumes, one of them is left to the next plan.
        volumes += [volume(f'w{i}', 'c', 700) for i in range(2)]
        plan = _plan(planner, pools, volumes, max_moves=1)
        self.assertTrue(plan.truncated)
        self.assertEqual(1, len({move.source for move in plan.moves}))
        self.assertIn(len(plan.moves), (1, 11))

    @ddt.data(*BOTH)
    def test_space_that_the_plan_frees_is_for_the_next_plan(self, planner):
        # c takes w off b; only then is there room on b for u.
        pools = [pool('a', free_gib=0, backend_name='s'),
                 pool('b', free_gib=0, backend_name='s'),
                 pool('c', free_gib=20)]
        volumes = [volume('u', 'a', 100, 20, required_backend_name='s'),
                   volume('v', 'a', 120, 500),
                   volume('w', 'b', 220, 20), volume('x', 'b', 30, 500)]
        plan = _plan(planner, pools, volumes)
        self.assertEqual([('w', 'b', 'c')], _steps(plan))
        self.assertTrue(plan.truncated)
        self.assertEqual(
            'b has 0 GiB free, 20 needed, until moves of this plan free more',
            _why(plan)['u'])
        after = clusters.applied(
            Cluster(tuple(pools), tuple(volumes)), plan.moves)
        again = _plan(planner, after.pools, after.volumes)
        self.assertEqual([('u', 'a', 'b')], _steps(again))
        self.assertFalse(again.truncated)

    @ddt.data(*BOTH)
    def test_pools_on_one_device_add_their_loads(self, planner):
        plan = _plan(
            planner,
            [pool('a1', device='x'), pool('a2', None, device='x'),
             pool('b1', device='y'), pool('b2', device='y')],
            [volume('u', 'a1', 40), volume('v', 'a2', 40),
             volume('w', 'b1', 10)])
        # v's Load weighs on a1 although its pool has no model.
        self.assertEqual([('u', 'a1', 'b1')], _steps(plan))
        self.assertEqual({'a1', 'b1', 'b2'}, set(plan.latency_us))
        self.assertEqual([800, 100, 100], [
            change.before for change in plan.latency_us.values()])
        self.assertEqual([400, 500, 500], [
            change.after for change in plan.latency_us.values()])

    @ddt.data(
        ({'movable': 'a snapshot holds it'}, 'a snapshot holds it'),
        ({'workload': None}, 'no telemetry'),
        ({'workload': None, 'movable': 'in a group'}, 'in a group'),
        ({'required_backend_name': 'hdd'},
         'b is of backend ssd, the volume requires hdd'),
        ({'size_gib': 1001}, 'b has 1000 GiB free, 1001 needed'))
    @ddt.unpack
    def test_a_volume_that_may_not_move_says_why(self, more, reason):
        for planner in BOTH:
            pools = [pool(n, backend_name='ssd') for n in 'ab']
            plan = _plan(planner, pools, [
                volume('u', 'a', 40, movable='pinned'),
                volume('v', 'a', 40, **more)])
            self.assertEqual((), plan.moves)
            self.assertEqual({'u': 'pinned', 'v': reason}, _why(plan))

    @ddt.data(
        ({'state': 'down'}, 'b is down'),
        ({'zone': 'west'}, 'b is in another zone, west'),
        ({'free_gib': 2}, 'b has 2 GiB free, 10 needed'),
        ({'free_gib': 0, 'state': 'frozen'}, 'b is frozen'),
        ({'free_gib': 0, 'space_unknown': 'of v'},
         'the free space of b is not known: of v'))
    @ddt.unpack
    def test_a_target_that_may_not_be_says_why(self, more, reason):
        for planner in BOTH:
            plan = _plan(planner, [pool('a'), pool('b', **more)],
                         [volume('u', 'a', 40), volume('v', 'a', 40)])
            self.assertEqual((), plan.moves)
            self.assertEqual({'u': reason, 'v': reason}, _why(plan))

    @ddt.data(*BOTH)
    def test_sources_that_cannot_be_left_say_why(self, planner):
        plan = _plan(
            planner, [pool('a', state='down'), pool('b', None), pool('c'),
                      pool('d', None, state='disabled')],
            [volume('u', 'a', 40), volume('v', 'b', 40),
             volume('w', 'gone', 40), volume('x', 'd', 40)])
        self.assertEqual({'u': 'a is down', 'v': 'b has no model',
                          'w': 'the cluster has no pool gone',
                          'x': 'd is disabled'}, _why(plan))

    @ddt.data(*BOTH)
    def test_a_typical_volume_stands_in_for_an_unknown_one(self, planner):
        # a has one volume that is known; b's other one is as x, of gold.
        volumes = [volume('u', 'a', 40), volume('v', 'a', 40),
                   volume('w', 'b', workload=None, volume_type='gold'),
                   volume('x', 'c', 60, volume_type='gold')]
        plan = _plan(planner, [pool(name) for name in 'abcd'], volumes)
        self.assertEqual(600, plan.latency_us['b'].before)
        self.assertEqual(['d'], [move.target for move in plan.moves])
        self.assertEqual('no telemetry', _why(plan)['w'])

    @ddt.data(*BOTH)
    def test_an_idle_volume_is_neither_moved_nor_refused(self, planner):
        plan = _plan(planner, [pool('a'), pool('b')], [
            volume('u', 'a', 40), volume('v', 'a', 40),
            volume('w', 'a', workload=clusters.IDLE, movable='pinned')])
        self.assertEqual(1, len(plan.moves))
        self.assertNotIn('w', _why(plan))

    @ddt.data(*BOTH)
    def test_a_small_gain_is_refused_with_its_size(self, planner):
        plan = _plan(planner, [pool('a'), pool('b')],
                     [volume('u', 'a', 100, movable='pinned'),
                      volume('v', 'a', 2)])
        self.assertEqual((), plan.moves)
        self.assertEqual('gain 1.96 % is below min_gain 10 %',
                         _why(plan)['v'])

    @ddt.data(*BOTH)
    def test_slo_misses_are_counted_before_and_after(self, planner):
        plan = _plan(planner, [pool('a'), pool('b')],
                     [volume('u', 'a', 40, max_latency_us=500),
                      volume('v', 'a', 40, max_latency_us=300)])
        self.assertEqual((2, 1), (
            plan.slo_misses.before, plan.slo_misses.after))

    @ddt.data(*BOTH)
    def test_an_slo_is_judged_by_what_its_tenant_sees(self, planner):
        # u and v see 0.7 and 6.3 ms on a, 3.5 ms in the mean.
        small, large = Workload(0, 4), Workload(0, 256)
        volumes = [volume('u', 'a', workload=small, max_latency_us=1000),
                   volume('v', 'a', workload=large, max_latency_us=5000),
                   volume('w', 'b', workload=large, max_latency_us=7000)]
        plan = _plan(planner, [pool(name, 'apart') for name in 'ab'], volumes)
        model = clusters.MODELS['apart']
        load = model.load([small, large])
        for workload, least, most in (small, 0, 1000), (large, 5000, 7000):
            self.assertTrue(
                least < model.tenant(load, workload).latency_us < most)
        self.assertTrue(1000 < plan.latency_us['a'].before < 5000)
        self.assertEqual(1, plan.slo_misses.before)
        self.assertNotIn('u', [move.volume for move in plan.moves])

    @ddt.data(*BOTH)
    def test_no_move_breaks_an_slo_that_is_kept(self, planner):
        pools = [pool('a'), pool('b')]
        volumes = [volume('u', 'a', 64), volume('v', 'a', 40),
                   volume('w', 'b', 1, max_latency_us=300)]
        plan = _plan(planner, pools, volumes)
        self.assertEqual((), plan.moves)
        self.assertEqual('on b volume w there would see more than the 300 µs '
                         'of its SLO', _why(plan)['v'])
        # One that is not kept hinders nobody.
        volumes[2] = volume('w', 'b', 1, max_latency_us=5)
        self.assertNotEqual((), _plan(planner, pools, volumes).moves)

    @ddt.data(*BOTH)
    def test_an_empty_cluster_has_an_empty_plan(self, planner):
        plan = _plan(planner, [], [volume('u', 'a')])
        self.assertEqual(((), 0, 0), (
            plan.moves, plan.max_us.before, plan.variance_us2.after))

    @ddt.data(*BOTH)
    def test_absurd_loads_do_not_leave_a_residue(self, planner):
        huge = Workload(50, 1e6, iops=1e12, latency_us=1e12)
        plan = _plan(planner, [pool('a', 'deep'), pool('b', 'deep')], [
            volume('u', 'a', 40), volume('v', 'a', workload=huge),
            volume('w', 'b', 40)])
        after = clusters.applied(
            Cluster((pool('a', 'deep'), pool('b', 'deep')), (
                volume('u', 'a', 40), volume('v', 'a', workload=huge),
                volume('w', 'b', 40))), plan.moves)
        self.assertFalse(plan.truncated)
        self.assertEqual((), _plan(planner, after.pools,
                                   after.volumes).moves)


class BfdTestCase(testtools.TestCase):

    def test_the_largest_block_moves_first(self):
        plan = _plan(bfd, [pool('a'), pool('b'), pool('c')],
                     [volume('t', 'a', 20), volume('u', 'a', 30),
                      volume('v', 'a', 40)])
        self.assertEqual([('v', 'a', 'b'), ('u', 'a', 'c')], _steps(plan))

    def test_as_many_moves_as_it_takes(self):
        pools = [pool(f'p{i}') for i in range(9)]
        plan = _plan(bfd, pools, [
            volume(f'v{i}', 'p0', 40) for i in range(9)])
        self.assertEqual((8, False), (len(plan.moves), plan.truncated))
        self.assertEqual(0, plan.variance_us2.after)

    def test_several_moves_off_a_pool_of_many_volumes_count_as_one(self):
        # None of 30 volumes alone lowers a by a tenth, 3 of them do.
        volumes = [volume(f'v{i:02}', 'a', 16) for i in range(30)]
        plan = _plan(bfd, [pool(name) for name in 'abc'], volumes)
        self.assertIn('of several', plan.moves[0].reason)
        self.assertFalse(plan.truncated)
        self.assertLess(plan.max_us.after, plan.max_us.before / 2)
        # Where they do not together, none is made.
        pinned = [dataclasses.replace(each, movable='pinned')
                  for each in volumes[2:]]
        self.assertEqual((), _plan(
            bfd, [pool(name) for name in 'abc'],
            [*volumes[:2], *pinned]).moves)


class RelieveTestCase(testtools.TestCase):

    def test_an_slo_that_no_move_keeps_is_exceeded_by_less(self):
        # 0.3 ms beyond at first; on c u sees 0.11 ms more than its SLO.
        pools = [pool(name) for name in 'abc']
        volumes = [volume('u', 'a', 60, max_latency_us=500),
                   volume('w', 'a', 20, movable='pinned'),
                   volume('v', 'b', 15, max_latency_us=400),
                   volume('x', 'b', 30, max_latency_us=500,
                          movable='pinned'),
                   volume('y', 'c', 1, movable='pinned')]
        plan = _plan(relieve, pools, volumes)
        # v would fit c as well, but then u could not go there.
        self.assertEqual([('u', 'a', 'c'), ('v', 'b', 'a')], _steps(plan))
        self.assertEqual([Cause.FORECAST_REDUCED, Cause.FORECAST_AVOIDED],
                         [move.cause for move in plan.moves])
        self.assertEqual((2, 1), (
            plan.slo_misses.before, plan.slo_misses.after))
        self.assertFalse(plan.truncated)

    def test_an_slo_is_eased_on_a_pool_that_is_not_hot(self):
        pools = [pool('a'), pool('b')]
        volumes = [volume('u', 'a', 40, max_latency_us=500),
                   volume('v', 'a', 40, movable='pinned'),
                   volume('w', 'b', 20, movable='pinned')]
        plan = _plan(relieve, pools, volumes, hot_ratio=9.0)
        self.assertEqual([Cause.FORECAST_REDUCED],
                         [move.cause for move in plan.moves])
        volumes[0] = dataclasses.replace(volumes[0], max_latency_us=None)
        plan = _plan(relieve, pools, volumes, hot_ratio=9.0)
        self.assertEqual((), plan.moves)

    def test_no_slo_is_exceeded_by_more_that_another_be_by_less(self):
        pools = [pool('a'), pool('b')]
        volumes = [volume('u', 'a', 30, max_latency_us=200),
                   volume('v', 'a', 40, movable='pinned'),
                   volume('w', 'b', 20, max_latency_us=100,
                          movable='pinned')]
        plan = _plan(relieve, pools, volumes, hot_ratio=9.0)
        self.assertEqual((), plan.moves)
        self.assertEqual('its pool is not hot, and SLOs would be '
                         'exceeded by more or nearly as much on b',
                         _why(plan)['u'])

    def test_by_hardly_less_is_not_enough(self):
        # The excess falls from 0.35 to 0.2 ms, the slower pool by 0.15.
        pools = [pool('a'), pool('b')]
        volumes = [volume('u', 'a', 20, max_latency_us=250),
                   volume('v', 'a', 40, movable='pinned'),
                   volume('w', 'b', 25, movable='pinned')]
        for min_gain, moves in (0.24, 1), (0.26, 0):
            plan = _plan(relieve, pools, volumes, hot_ratio=9.0,
                         min_gain=min_gain)
            self.assertEqual(moves, len(plan.moves))
        # Nor is a copy that outweighs it.
        plan = _plan(relieve, pools, volumes, hot_ratio=9.0, min_gain=0.1,
                     horizon_s=1.0)
        self.assertEqual((), plan.moves)

    def test_four_moves_where_nothing_else_is_said(self):
        pools = [pool(f'p{i}') for i in range(9)]
        volumes = [volume(f'v{i}', 'p0', 40) for i in range(9)]
        plan = _plan(relieve, pools, volumes)
        self.assertEqual((4, True), (len(plan.moves), plan.truncated))

    def test_a_further_move_is_made_for_a_fifth_of_min_gain(self):
        held = volume('held', 'a', 60, movable='pinned')
        pools, rest = [pool('a'), pool('b')], [
            volume('half', 'a', 20), volume('bit', 'a', 1)]
        for min_gain, moved in (0.1, {'half'}), (0.0, {'half', 'bit'}):
            plan = _plan(relieve, pools, [held, *rest], min_gain=min_gain)
            self.assertEqual(moved, {move.volume for move in plan.moves})

    def test_the_move_that_relieves_most_comes_first(self):
        plan = _plan(relieve, [pool('a'), pool('b')],
                     [volume('t', 'a', 10), volume('u', 'a', 40),
                      volume('v', 'a', 30)])
        self.assertEqual([('u', 'a', 'b')], _steps(plan))

    def test_an_slowest_pool_that_is_stuck_lets_the_next_one_go(self):
        plan = _plan(relieve, [pool('a'), pool('b'), pool('c')],
                     [volume('t', 'a', 90, movable='pinned'),
                      volume('u', 'b', 40), volume('v', 'b', 40)])
        self.assertEqual(1, len(plan.moves))
        self.assertEqual('b', plan.moves[0].source)
