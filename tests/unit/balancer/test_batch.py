# SPDX-License-Identifier: Apache-2.0
"""Several migrations at a time, and the moves that a round carries out."""

import random

import ddt

from serifos.balancer import batch
from serifos.balancer.pace import Pace
from serifos.conf.windows import Window
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts import times
from serifos.plan.plan import Move
from serifos.plan.problem import Problem
from serifos.plan import relieve
from serifos.plan.state import State
from serifos.plan import violations
from tests.fakes.settings import Limits
from tests.unit.balancer import cloud
from tests.unit.plan import clusters

POOLS = tuple(f'{name}@ssd#ssd' for name in 'abcdef')
A, B, C, D, E, F = POOLS


def move(volume, source, target, size_gib=1.0):
    return Move(volume, source, target, size_gib, 2.0, 1.0, 1.0, 1.0, '')


def pools(count, **devices):
    return Cluster(tuple(
        Pool(f'p{n}', device=devices.get(f'p{n}')) for n in range(count)),
        ())


class ChosenTest(cloud.Case):

    MOVES = [move('s', 'p0', 'p1'), move('t', 'p0', 'p2'),
             move('u', 'p0', 'p3'), move('v', 'p4', 'p1'),
             move('w', 'p5', 'p1'), move('x', 'p6', 'p7', 9.0)]

    def chosen(self, cluster, moves=MOVES, exceeded=lambda gib: None,
               most=2):
        return ''.join(each.volume for each in batch.chosen(
            moves, most, cluster, exceeded))

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

    def test_what_counts_on_a_move_that_is_put_off_is_put_off_too(self):
        moves = [move('s', 'p0', 'p1', 9.0), move('t', 'p2', 'p0'),
                 move('u', 'p3', 'p2'), move('v', 'p4', 'p5')]
        for cluster in pools(6), pools(21):
            self.assertEqual('v', self.chosen(
                cluster, moves, lambda gib: 'too much' if gib > 8 else None))
        self.assertIn('Volume t stays for now: volume s was to leave p0 '
                      'first, and stays.', self.log.output)

    def test_a_device_that_is_left_by_another_of_its_pools(self):
        self.assertEqual('', self.chosen(
            pools(21, p0='d', p1='d'),
            [move('s', 'p0', 'p2', 9.0), move('t', 'p3', 'p1')],
            lambda gib: 'too much' if gib > 8 else None))

    def test_one_beyond_the_number_of_a_device_is_put_off(self):
        moves = [move('s', 'p0', 'p1'), move('t', 'p0', 'p2'),
                 move('u', 'p0', 'p3'), move('v', 'p4', 'p0'),
                 move('w', 'p5', 'p4'), move('x', 'p6', 'p7')]
        self.assertEqual('stx', self.chosen(pools(21), moves))

    def bundled(self):
        """u and v share a pool, and so do w and x."""
        label = {'s': (), 't': (), 'u': ('1',), 'v': ('1',), 'w': ('2',),
                 'x': ('2',)}
        return Cluster(pools(20).pools, tuple(
            Volume(name, 'p0', 1.0, same_pool=its)
            for name, its in label.items()))

    def test_what_moves_together_counts_by_volumes(self):
        moves = [move(name, 'p0', to) for name, to in (
            ('u', 'p1'), ('v', 'p1'), ('w', 'p2'), ('x', 'p2'), ('s', 'p3'))]
        for most, names in (1, 'uv'), (2, 'uv'), (3, 'uv'), (4, 'uvwx'), (
                5, 'uvwxs'):
            self.assertEqual(names, self.chosen(
                self.bundled(), moves, most=most))
        self.assertEqual('ws', self.chosen(
            self.bundled(), [moves[2], moves[4]]))

    def test_none_goes_before_those_that_wait_for_their_number(self):
        moves = [move(name, 'p0', to) for name, to in (
            ('s', 'p1'), ('u', 'p2'), ('v', 'p2'), ('t', 'p3'))]
        self.assertEqual('s', self.chosen(self.bundled(), moves))
        self.assertEqual('uv', self.chosen(self.bundled(), moves[1:]))

    def test_what_moves_together_is_put_off_together(self):
        moves = [move('u', 'p0', 'p1'), move('v', 'p0', 'p1', 9.0),
                 move('s', 'p0', 'p2')]
        self.assertEqual('s', self.chosen(
            self.bundled(), moves,
            lambda gib: 'too much' if gib > 8 else None))


class UnmadeTest(cloud.Case):

    def test_one_is_not_moved_without_what_it_shares_a_pool_with(self):
        unmade = batch.Unmade({}, {'u': 'u', 'v': 'u'})
        self.assertIsNone(unmade.why_not(move('v', 'p0', 'p1')))
        unmade.add('u', 'p0')
        self.assertEqual(
            'volume u, with which it shares a pool, does not come with it',
            unmade.why_not(move('v', 'p0', 'p1')))
        self.assertIsNone(unmade.why_not(move('w', 'p0', 'p1')))


class PutOffTest(cloud.Case):
    """Plans of random small clouds, whose first move is put off."""

    def rest_of(self, moves, cluster):
        """What is carried out without the first move."""
        said = iter(['too much'])
        return batch.chosen(moves, 2, cluster, lambda gib: next(said, None))

    @staticmethod
    def state_of(cluster):
        return State.of(Problem.of(
            cluster, clusters.models_of(cluster), Limits()))

    @staticmethod
    def late(state):
        return {state.problem.volumes[which].id
                for which in violations.broken(state)}

    def test_what_is_carried_out_harms_no_more_than_all_of_it(self):
        tried = 0
        for seed in range(80):
            cluster = crowded(random.Random(seed))
            moves = clusters.planned(relieve, cluster, Limits()).moves[:2]
            if len(moves) < 2:
                continue
            tried += 1
            was, all_of_it, rest = (self.state_of(clusters.applied(
                cluster, some)) for some in (
                (), moves, self.rest_of(moves, cluster)))
            self.assertLessEqual(rest.figure_us.max(), 1.01 * max(
                was.figure_us.max(), all_of_it.figure_us.max()), seed)
            self.assertEqual(set(), self.late(rest) - self.late(was)
                             - self.late(all_of_it), seed)
        self.assertGreater(tried, 20)


def crowded(rng):
    """A few pools, the first of them the fullest; half with SLOs."""
    number, slos = rng.randint(3, 6), rng.random() < 0.5
    return Cluster(
        tuple(clusters.pool(f'p{n}') for n in range(number)),
        tuple(clusters.volume(
            f'v{n}', f'p{min(int(rng.expovariate(0.7)), number - 1)}',
            rng.choice((4, 16, 32, 64, 128)), rng.choice((10, 50, 200)),
            max_latency_us=rng.choice((None, None, 800, 1500))
            if slos else None) for n in range(rng.randint(4, 14))))


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
        return [each.result for each in self.balancer.carrier.carry_out(
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

    def test_what_counts_on_a_failed_one_is_not_started(self):
        self.cinder.faults['s'] = 'error'
        moves = [self.moves[0], move('t', C, A), move('u', E, C),
                 move('v', A, F)]
        self.assertEqual(['error', 'not started', 'not started', 'success'],
                         self.carry_out(moves))
        self.assertEqual({'s': A, 't': C, 'u': E, 'v': F}, self.homes())
        self.assertIn(f'Volume u stays on {E}: volume t was to leave {C} '
                      'first, and stays.', self.log.output)

    def test_what_counts_on_one_that_cannot_begin_is_not_started(self):
        self.cinder.change('s', status='in-use', attachments=('i',))
        self.assertEqual(['not started'] * 2, self.carry_out(
            [self.moves[0], move('u', E, A)]))

    def test_a_volume_that_was_deleted_is_in_nobodys_way(self):
        migrate = self.cinder.migrate
        self.cinder.migrate = lambda volume, pool: (
            self.cinder.unmanage(volume) if volume == 's'
            else migrate(volume, pool))
        self.assertEqual(['gone', 'success'], self.carry_out(
            [self.moves[0], move('u', E, A)]))

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
        self.balancer.carrier.settle_open_moves()
        self.assertEqual({'s', 't', 'u'}, {*self.times_of('outcome')})
        self.assertEqual(3, len(self.cinder.asked))
        self.assertLess(self.slept, 40)

    def test_a_window_that_closes_ends_the_batch(self):
        self.set(parallel=1)
        pace = Pace(windows=(Window.parse('00:00-00:01'),))
        self.now = times.parse('2027-01-15T00:00:50Z')
        self.assertEqual(['success', 'hindered'], self.carry_out(pace=pace))

    def test_gib_an_hour_are_looked_at_before_each(self):
        pace = Pace(max_gib_per_hour=2.5)
        self.assertEqual(['hindered', 'success', 'success'],
                         sorted(self.carry_out(pace=pace)))
