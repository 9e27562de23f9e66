# SPDX-License-Identifier: Apache-2.0
import dataclasses
import logging

import ddt
import fixtures

from serifos.balancer import plans
from serifos import errors
from serifos.facts import times
from serifos.files import documents as store
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import C
from tests.unit.balancer.cloud import record


@ddt.ddt
class RoundTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.log = self.useFixture(fixtures.FakeLogger(level=logging.INFO))

    def rounds(self, count):
        for _ in range(count):
            self.now += 300
            self.balancer.round()

    def test_an_overloaded_pool_is_relieved(self):
        self.assertEqual(1, len(self.balancer.round().moves))
        self.assertIn(self.homes()['u'], (B, C))
        self.assertEqual(A, self.homes()['v'])
        self.assertEqual(['request', 'accepted', 'outcome'], self.kinds())
        self.assertEqual([('u', B)], self.cinder.asked)

    def test_then_nothing_more_moves(self):
        self.rounds(5)
        self.assertEqual(1, len(self.cinder.asked))
        self.assertEqual((), self.balancer.round().moves)

    def test_the_old_copy_is_gone_before_a_move_is_over(self):
        self.balancer.round()
        self.assertEqual({'u', 'v', 'w'}, set(self.homes()))
        outcome = self.entries()[-1]
        self.assertEqual('success', outcome.facts['result'])
        # 10 s of copying, 10 s of wiping, a second before and between.
        self.assertLessEqual(20, outcome.facts['seconds'])

    def test_the_plan_that_is_named_is_the_one_that_is_kept(self):
        self.set(auto=False)
        made = [self.balancer.round() for _ in range(2)]
        self.assertEqual(made[0].id, made[1].id)
        self.assertEqual(made[1], plans.find(
            self.settings.plans_dir, made[1].id))

    def test_an_old_copy_that_cannot_be_deleted(self):
        self.cinder.faults['u'] = 'busy'
        self.balancer.round()
        outcome = self.entries()[-1].facts
        self.assertEqual('success', outcome['result'])
        self.assertIn(f'on {A} is error_deleting', outcome['reason'])
        self.now += 900
        self.balancer.recover(self.balancer.verdict('u'))
        self.assertEqual({'u': B, 'v': A, 'w': B}, self.homes())

    def test_a_move_that_ends_after_its_time_is_a_move(self):
        self.cinder.gib_per_s = 0.005
        self.rounds(1)
        self.assertEqual('timeout', self.entries()[-2].facts['result'])
        self.cinder.gib_per_s = 0.1
        self.now += 3600
        self.balancer.observe()
        seen = store.read_cluster(self.settings.cluster_file)
        self.assertIn('moved', str(seen.volume('u').movable))

    def test_an_empty_pool_that_is_not_seen_is_no_target(self):
        self.cinder = self.cloud([record('u'), record('v')],
                                 {'u': cloud.busy(64), 'v': cloud.busy(32)})
        self.cinder.unseen = {B: 'its node_exporter does not answer.'}
        self.balancer.round()
        self.assertEqual([('u', C)], self.cinder.asked)
        self.assertIn(f'Pool {B} is left out: its node_exporter',
                      self.log.output)

    def test_advice_moves_nothing(self):
        self.set(auto=False)
        plan = self.balancer.round()
        self.assertEqual([], self.cinder.asked)
        self.assertEqual([], self.kinds())
        kept = plans.find(self.settings.plans_dir, plan.id)
        self.assertEqual([('u', A, B)], [
            (move.volume, move.source, move.target) for move in kept.moves])
        self.rounds(3)
        self.assertEqual(
            1, len(list(self.settings.plans_dir.glob('*.json'))))

    def test_the_observation_is_there_for_the_scheduler(self):
        self.set(auto=False)
        self.balancer.round()
        seen = store.read_cluster(self.settings.cluster_file)
        self.assertEqual({A, B, C}, {pool.name for pool in seen.pools})
        self.assertEqual(64, seen.volume('u').workload.block_kib)
        self.assertFalse(seen.volume('w').workload.is_active())

    def test_it_stays_fresh_while_volumes_migrate(self):
        self.set(interval_s=30.0)
        self.cinder = self.cloud(
            [record('u', size_gib=90), record('v'), record('w', B)],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})
        seen = []
        pause = self.pause

        def watch(seconds):
            seen.append(store.read_cluster(
                self.settings.cluster_file).observed_at)
            return pause(seconds)
        self.pause = watch
        self.balancer.round()
        self.assertGreater(len(set(seen)), 10)

    @ddt.data(
        ({'status': 'in-use', 'attachments': 1}, 'attached'),
        ({'snapshots': 1}, 'a snapshot holds it'),
        ({'metadata': {'serifos:pin': 'yes'}}, 'its metadata says'))
    @ddt.unpack
    def test_what_may_not_move_is_refused_in_the_plan(self, change, reason):
        self.cinder = self.cloud(
            [record('u', **change), record('v', **change)],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})
        plan = self.balancer.round()
        self.assertEqual((), plan.moves)
        self.assertEqual(2, len(plan.refused))
        self.assertIn(reason, plan.refused[0].reason)

    def test_a_volume_in_use_moves_where_that_is_allowed(self):
        self.set(allow_attached=True)
        self.cinder = self.cloud(
            [record('u', status='in-use', attachments=1), record('v')],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})
        self.balancer.round()
        self.assertEqual('in-use', self.cinder.volume('u').status)
        self.assertNotEqual(A, self.homes()['u'])

    def test_a_batch_then_it_settles(self):
        self.set(batch=2, settle_s=600.0)
        self.cinder = self.cloud(
            [record(name) for name in 'stuvxy'],
            {name: cloud.busy(64) for name in 'stuvxy'})
        self.balancer.round()
        self.assertEqual(2, len(self.cinder.asked))
        self.now += 300
        self.balancer.round()
        self.assertEqual(2, len(self.cinder.asked))
        self.assertIn('Nothing is moved for another 300 s', self.log.output)
        self.now += 300
        self.balancer.round()
        self.assertGreater(len(self.cinder.asked), 2)

    def test_a_batch_ends_where_somebody_else_migrates(self):
        self.set(batch=2)
        self.cinder = self.cloud(
            [record(name) for name in 'stuv'] + [record('w', B)],
            {name: cloud.busy(64) for name in 'stuv'})
        pause = self.pause

        def meanwhile(seconds):
            if not any(name == 'w' for name, _ in self.cinder.asked):
                self.cinder.faults['w'] = 'killed'
                self.cinder.migrate('w', C)
            return pause(seconds)
        self.pause = meanwhile
        self.balancer.round()
        self.assertEqual(1, len([name for name, _ in self.cinder.asked
                                 if name != 'w']))
        self.assertIn('stays: Volume w on', self.log.output)

    def test_a_volume_cools_down(self):
        self.balancer.round()
        self.cinder.workloads.update(x=cloud.busy(600))
        self.cinder.add(record('x', B))
        self.now += 1000
        refused = {refusal.volume: refusal.reason for refusal
                   in self.balancer.round().refused}
        self.assertIn('cools down until', refused['u'])

    # Where it stops

    @ddt.data(
        ('migrating', 'is being migrated (migrating)'),
        ('starting', 'is being migrated (starting)'))
    @ddt.unpack
    def test_while_anybody_migrates_nothing_moves(self, status, said):
        self.cinder = self.cloud(
            [record('u'), record('v'),
             record('w', B, migration_status=status)],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})
        self.assertIsNone(self.balancer.round())
        self.assertEqual([], self.cinder.asked)
        self.assertIn(said, self.log.output)

    def test_while_a_pool_with_volumes_is_down_nothing_moves(self):
        self.cinder.serve(B, up=False)
        self.assertIsNone(self.balancer.round())
        self.assertIn(f'Pool {B} is down.', self.log.output)
        self.cinder.serve(B, up=True)
        self.assertIsNotNone(self.balancer.round())

    def test_a_pool_without_telemetry_is_left_out(self):
        self.cinder.unseen = {B: 'its node_exporter does not answer.'}
        self.balancer.round()
        self.assertEqual([('u', C)], self.cinder.asked)
        self.assertIn(f'Pool {B} is left out: its node_exporter does not',
                      self.log.output)

    @ddt.data('{"schema": "serifos-mo', '{"schema": "serifos-model/9"}')
    def test_a_broken_model_is_its_pools_affair(self, text):
        broken = self.settings.models_dir / 'broken.json'
        broken.write_text(text)
        self.cinder = self.cloud(
            [record('u'), record('v'), record('x', C)],
            {'u': cloud.busy(64), 'v': cloud.busy(32), 'x': cloud.busy(64)},
            models={C: 'broken'})
        plan = self.balancer.round()
        self.assertEqual([('u', B)], self.cinder.asked)
        self.assertEqual({A, B}, set(plan.latency_us))
        self.assertIn(f'Left out with it: {C}.', self.log.output)

    def test_a_torn_plan_keeps_nothing_from_moving(self):
        self.settings.plans_dir.mkdir()
        (self.settings.plans_dir / 'torn.json').write_text('{"schema": "s')
        self.balancer.round()
        self.assertEqual([('u', B)], self.cinder.asked)
        self.assertEqual(1, self.log.output.count('torn.json'))

    def test_a_pool_without_a_model_is_left_out(self):
        self.cinder = self.cloud(
            [record('u'), record('v')],
            {'u': cloud.busy(64), 'v': cloud.busy(32)}, names=(A, B))
        (self.settings.models_dir / 'flat.json').unlink()
        self.assertIsNone(self.balancer.round())
        self.assertIn('There is no model',
                      self.log.output)

    def test_without_an_answer_the_observation_stays(self):
        self.set(auto=False)
        self.balancer.round()
        before = self.settings.cluster_file.read_text()
        self.cinder.answers = False
        self.assertRaises(errors.CloudError, self.balancer.round)
        self.assertEqual(before, self.settings.cluster_file.read_text())

    # Where it fails

    @ddt.data('error', 'refused')
    def test_a_failure_leaves_the_volume_and_backs_off(self, fault):
        self.cinder.faults['u'] = fault
        self.balancer.round()
        self.assertEqual(A, self.homes()['u'])
        self.assertEqual('available', self.cinder.volume('u').status)
        self.assertEqual(fault, self.entries()[-2].facts['result'])
        self.assertEqual('back-off', self.kinds()[-1])
        self.now += 60
        refused = {refusal.volume: refusal.reason for refusal
                   in self.balancer.round().refused}
        self.assertIn('a migration of it failed', refused['u'])
        self.assertEqual(('v', B), self.cinder.asked[-1])

    def test_tenants_do_not_pause_it(self):
        # Each takes a snapshot between the plan and the request.
        self.set(batch=6)
        self.cinder = self.cloud(
            [record(name) for name in 'stuvxy'],
            {name: cloud.busy(64) for name in 'stuvxy'})
        self.cinder.faults = dict.fromkeys('stuv', 'refused')
        self.rounds(4)
        self.assertNotIn('pause', self.kinds())
        self.assertLessEqual(4, len(self.cinder.asked))
        self.assertIn('success', [entry.facts.get('result')
                                  for entry in self.entries()])

    def test_a_refused_volume_does_not_end_the_batch(self):
        self.set(batch=2)
        self.cinder = self.cloud(
            [record(name) for name in 'stuv'],
            {name: cloud.busy(64) for name in 'stuv'})
        first = [move.volume for move in self.plan().moves][0]
        self.cinder.faults[first] = 'refused'
        self.balancer.round()
        self.assertEqual(['refused', 'success'], [
            entry.facts['result'] for entry in self.entries()
            if entry.kind == 'outcome'])

    def plan(self):
        self.set(auto=False)
        plan = self.balancer.round()
        self.set(auto=True)
        return plan

    def test_too_many_requests_are_asked_for_later(self):
        self.cinder.faults['u'] = 'throttled'
        pause = self.pause

        def until_then(seconds):
            told = pause(seconds)
            if self.slept >= 7:
                self.cinder.faults.clear()
            return told
        self.pause = until_then
        self.balancer.round()
        self.assertEqual(['busy', 'success'], [
            entry.facts['result'] for entry in self.entries()
            if entry.kind == 'outcome'])
        self.assertNotIn('back-off', self.kinds())

    def test_too_many_requests_for_long_pause_nothing(self):
        self.cinder.faults = dict.fromkeys('uv', 'throttled')
        self.rounds(4)
        self.assertEqual({'request', 'refused', 'outcome'},
                         set(self.kinds()))
        self.assertEqual(12, len(self.cinder.asked))
        self.assertEqual(A, self.homes()['u'])

    def test_an_account_that_may_not_pauses_it(self):
        self.cinder.faults = dict.fromkeys('uv', 'denied')
        self.rounds(5)
        self.assertEqual(3, len(self.cinder.asked))
        self.assertEqual('pause', self.kinds()[-1])

    def test_a_back_off_doubles(self):
        self.cinder.faults['u'] = 'error'
        self.set(max_failures=9)
        for _ in range(3):
            self.cinder.workloads.pop('v', None)
            self.cinder.workloads['w2'] = cloud.busy(640)
            self.cinder.add(record(
                'w2', A, metadata={'serifos:pin': 'yes'}))
            self.balancer.round()
            self.now += 86400
        waits = [times.parse(entry.facts['until'])
                 - int(times.parse(entry.at))
                 for entry in self.entries() if entry.kind == 'back-off']
        self.assertEqual([3600, 7200, 14400], waits)

    def test_three_failures_in_a_row_pause_it(self):
        self.cinder = self.cloud(
            [record(name) for name in 'stuvxy'],
            {name: cloud.busy(64) for name in 'stuvxy'})
        self.cinder.faults = dict.fromkeys('stuvxy', 'error')
        self.rounds(6)
        self.assertEqual(3, len(self.cinder.asked))
        self.assertEqual(1, self.kinds().count('pause'))
        self.assertIn('serifos-balancer resume', self.log.output)
        self.balancer.journal.write('resume', reason='')
        self.rounds(1)
        self.assertEqual(4, len(self.cinder.asked))

    def test_an_answer_that_is_lost_is_not_asked_for_twice(self):
        self.cinder.faults['u'] = 'no answer'
        self.balancer.round()
        self.assertEqual([('u', B)], self.cinder.asked)
        self.assertEqual(B, self.homes()['u'])
        self.assertEqual(['request', 'unknown', 'accepted', 'outcome'],
                         self.kinds())

    @ddt.data(None, 'error', 'success')
    def test_a_request_that_arrives_late_is_waited_for(self, before):
        self.cinder = self.cloud(
            [record('u', migration_status=before, updated_at=cloud.NOW - 9),
             record('v'), record('w', B)],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})
        self.cinder.faults['u'] = 'late'
        self.balancer.round()
        self.assertEqual(['request', 'unknown', 'accepted', 'outcome'],
                         self.kinds())
        self.assertEqual('success', self.entries()[-1].facts['result'])
        self.assertEqual([('u', B)], self.cinder.asked)

    @ddt.data(30, 3)
    def test_what_begins_after_it_was_given_up_is_taken_up(self, later_s):
        # It is under way, or over, when we look again.
        self.set(settle_s=600.0, patience=dataclasses.replace(
            self.settings.patience, unanswered_s=60.0))
        self.cinder.faults['u'] = 'late'
        self.balancer.round()
        self.assertEqual('not started', self.entries()[-1].facts['result'])
        self.now += later_s + 14
        self.balancer.round()
        self.assertEqual(['request', 'accepted', 'outcome'],
                         self.kinds()[3:])
        self.assertEqual('success', self.entries()[-1].facts['result'])
        self.assertEqual([('u', B)], self.cinder.asked)
        # It settles, and the volume cools down.
        self.cinder.workloads.update(x=cloud.busy(600))
        self.cinder.add(record('x', B))
        refused = {refusal.volume: refusal.reason for refusal
                   in self.balancer.round().refused}
        self.assertIn('Nothing is moved for another', self.log.output)
        self.assertIn('cools down until', refused['u'])

    def test_an_older_error_is_not_that_of_a_request(self):
        self.cinder = self.cloud(
            [record('u', migration_status='error',
                    updated_at=cloud.NOW - 9), record('v')],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})
        self.cinder.faults['u'] = 'lost'
        self.balancer.round()
        self.assertEqual('not started', self.entries()[-1].facts['result'])
        self.assertLessEqual(900, self.slept)

    def test_what_was_begun_and_reset_by_hand_has_failed(self):
        self.stop_after = 5
        self.cinder.faults['u'] = 'killed'
        self.balancer.round()
        self.stop_after = None
        self.now += 60
        self.cinder.reset('u', 'available')
        self.balancer.settle_open_moves()
        self.assertEqual('error', self.entries()[-2].facts['result'])
        self.assertEqual('back-off', self.kinds()[-1])

    def test_a_request_that_is_lost_comes_to_nothing(self):
        self.cinder.faults['u'] = 'lost'
        self.balancer.round()
        self.assertEqual('not started',
                         self.entries()[-1].facts['result'])
        self.assertEqual(A, self.homes()['u'])

    def test_a_migration_without_an_end_times_out_and_holds_the_rest(self):
        self.cinder.faults['u'] = 'killed'
        self.balancer.round()
        self.assertEqual('timeout', self.entries()[-2].facts['result'])
        self.rounds(3)
        self.assertEqual(1, len(self.cinder.asked))

    # Where a clock is wrong

    AHEAD_S = 60 * 365.25 * 86400

    def test_a_clock_that_was_ahead_freezes_nothing(self):
        self.set(settle_s=600.0, cool_down_s=86400.0)
        self.now += self.AHEAD_S
        self.balancer.round()
        self.assertEqual('success', self.entries()[-1].facts['result'])
        home = self.homes()['u']
        self.now = cloud.NOW + 1000
        self.cinder.workloads.update(x=cloud.busy(600))
        self.cinder.add(record('x', home))
        self.balancer.round()
        self.assertIn('Nothing is moved for another 600 s', self.log.output)
        self.rounds(2)
        self.assertEqual(2, len(self.cinder.asked))
        self.assertEqual(1, self.kinds().count('clock'))
        self.assertEqual(
            1, self.log.output.count('entries of the journal lie in the'))
        # The volume that was moved then cools down for a day from now.
        self.assertIn('cools down until 2027-01-16T', str(
            self.balancer.observe().cluster.volume('u').movable))
        self.now += 86400
        self.assertIs(
            True, self.balancer.observe().cluster.volume('u').movable)

    def test_a_back_off_of_a_clock_that_was_ahead_ends(self):
        self.cinder.faults['u'] = 'refused'
        self.now += self.AHEAD_S
        self.balancer.round()
        self.now = cloud.NOW + 1000
        self.balancer.settle_open_moves()
        self.assertIn('left alone until 2027-01-15T', str(
            self.balancer.observe().cluster.volume('u').movable))
        self.now += 3601
        self.assertIs(
            True, self.balancer.observe().cluster.volume('u').movable)

    def test_a_request_of_a_clock_that_was_ahead_times_out(self):
        self.now += self.AHEAD_S
        self.cinder.faults['u'] = 'killed'
        self.stop_after = 5
        self.balancer.round()
        self.stop_after, self.slept, self.now = None, 0.0, cloud.NOW + 1000
        self.balancer.settle_open_moves()
        self.assertEqual('timeout', self.entries()[-2].facts['result'])
        self.assertLess(self.slept, 200)

    # Where it is stopped

    def test_a_stop_in_the_middle_is_taken_up_again(self):
        self.stop_after = 5
        self.balancer.round()
        self.assertEqual(['request', 'accepted'], self.kinds())
        self.stop_after = None
        self.balancer.round()
        self.assertEqual([('u', B)], self.cinder.asked)
        self.assertEqual(['request', 'accepted', 'outcome'], self.kinds())
        self.assertEqual('success', self.entries()[-1].facts['result'])

    @ddt.data(True, False)
    def test_a_crash_after_the_request_is_written(self, arrived):
        self.balancer.journal.write(
            'request', volume='u', source=A, target=C, plan='p', size_gib=1)
        if arrived:
            self.cinder.migrate('u', C)
        self.balancer.settle_open_moves()
        self.assertEqual('success' if arrived else 'not started',
                         self.entries()[-1].facts['result'])
        self.assertEqual(C if arrived else A, self.homes()['u'])


@ddt.ddt
class VerdictTest(cloud.Case):
    """What Cinder forgets, and how it is recovered."""

    def forget(self):
        self.cinder.faults['u'] = 'killed'
        self.balancer.round()
        self.cinder.faults.clear()
        self.cinder.workloads.pop('u')

    def test_a_young_one_may_still_run(self):
        self.forget()
        found = self.balancer.verdict('u')
        self.assertFalse(found.forgotten)
        self.assertIn('it last changed', found.why)

    def test_a_quiet_one_is_forgotten(self):
        self.forget()
        self.now += 900
        found = self.balancer.verdict('u')
        self.assertTrue(found.forgotten)
        self.assertIn('serifos-balancer recover u', found.sentence())

    def test_a_source_that_started_since_has_forgotten_at_once(self):
        self.forget()
        self.cinder.started[A] = self.now
        self.assertTrue(self.balancer.verdict('u').forgotten)
        self.cinder.started[A] = cloud.NOW - 1
        self.assertFalse(self.balancer.verdict('u').forgotten)

    def test_not_while_a_service_is_down(self):
        self.forget()
        self.now += 9000
        self.cinder.serve(B, up=False)
        found = self.balancer.verdict('u')
        self.assertFalse(found.forgotten)
        self.assertIn(f'the service of {B} is not up', found.why)

    def test_not_where_telemetry_does_not_see(self):
        self.forget()
        self.now += 9000
        self.cinder.unseen = {B: 'gone'}
        self.assertFalse(self.balancer.verdict('u').forgotten)

    def test_not_while_the_copy_writes(self):
        self.forget()
        self.now += 9000
        self.cinder.workloads['copy-at-b@ssd#ssd-of-u'] = cloud.busy(1024)
        found = self.balancer.verdict('u')
        self.assertIn('quiet for 0 s only', found.why)

    def test_a_volume_at_rest_is_not_recovered(self):
        error = self.assertRaises(
            errors.InputError, self.balancer.verdict, 'v')
        self.assertIn('not being migrated', str(error))

    def leave_old_copy(self, **changes):
        self.cinder = self.cloud(
            [record('u', B, migration_status='success'), record('v'),
             record('t', A, **{
                 'name_id': 'u', 'status': 'deleting',
                 'migration_status': 'deleting',
                 'description': 'migration src for u',
                 'created_at': cloud.NOW, **changes})],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})

    def test_an_old_copy_that_is_deleted_no_more(self):
        # The source died between the end of the copy and the deletion.
        self.leave_old_copy()
        self.cinder.started[A] = self.cinder.started[B] = self.now + 1
        self.assertIn('it last changed', self.balancer.verdict('u').why)
        self.now += 900
        found = self.balancer.verdict('u')
        self.assertIn(f'The old copy of volume u was left on {A}',
                      found.sentence())
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        self.assertIsNone(self.balancer.round())
        self.assertIn('serifos-balancer recover u', log.output)
        self.balancer.recover(found)
        self.assertEqual({'u': B, 'v': A}, self.homes())
        self.assertEqual('success', self.cinder.volume('u').migration_status)
        self.assertIsNotNone(self.balancer.round())

    def test_an_old_copy_that_is_being_wiped_is_left_alone(self):
        self.leave_old_copy()
        self.cinder.workloads['t'] = cloud.busy(1024)
        self.cinder.started[A] = self.now + 1
        self.now += 9000
        self.assertIn('quiet for 0 s only', self.balancer.verdict('u').why)

    @ddt.data(
        # The records were being swapped, and the volume had no new name.
        ({'pool': B, 'name_id': 't', 'migration_status': None},
         {'migration_status': 'target:u'}),
        # It had got its new name, and was not swapped yet.
        ({'pool': A, 'name_id': 't', 'status': 'maintenance',
          'migration_status': 'completing'},
         {'migration_status': 'target:u'}),
        # An old copy with the name of the volume, on the volume's host.
        ({'pool': B, 'migration_status': 'success'},
         {'name_id': 'u', 'status': 'deleting',
          'description': 'migration src for u',
          'migration_status': 'deleting'}))
    @ddt.unpack
    def test_what_names_the_same_data_is_never_deleted(self, volume, half):
        self.cinder = self.cloud(
            [record('u', **{**volume, 'created_at': cloud.NOW}),
             record('t', B, created_at=cloud.NOW, **half)], {})
        self.cinder.lists = False
        self.now += 9000
        self.cinder.started[A] = self.now
        found = self.balancer.verdict('u')
        self.assertTrue(found.broken, found.sentence())
        self.assertIn('could delete the data', found.sentence())
        self.assertRaises(errors.InputError, self.balancer.recover, found)
        self.assertEqual({'u', 't'}, set(self.homes()))
        log = self.useFixture(fixtures.FakeLogger(level=logging.WARNING))
        self.balancer.round()
        self.assertIn('could delete the data', log.output)

    def test_a_volume_whose_data_is_not_seen_is_not_mended(self):
        # It was renamed by Cinder before the source died.
        self.cinder = self.cloud(
            [record('u', status='maintenance', migration_status='completing'),
             record('t', B, migration_status='target:u')], {})
        self.cinder.lists = False
        self.cinder.started[A] = self.now
        self.assertTrue(self.balancer.verdict('u').forgotten)
        self.cinder.unseen = {A: 'gone'}
        found = self.balancer.verdict('u')
        self.assertTrue(found.broken)
        self.assertIn(f'does not see volume-u on {A}', found.sentence())

    def attached(self, half=None, **changes):
        """A volume in use, which Nova copies, and its copy."""
        self.cinder = self.cloud(
            [record('u', **{'status': 'in-use', 'attachments': 1,
                            'migration_status': 'migrating', **changes}),
             record('t', B, migration_status='target:u', **(half or {}))],
            {'u': cloud.busy(64)})
        self.now += 9000

    def test_a_start_of_the_source_ends_no_copy_by_nova(self):
        self.attached()
        self.cinder.workloads['t'] = cloud.busy(1024)
        self.cinder.started[A] = self.now
        found = self.balancer.verdict('u')
        self.assertFalse(found.over)
        self.assertIn(f'on {B} is known to be quiet for 0 s', found.why)

    def test_of_a_volume_in_use_the_copy_has_to_be_quiet(self):
        self.attached()
        found = self.balancer.verdict('u')
        self.assertTrue(found.forgotten, found.sentence())
        self.balancer.recover(found)
        self.assertEqual(('in-use', None), (
            self.cinder.volume('u').status,
            self.cinder.volume('u').migration_status))

    @ddt.data({'attachments': 1}, {'status': 'in-use'},
              {'status': 'reserved'})
    def test_an_attached_copy_is_never_deleted(self, half):
        self.attached(half)
        self.cinder.started[A] = self.now
        found = self.balancer.verdict('u')
        self.assertFalse(found.over)
        self.assertIn('an instance uses it', found.why)

    def test_a_copy_that_was_attached_meanwhile_is_spared(self):
        self.attached()
        found = self.balancer.verdict('u')
        self.cinder.change('t', attachments=1, status='in-use')
        error = self.assertRaises(
            errors.InputError, self.balancer.recover, found)
        self.assertIn('no longer an idle copy', str(error))
        self.assertEqual('target:u', self.cinder.volume('t').migration_status)
        self.assertEqual('migrating',
                         self.cinder.volume('u').migration_status)

    def test_what_was_completed_in_use_is_not_mended(self):
        self.attached(migration_status='completing')
        self.assertIn('on either host', self.balancer.verdict('u').why)
        self.assertTrue(self.balancer.verdict('u').broken)

    @ddt.data((0, 'available'), (1, 'in-use'))
    @ddt.unpack
    def test_a_retype_ends_in_the_status_it_had(self, attachments, status):
        self.attached(status='retyping', attachments=attachments)
        self.cinder.workloads.clear()
        self.balancer.recover(self.balancer.verdict('u'))
        self.assertEqual(status, self.cinder.volume('u').status)

    @ddt.data(30.0, 600.0, 3600.0)
    def test_quiet_is_looked_for_beyond_the_window(self, window_s):
        self.set(window_s=window_s)
        self.forget()
        self.now += 900
        self.assertTrue(self.balancer.verdict('u').forgotten)

    def test_recovered_it_is_as_before(self):
        self.forget()
        self.now += 900
        balancer = self.balancer
        balancer.recover(balancer.verdict('u'))
        found = self.cinder.volume('u')
        self.assertEqual((A, 'available', None),
                         (found.pool, found.status, found.migration_status))
        self.assertEqual({'u', 'v', 'w'}, set(self.homes()))
        self.assertEqual(['begun', 'success'], [
            entry.facts['result'] for entry in self.entries()
            if entry.kind == 'recover'])

    def test_what_had_to_be_recovered_has_failed(self):
        self.set(max_failures=1)
        self.cinder.faults['u'] = 'killed'
        self.stop_after = 5
        self.balancer.round()
        self.stop_after = None
        self.now += 960
        self.cinder.workloads.pop('u')
        self.balancer.recover(self.balancer.verdict('u'))
        self.assertEqual(['outcome', 'back-off', 'pause'], self.kinds()[-3:])
        self.assertEqual('recovered', self.entries()[-3].facts['result'])
        self.cinder.workloads['u'] = cloud.busy(64)
        self.assertIn('a migration of it failed', str(
            self.balancer.observe().cluster.volume('u').movable))

    def test_a_copy_that_was_left_behind_is_deleted(self):
        # Cinder gave up, and its word to delete the copy got lost.
        self.cinder = self.cloud(
            [record('u', migration_status='error'), record('v'),
             record('t', B, migration_status='target:u',
                    created_at=cloud.NOW)],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})
        self.assertIsNotNone(self.balancer.round())
        error = self.assertRaises(errors.InputError, self.balancer.recover,
                                  self.balancer.verdict('u'))
        self.assertIn('it last changed', str(error))
        self.now += 900
        found = self.balancer.verdict('u')
        self.assertIn(f'The half-made copy of volume u was left on {B}',
                      found.sentence())
        self.balancer.recover(found)
        self.assertEqual({'u', 'v'}, set(self.homes()))

    def test_a_running_one_is_not_mended(self):
        self.forget()
        balancer = self.balancer
        error = self.assertRaises(
            errors.InputError, balancer.recover, balancer.verdict('u'))
        self.assertIn('may still run', str(error))
        self.assertEqual('migrating',
                         self.cinder.volume('u').migration_status)
