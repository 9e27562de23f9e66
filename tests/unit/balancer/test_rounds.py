# SPDX-License-Identifier: Apache-2.0
import dataclasses

import ddt

from serifos.balancer import plans
from serifos import errors
from serifos.facts import times
from serifos.files import documents
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import C
from tests.unit.balancer.cloud import record


@ddt.ddt
class RoundTest(cloud.Case):

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
        self.balancer.recover(self.balancer.diagnose('u'))
        self.assertEqual({'u': B, 'v': A, 'w': B}, self.homes())

    def test_a_move_that_ends_after_its_time_is_a_move(self):
        self.cinder.gib_per_s = 0.005
        self.rounds(1)
        self.assertEqual('timeout', self.entries()[-2].facts['result'])
        self.cinder.gib_per_s = 0.1
        self.now += 3600
        self.balancer.observe()
        seen = documents.read_cluster(self.settings.cluster_file)
        self.assertIn('moved', str(seen.volume('u').movable))

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
        seen = documents.read_cluster(self.settings.cluster_file)
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
            seen.append(documents.read_cluster(
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
        self.crowd('stuvxy')
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
        self.crowd('stuv', record('w', B))
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
        self.assertIn('cools down until', self.refused()['u'])

    # Where it stops

    @ddt.data('migrating', 'starting')
    def test_while_anybody_migrates_nothing_moves(self, status):
        self.cinder = self.cloud(
            [record('u'), record('v'),
             record('w', B, migration_status=status)],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})
        self.assertIsNone(self.balancer.round())
        self.assertEqual([], self.cinder.asked)
        self.assertIn(f'is being migrated ({status})', self.log.output)

    def test_while_a_pool_with_volumes_is_down_nothing_moves(self):
        self.cinder.serve(B, up=False)
        self.assertIsNone(self.balancer.round())
        self.assertIn(f'Pool {B} is down.', self.log.output)
        self.cinder.serve(B, up=True)
        self.assertIsNotNone(self.balancer.round())

    @ddt.data('w', '')
    def test_a_pool_without_telemetry_is_left_out(self, there):
        self.crowd('uv', *(record(name, B) for name in there))
        self.cinder.unseen = {B: 'its node_exporter does not answer.'}
        self.balancer.round()
        self.assertEqual(C, self.cinder.asked[0][1])
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
        self.assertIn('a migration of it failed', self.refused()['u'])
        self.assertEqual(('v', B), self.cinder.asked[-1])

    def test_tenants_do_not_pause_it(self):
        # Each takes a snapshot between the plan and the request.
        self.set(batch=6)
        self.crowd('stuvxy')
        self.cinder.faults = dict.fromkeys('stuv', 'refused')
        self.rounds(4)
        self.assertNotIn('pause', self.kinds())
        self.assertLessEqual(4, len(self.cinder.asked))
        self.assertIn('success', [entry.facts.get('result')
                                  for entry in self.entries()])

    def test_a_refused_volume_does_not_end_the_batch(self):
        self.set(batch=2)
        self.crowd('stuv')
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
        self.crowd('stuvxy')
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
        self.set(settle_s=600.0, timeouts=dataclasses.replace(
            self.settings.timeouts, unanswered_s=60.0))
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
        refused = self.refused()
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
