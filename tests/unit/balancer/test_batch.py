# SPDX-License-Identifier: Apache-2.0
"""Several migrations at a time, and the moves that a round carries out."""

import ddt

from serifos.balancer import batch
from serifos.facts import cluster as cl
from serifos.facts import times
from serifos.plan import plan as pl
from tests.unit.balancer import cloud

POOLS = tuple(f'{name}@ssd#ssd' for name in 'abcdef')
A, B, C, D, E, F = POOLS


def move(volume, source, target, size_gib=1.0):
    return pl.Move(volume, source, target, size_gib, 2.0, 1.0, 1.0, 1.0, '')


def pools(count, **devices):
    return cl.Cluster(tuple(
        cl.Pool(f'p{n}', device=devices.get(f'p{n}')) for n in range(count)),
        ())


class ChosenTest(cloud.Case):

    MOVES = [move('s', 'p0', 'p1'), move('t', 'p0', 'p2'),
             move('u', 'p0', 'p3'), move('v', 'p4', 'p1'),
             move('w', 'p5', 'p1'), move('x', 'p6', 'p7', 9.0)]

    def chosen(self, cluster, moves=MOVES, exceeded=lambda gib: None):
        return ''.join(each.volume for each in batch.chosen(
            moves, 2, cluster, exceeded))

    def test_the_first_where_there_are_few_pools(self):
        self.assertEqual('st', self.chosen(pools(20)))

    def test_the_first_from_and_to_each_pool_where_there_are_many(self):
        self.assertEqual('stvx', self.chosen(pools(21)))

    def test_pools_of_one_device_count_as_one(self):
        self.assertEqual('st', self.chosen(pools(
            21, p0='d', p4='d', p5='d', p6='d')))

    def test_moves_beyond_a_limit_leave_their_place_to_others(self):
        why = {True: 'too much', False: None}
        self.assertEqual('wv', self.chosen(
            pools(21), self.MOVES[::-1], lambda gib: why[gib > 2]))


@ddt.ddt
class ParallelTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.cinder = self.cloud(
            [cloud.record('s', A), cloud.record('t', C),
             cloud.record('u', E), cloud.record('v', A)],
            {name: cloud.busy(64) for name in 'stuv'}, POOLS)
        self.moves = [move('s', A, B), move('t', C, D), move('u', E, F)]

    def carry_out(self, moves=None, **others):
        return [each.result for each in self.balancer.carry_out(
            self.moves if moves is None else moves, 'p', **others)]

    def times_of(self, kind):
        return {entry.facts['volume']: times.parse(entry.at) - cloud.NOW
                for entry in self.entries() if entry.kind == kind}

    def test_moves_of_different_pools_run_at_the_same_time(self):
        self.assertEqual(['success'] * 3, self.carry_out())
        self.assertEqual({'s': B, 't': D, 'u': F, 'v': A}, self.homes())
        self.assertLess(max(self.times_of('request').values()), 1)
        self.assertLess(self.slept, 40)

    def test_no_more_of_them_than_the_limit(self):
        self.set(parallel=2)
        self.carry_out()
        asked, over = self.times_of('request'), self.times_of('outcome')
        self.assertLessEqual(min(over.values()), asked['u'])
        self.assertLess(asked['t'], 1)

    @ddt.data(({}, move('v', A, F)), ({}, move('v', A, B)),
              ({A: 'd', C: 'd'}, move('t', C, D)),
              ({B: 'd', D: 'd'}, move('t', C, D)))
    def test_moves_that_share_a_device_wait_for_each_other(self, case):
        devices, other = case
        self.assertEqual(['success'] * 2, self.carry_out(
            [self.moves[0], other], devices=devices))
        self.assertLessEqual(self.times_of('outcome')['s'],
                             self.times_of('request')[other.volume])

    def test_a_move_does_not_overtake_one_that_shares_its_device(self):
        # The last two are of one pool; the second has to wait for the first.
        self.carry_out([self.moves[0], move('v', A, D), move('t', C, D)])
        self.assertEqual(['s', 'v', 't'],
                         [volume for volume, _ in self.cinder.asked])

    def test_a_foreign_migration_ends_the_batch_and_ours_are_waited_for(self):
        migrate, began = self.cinder.migrate, []

        def meanwhile(volume, pool):
            migrate(volume, pool)
            if not began:
                began.append(volume)
                migrate('u', F)
        self.cinder.migrate = meanwhile
        self.assertEqual(['hindered', 'success'], self.carry_out())
        self.assertEqual(['s'], began)
        self.assertIn('Volume t stays: Volume u on', self.log.output)

    @ddt.data('error', 'refused')
    def test_a_failure_is_that_volumes_business(self, fault):
        self.cinder.faults['t'] = fault
        self.assertEqual([fault, 'success', 'success'],
                         sorted(self.carry_out()))
        self.assertEqual({'s': B, 't': C, 'u': F, 'v': A}, self.homes())

    def test_failures_in_a_row_pause_it_once(self):
        self.set(max_failures=2, parallel=2)
        self.cinder.faults = dict.fromkeys('st', 'error')
        self.assertEqual(['error'] * 2, self.carry_out())
        self.assertEqual(1, self.kinds().count('pause'))

    def test_one_without_an_end_ends_the_batch(self):
        self.set(parallel=2)
        self.cinder.faults['s'] = 'killed'
        self.cinder.faults['u'] = 'killed'
        self.assertEqual(['success', 'timeout', 'timeout'], self.carry_out())
        self.moves = [move('v', A, B)]
        self.assertEqual(['hindered'], self.carry_out())

    def test_a_cinder_that_answers_no_more_loses_none(self):
        migrate = self.cinder.migrate

        def once(volume, pool):
            migrate(volume, pool)
            self.cinder.answers = False
        self.cinder.migrate = once
        pause = self.pause

        def later(seconds):
            if self.slept > 5:
                self.cinder.answers = True
            return pause(seconds)
        self.pause = later
        self.assertEqual(['hindered', 'success'], self.carry_out())
        self.assertEqual(B, self.homes()['s'])

    def test_a_stop_leaves_all_to_the_next_start(self):
        self.stop_after = 5
        self.assertEqual(['waiting'] * 3, self.carry_out())
        self.stop_after = None
        self.balancer.settle_open_moves()
        self.assertEqual({'s', 't', 'u'}, {*self.times_of('outcome')})
        self.assertEqual(3, len(self.cinder.asked))
        self.assertLess(self.slept, 40)

    def test_a_window_that_closes_ends_the_batch(self):
        self.set(parallel=1)
        pace = cloud.settings.pc.Pace(windows=((0, 1), ))
        self.now = times.parse('2027-01-15T00:00:50Z')
        self.assertEqual(['success', 'hindered'], self.carry_out(pace=pace))

    def test_gib_an_hour_are_looked_at_before_each(self):
        pace = cloud.settings.pc.Pace(max_gib_per_hour=2.5)
        self.assertEqual(['hindered', 'success', 'success'],
                         sorted(self.carry_out(pace=pace)))
