# SPDX-License-Identifier: Apache-2.0
"""Volumes in use: what Nova would refuse is asked first."""

import ddt

from serifos.facts.servers import NoCompute
from tests.fakes import nova as fake
from tests.fakes import settings
from tests.unit.balancer import cloud

A = cloud.A


class Case(cloud.Case):
    """u and v are busy on the first pool; server s uses u, t uses v."""

    def setUp(self):
        super().setUp()
        self.nova = fake.Nova('s', 't')
        self.cinder = self.cloud(
            [self.in_use('u', 's'), self.in_use('v', 't')],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})

    def in_use(self, name, server):
        return cloud.record(name, status='in-use', attachments=(server,))

    def made(self, *given, **changes):
        return super().made(*given, **{'nova': self.nova, **changes})

    def refusals(self, plan):
        return {each.volume: each.reason for each in plan.refused}

    def results(self):
        return [entry.facts['result'] for entry in self.entries()
                if entry.kind == 'outcome']


@ddt.ddt
class PlanTest(Case):

    def test_they_move_where_there_is_a_nova_to_ask(self):
        plan = self.balancer.round()
        self.assertEqual(1, len(plan.moves))
        self.assertEqual(['success'], self.results())
        self.assertEqual('in-use', self.cinder.volume('u').status)

    def test_without_a_nova_they_stay(self):
        self.nova = NoCompute('it is not configured')
        reasons = self.refusals(self.balancer.round())
        self.assertIn('there is no Nova to ask: it is not configured',
                      reasons['u'])

    def test_without_a_nova_they_move_where_the_operator_says_so(self):
        self.nova = NoCompute('it is not configured')
        self.set(allow_attached=True)
        self.assertEqual(1, len(self.balancer.round().moves))
        self.assertEqual(['success'], self.results())

    def test_the_operator_forbids_it(self):
        self.set(allow_attached=False)
        self.assertEqual({'u': 'attached', 'v': 'attached'},
                         self.refusals(self.balancer.round()))
        self.assertEqual([], self.nova.asked)

    @ddt.data(
        ({'status': 'SHUTOFF', 'vm_state': 'stopped'}, 'is SHUTOFF'),
        ({'task_state': 'rebooting'}, 'a task under way: rebooting'),
        ({'host': 'compute9'}, 'on compute9, is down'))
    @ddt.unpack
    def test_what_nova_would_refuse_stays(self, change, words):
        for server in 's', 't':
            self.nova.change(server, **change)
        plan = self.balancer.round()
        self.assertEqual((), plan.moves)
        self.assertIn(words, self.refusals(plan)['u'])
        self.assertEqual([], self.cinder.asked)

    def test_a_nova_that_does_not_answer(self):
        self.nova.problem = 'no route'
        plan = self.balancer.round()
        self.assertEqual((), plan.moves)
        self.assertIn('no route', self.refusals(plan)['v'])

    @ddt.data(None, True)
    def test_one_in_use_whose_attachment_is_not_there_yet(self, allowed):
        # For a second after a migration; its server is not known then.
        self.set(allow_attached=allowed)
        self.cinder = self.cloud(
            [cloud.record(name, status='in-use') for name in 'uv'],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})
        plan = self.balancer.round()
        self.assertEqual((), plan.moves)
        self.assertIn('no attachment', self.refusals(plan)['u'])

    def test_nova_is_not_needed_for_volumes_that_no_server_uses(self):
        self.cinder = self.cloud(
            [cloud.record('u'), cloud.record('v')],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})
        self.nova.problem = 'no route'
        self.balancer.round()
        self.assertEqual(['success'], self.results())
        self.assertEqual([], self.nova.asked)


class ActTest(Case):

    def test_a_server_that_is_deleted_while_its_volume_moves(self):
        move, = self.planned()
        pause, server = self.pause, {'u': 's', 'v': 't'}[move.volume]

        def deleted(seconds):
            if server in self.nova.server(server).by_id and seconds:
                self.nova.delete(server)
            return pause(seconds)
        self.pause = deleted
        found, = self.balancer.carrier.carry_out((move,), 'p')
        self.assertEqual('success', found.result)
        self.now += 90000
        self.assertIn('volume attachment delete ATTACHMENT',
                      self.refused()[move.volume])

    def planned(self):
        self.set(auto=False)
        plan = self.balancer.round()
        self.set(auto=True)
        return plan.moves

    def test_a_server_stopped_since_the_plan(self):
        moves = self.planned()
        self.nova.stop('s')
        self.nova.stop('t')
        found, = self.balancer.carrier.carry_out(moves[:1], 'p')
        self.assertEqual('not started', found.result)
        self.assertIn('is SHUTOFF', found.reason)
        self.assertEqual([], self.cinder.asked)

    def test_a_snapshot_since_the_plan(self):
        moves = self.planned()
        self.cinder.change(moves[0].volume, snapshots=1)
        found, = self.balancer.carrier.carry_out(moves[:1], 'p')
        self.assertEqual(('not started', 'a snapshot holds it'),
                         (found.result, found.reason))
        self.assertEqual([], self.cinder.asked)

    def fails(self, meanwhile):
        """The outcome of a migration that fails after that was done."""
        self.set(max_failures=1)
        move = self.planned()[0]
        self.cinder.faults[move.volume] = 'error'
        pause, done = self.pause, []

        def paused(seconds):
            if seconds and not done:  # none before the request
                done.append(True)
                for server in 's', 't':
                    meanwhile(server)
            return pause(seconds)
        self.pause = paused
        found, = self.balancer.carrier.carry_out([move], 'p')
        self.assertEqual(found.result == 'error', 'pause' in self.kinds())
        return found

    def test_a_refusal_by_nova_after_cinders_202_does_not_pause(self):
        found = self.fails(self.nova.stop)
        self.assertEqual('refused', found.result)
        self.assertIn('Nova refused to copy it: its server',
                      found.reason)

    def test_a_refusal_over_a_task_that_has_ended(self):
        found = self.fails(lambda server: self.nova.do(
            server, 'reboot', self.now, ended_at=self.now + 3))
        self.assertEqual(('refused', 'Nova refused to copy it: reboot was '
                          'under way with its server'),
                         (found.result, found.reason))

    def test_a_copy_that_failed_before_the_server_was_stopped(self):
        def meanwhile(server):
            self.nova.do(server, 'swap_volume', self.now, failed=True,
                         ended_at=self.now + 1)
            self.nova.stop(server)
        self.assertEqual('error', self.fails(meanwhile).result)

    def test_where_nova_shows_no_actions_its_state_counts(self):
        self.nova.shows_actions = False
        found = self.fails(self.nova.stop)
        self.assertEqual('refused', found.result)
        self.assertIn('(now; then: Nova shows no actions)', found.reason)

    def test_another_error_of_a_volume_in_use_is_a_failure(self):
        moves = self.planned()
        self.cinder.faults[moves[0].volume] = 'error'
        found, = self.balancer.carrier.carry_out(moves[:1], 'p')
        self.assertEqual('error', found.result)

    def test_a_failure_of_one_volume_does_not_end_the_batch(self):
        self.set(allow_attached=True)
        self.cinder = self.cloud(
            [self.in_use(name, 's') for name in 'abcd'],
            {name: cloud.busy(64) for name in 'abcd'})
        moves = self.planned()
        self.cinder.faults[moves[0].volume] = 'error'
        outcomes = self.balancer.carrier.carry_out(moves, 'p')
        self.assertEqual(len(moves), len(outcomes))
        self.assertEqual(['error'] + ['success'] * (len(moves) - 1),
                         [each.result for each in outcomes])

    def test_too_many_failures_end_it(self):
        self.set(max_failures=1)
        moves = self.planned()
        self.cinder.faults.update({move.volume: 'error' for move in moves})
        self.assertEqual(1, len(self.balancer.carrier.carry_out(moves, 'p')))

    def test_the_wait_ends_where_nobody_goes_on_with_the_copy(self):
        self.set(timeouts=settings.Timeouts())
        move = self.planned()[0]
        self.cinder.faults[move.volume] = 'nova killed'
        pause, began = self.pause, self.now

        def paused(seconds):
            if began + 60 < self.now < began + 70:
                for server in 's', 't':
                    self.nova.do(server, 'reboot', began + 60,
                                 ended_at=began + 65)
                self.cinder.end_mirror(move.volume)
            return pause(seconds)
        self.pause = paused
        found, = self.balancer.carrier.carry_out([move], 'p')
        self.assertEqual('timeout', found.result)
        self.assertIn('Recover it with: serifos-balancer recover '
                      f'{move.volume}', found.reason)
        self.assertLess(self.now - began, 610)

    def rest_after(self, moment, **changes):
        """The outcome where, after completing, that is so for a while."""
        moves = self.planned()
        volume = moves[0].volume
        copy = f'copy-at-{moves[0].target}-of-{volume}'
        pause, seen = self.pause, []

        def paused(seconds):
            record = self.cinder.volume(volume)
            if record.pool == moves[0].target and len(seen) < 5:
                seen.append(self.results())
                moment(self.cinder, volume, copy)
            elif seen and len(seen) == 5:
                seen.append(None)
                self.cinder.change(volume, migration_status='success',
                                   attachments=('s',))
                if self.cinder.volume(copy):
                    self.cinder.forget(copy)
            return pause(seconds)
        self.pause = paused
        found, = self.balancer.carrier.carry_out(moves[:1], 'p')
        self.assertEqual([[]] * 5, seen[:5])
        self.assertEqual('success', found.result)

    def test_for_a_moment_the_old_copy_has_the_attachments(self):
        def moment(cinder, volume, copy):
            cinder.change(volume, migration_status=None, attachments=())
        self.rest_after(moment)

    def test_for_a_moment_both_records_are_on_the_target(self):
        def moment(cinder, volume, copy):
            cinder.change(copy, migration_status=f'target:{volume}',
                          description=None, status='in-use')
        self.rest_after(moment)

    def test_the_old_copy_is_gone_before_the_volume_has_them(self):
        def moment(cinder, volume, copy):
            if cinder.volume(copy):
                cinder.forget(copy)
            cinder.change(volume, migration_status=None, attachments=())
        self.rest_after(moment)
