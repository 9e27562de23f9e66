# SPDX-License-Identifier: Apache-2.0
"""Rounds in which a request fails, a clock is wrong or the balancer stops."""

import dataclasses

import ddt

from serifos.facts import times
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import C
from tests.unit.balancer.cloud import record


@ddt.ddt
class FailureTest(cloud.Case):

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
            self.cinder.workloads['w2'] = cloud.busy(320)
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
        self.balancer.observer.journal.write('resume', reason='')
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
             record('v'), record('w', B)])
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
        self.cinder.workloads.update(x=cloud.busy(100))
        self.cinder.add(record('x', B))
        refused = self.refused()
        self.assertIn('Nothing is moved for another', self.log.output)
        self.assertIn('cools down until', refused['u'])

    def test_an_older_error_is_not_that_of_a_request(self):
        self.cinder = self.cloud(
            [record('u', migration_status='error',
                    updated_at=cloud.NOW - 9), record('v')])
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
        self.balancer.carrier.settle_open_moves()
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


class ClockTest(cloud.Case):

    AHEAD_S = 60 * 365.25 * 86400

    def test_a_clock_that_was_ahead_freezes_nothing(self):
        self.set(settle_s=600.0, cool_down_s=86400.0)
        self.now += self.AHEAD_S
        self.balancer.round()
        self.assertEqual('success', self.entries()[-1].facts['result'])
        home = self.homes()['u']
        self.now = cloud.NOW + 1000
        self.cinder.workloads.update(x=cloud.busy(100))
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
            self.balancer.observer.observe().cluster.volume('u').movable))
        self.now += 86400
        self.assertIs(
            True, self.balancer.observer.observe().cluster.volume('u').movable)

    def test_a_back_off_of_a_clock_that_was_ahead_ends(self):
        self.cinder.faults['u'] = 'refused'
        self.now += self.AHEAD_S
        self.balancer.round()
        self.now = cloud.NOW + 1000
        self.balancer.carrier.settle_open_moves()
        self.assertIn('left alone until 2027-01-15T', str(
            self.balancer.observer.observe().cluster.volume('u').movable))
        self.now += 3601
        self.assertIs(
            True, self.balancer.observer.observe().cluster.volume('u').movable)

    def test_a_request_of_a_clock_that_was_ahead_times_out(self):
        self.now += self.AHEAD_S
        self.cinder.faults['u'] = 'killed'
        self.stop_after = 5
        self.balancer.round()
        self.stop_after, self.slept, self.now = None, 0.0, cloud.NOW + 1000
        self.balancer.carrier.settle_open_moves()
        self.assertEqual('timeout', self.entries()[-2].facts['result'])
        self.assertLess(self.slept, 200)


@ddt.ddt
class StopTest(cloud.Case):

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
        self.balancer.observer.journal.write(
            'request', volume='u', source=A, target=C, plan='p', size_gib=1)
        if arrived:
            self.cinder.migrate('u', C)
        self.balancer.carrier.settle_open_moves()
        self.assertEqual('success' if arrived else 'not started',
                         self.entries()[-1].facts['result'])
        self.assertEqual(C if arrived else A, self.homes()['u'])
