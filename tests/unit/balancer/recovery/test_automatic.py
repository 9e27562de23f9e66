# SPDX-License-Identifier: Apache-2.0
"""Recoveries by the balancer itself."""

import dataclasses

import ddt

from serifos import errors
from serifos.facts import journal
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer import test_attached

RECOVERED = ['due', 'begun', 'success']


class Case(test_attached.Case):

    def given_up(self, fault, meanwhile=lambda: None):
        """The balancer's own move, that is given up; its volume's id."""
        self.set(auto=False)
        self.move = self.balancer.round().moves[0]
        self.set(auto=True)
        self.volume = self.move.volume
        self.copy = f'copy-at-{self.move.target}-of-{self.volume}'
        self.cinder.faults[self.volume] = fault
        pause, began, done = self.pause, self.now, []

        def paused(seconds):
            if self.now > began + 30 and not done:
                done.append(True)
                meanwhile()
            return pause(seconds)
        self.pause = paused
        outcome, = self.balancer.carrier.carry_out([self.move], 'p')
        self.pause = pause
        self.assertEqual('timeout', outcome.result)
        self.cinder.faults.clear()
        return self.volume

    def rebooted(self):
        """nova-compute dies, and the server is rebooted: it works again."""
        def meanwhile():
            self.nova.do({'u': 's', 'v': 't'}[self.volume], 'reboot',
                         self.now, ended_at=self.now + 5)
            self.cinder.end_mirror(self.volume)
        return self.given_up('nova killed', meanwhile)

    def recoveries(self):
        return [entry.facts['result'] for entry in self.entries()
                if entry.kind == 'recover']

    def assert_at_rest(self, status='in-use'):
        found = self.cinder.volume(self.volume)
        self.assertEqual((A, status, None), (
            found.pool, found.status, found.migration_status))
        self.assertIn((A, f'volume-{self.volume}'), self.cinder.lvs)

    def assert_left(self, words=''):
        """Nothing was begun; what a person does is logged."""
        self.assertNotIn('begun', self.recoveries())
        self.assertEqual('migrating', self.cinder.volume(
            self.volume).migration_status)
        self.assertIn(f'serifos-balancer recover {self.volume}',
                      self.log.output)
        self.assertIn(words, self.log.output)


@ddt.ddt
class InUseTest(Case):

    def test_the_second_round_recovers_it_and_keeps_the_copy(self):
        volume = self.rebooted()
        self.rounds(1)
        self.assertEqual(['due'], self.recoveries())
        self.assert_left()
        self.rounds(1)
        self.assertEqual(RECOVERED, self.recoveries())
        self.assert_at_rest()
        self.assertEqual('available', self.cinder.volume(self.copy).status)
        self.assertIn(f'Volume {volume} is recovered without a person: '
                      'reboot was done with its server', self.log.output)
        self.rounds(2)
        self.assertEqual(RECOVERED, self.recoveries())

    def test_cinder_completes_what_nobody_asks_it_to_complete(self):
        volume = self.given_up('nova moved', lambda: self.cinder.change(
            self.volume, attachments=()))
        self.now += 1000
        self.rounds(1)
        self.assert_left()
        self.rounds(1)
        self.assertEqual(RECOVERED, self.recoveries())
        found = self.cinder.volume(volume)
        self.assertEqual((self.move.target, self.copy, 'success'), (
            found.pool, found.lv_id, found.migration_status))

    def not_asked(self):
        """The source dies before it asks Nova for the copy."""
        def meanwhile():
            self.cinder.end_mirror(self.volume)
            self.cinder.swaps.clear()
            self.cinder.change(self.copy, status='available')
        self.given_up('nova not begun', meanwhile)
        self.now += 1000

    def test_nova_was_never_asked(self):
        self.not_asked()
        self.rounds(2)
        self.assertEqual(RECOVERED, self.recoveries())
        self.assert_at_rest()
        self.assertIsNone(self.cinder.volume(self.copy))

    @ddt.data(True, False)
    def test_nova_was_asked_or_does_not_say_so(self, shown):
        self.not_asked()
        self.nova.shows_actions = shown
        self.nova.do({'u': 's', 'v': 't'}[self.volume], 'swap_volume',
                     self.now - 1000)
        self.rounds(4)
        self.assert_left()

    def test_an_old_copy_that_is_left(self):
        def meanwhile():
            self.cinder.change(self.volume, attachments=())
            self.cinder.end_mirror(self.volume)
            self.cinder.complete(self.volume, self.copy)
            self.cinder._agenda.clear()
        volume = self.given_up('nova moved', meanwhile)
        self.now += 1000
        self.rounds(2)
        self.assertEqual(RECOVERED, self.recoveries())
        self.assertEqual(self.move.target, self.cinder.volume(volume).pool)
        self.assertIsNone(self.cinder.volume(self.copy))
        self.assertNotIn((A, f'volume-{volume}'), self.cinder.lvs)

    def test_two_rounds_at_once_are_one(self):
        self.rebooted()
        self.rounds(1)
        self.now += 5
        self.balancer.round()
        self.assert_left()
        self.rounds(1)
        self.assert_at_rest()

    def test_a_round_long_ago_does_not_count(self):
        self.rebooted()
        self.rounds(1)
        self.now += 86400
        self.rounds(1)
        self.assertEqual(['due', 'due'], self.recoveries())

    def test_a_round_that_finds_it_otherwise_puts_it_off(self):
        self.rebooted()
        self.rounds(1)
        self.cinder.workloads[self.copy] = cloud.busy(64)
        self.rounds(1)
        del self.cinder.workloads[self.copy]
        self.rounds(1)
        self.assertEqual(['due', 'put off', 'due'], self.recoveries())

    @ddt.data({'auto_recover': False}, {'auto': False})
    def test_only_where_the_operator_lets_it(self, settings):
        self.rebooted()
        self.set(**settings)
        self.rounds(4)
        self.assertEqual([], self.recoveries())
        self.assert_left()

    def test_not_while_it_is_paused(self):
        self.rebooted()
        self.journal().write('pause', reason='')
        self.rounds(4)
        self.assertEqual([], self.recoveries())

    def test_a_migration_that_others_asked_for(self):
        self.cinder.faults['u'] = 'nova killed'
        self.cinder.migrate('u', cloud.B)
        self.volume = 'u'
        self.now += 60
        self.nova.do('s', 'reboot', self.now, ended_at=self.now + 5)
        self.cinder.end_mirror('u')
        self.rounds(4)
        self.assert_left('this balancer did not request the migration')

    def test_another_one_of_the_same_volume_by_others(self):
        self.rebooted()
        self.cinder.change(self.volume, migration_status='error')
        self.cinder.swaps.clear()
        old = self.cinder.volume(self.copy)
        self.cinder.forget(self.copy)
        self.cinder.add(dataclasses.replace(old, id='other'))
        self.cinder.change(self.volume, migration_status='migrating')
        self.cinder.change('other', status='available')
        self.rounds(5)
        self.assert_left('this balancer did not request the migration')

    def test_what_needs_the_compute_host(self):
        self.given_up('nova killed')
        self.rounds(4)
        self.assertEqual([], self.recoveries())
        self.assert_left('is stuck')

    def test_a_server_that_used_its_copy_alone_and_was_stopped(self):
        volume = self.given_up('nova killed')
        self.cinder.still(volume)      # it writes its copy alone
        self.now += 1000
        self.nova.stop({'u': 's', 'v': 't'}[volume])
        self.cinder.end_mirror(volume)
        self.rounds(12)
        self.assertEqual([], self.recoveries())
        self.assert_left('telemetry does not show that the volume was written '
                         'as late as its copy')

    @ddt.data('NOSTATE', None)
    def test_a_server_that_is_off_or_deleted(self, off):
        def meanwhile():
            server = {'u': 's', 'v': 't'}[self.volume]
            if off:
                self.nova.change(server, off=off)
            else:
                self.nova.delete(server)
                self.cinder.change(self.volume, attachments=())
            self.cinder.still(self.volume)
            self.cinder.end_mirror(self.volume)
        self.given_up('nova killed', meanwhile)
        self.rounds(2)
        self.assertEqual(RECOVERED, self.recoveries())
        self.assert_at_rest('in-use' if off else 'available')
        self.assertEqual('available', self.cinder.volume(self.copy).status)

    def test_one_that_was_cut_off_goes_on(self):
        self.rebooted()
        self.rounds(1)
        proofs = iter([True, False])

        def prove():
            if not next(proofs):
                raise errors.NotLeading('Killed.')
        self.now += 300
        balancer = self.made(prove=prove)
        self.assertRaises(errors.NotLeading, balancer.round)
        self.rounds(6)
        self.assertEqual((), journal.open_recoveries(self.entries()))
        self.assert_at_rest()
        self.assertEqual('available', self.cinder.volume(self.copy).status)

    def test_one_that_a_person_began_is_left_to_a_person(self):
        volume = self.rebooted()
        proofs = iter([True, False])

        def prove():
            if not next(proofs):
                raise errors.NotLeading('Killed.')
        self.now += 130
        found = self.diagnose(volume)
        self.assertRaises(
            errors.NotLeading, self.made(prove=prove).carrier.recover,
            found)
        self.rounds(6)
        self.assertEqual(['begun'], self.recoveries())
        self.assertIn('a person has begun to recover it', self.log.output)


class DetachedTest(Case):

    def setUp(self):
        super().setUp()
        self.cinder = self.cloud(
            [cloud.record('u'), cloud.record('v')],
            {'u': cloud.busy(64), 'v': cloud.busy(32)})

    def killed(self):
        """The source's cinder-volume dies in the copy, and starts."""
        def meanwhile():
            self.cinder.workloads.pop(self.volume)
            self.cinder._still(self.volume, self.copy)
            self.cinder.started[A] = self.now + 5
        return self.given_up('killed', meanwhile)

    def test_the_second_round_deletes_the_copy(self):
        self.killed()
        self.rounds(2)
        self.assertEqual(RECOVERED, self.recoveries())
        self.assert_at_rest('available')
        self.assertIsNone(self.cinder.volume(self.copy))

    def test_a_driver_that_lists_nothing(self):
        self.killed()
        self.cinder.lists = False
        self.rounds(4)
        self.assert_left(
            'Cinder does not list the logical volumes of its pool')

    def test_after_three_in_vain_it_is_left_to_a_person(self):
        self.killed()
        self.cinder.reset = self.refuse
        self.rounds(12)
        self.assertEqual(3, self.recoveries().count('begun'))
        self.assertIn('3 recoveries of it have failed', self.log.output)

    def refuse(self, *_):
        raise errors.CloudError('Cinder reports an error.')
