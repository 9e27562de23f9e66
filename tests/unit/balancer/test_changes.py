# SPDX-License-Identifier: Apache-2.0
"""What a tenant changes of a volume in use as it is copied, and loses."""

import dataclasses
import shlex
import subprocess

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from serifos.balancer import changes
from serifos.facts import cinder_errors
from serifos.facts.inventory import Record
from serifos.facts import journal
from tests.unit.balancer.cloud import B
from tests.unit.balancer import test_attached

PIN = {'serifos:pin': 'yes'}
COPYING_S, COMPLETING_S, WIPING_S = 5, 11, 15
"""Seconds after a request; the copy takes 10 s, and wiping its source."""


@ddt.ddt
class CopyTest(test_attached.Case):
    """Volume u is in use, and moves from the first pool to the second."""

    def setUp(self):
        super().setUp()
        self.cinder.change('u', name='old', metadata={'kept': '1'})
        self.due = []

    def after(self, seconds, verb, *arguments):
        """Its tenant asks for something so long after the request."""
        self.due.append((seconds, verb, arguments))

    def pause(self, seconds):
        stopped = super().pause(seconds)
        while self.due and self.slept >= self.due[0][0]:
            _, verb, arguments = self.due.pop(0)
            getattr(self.cinder, verb)('u', *arguments)
        return stopped

    def changed(self, at=COPYING_S):
        self.after(at, 'relabel', {'name': 'new'}, PIN)
        self.after(at, 'extend', 2.0)

    def moved(self):
        self.balancer.round()
        return [each for each in self.entries() if each.kind == 'outcome'][-1]

    def assert_told(self, outcome):
        self.assertEqual('changes lost', outcome.facts['result'])
        self.assertEqual(
            f'it is on {B}; Cinder has undone what was changed meanwhile: '
            "size 1 -> 2 GiB, name 'old' -> 'new', metadata serifos:pin none "
            "-> 'yes'; serifos-balancer reapply u makes it again, or says "
            'how', outcome.facts['reason'])
        volume = self.cinder.volume('u')
        self.assertEqual((1.0, 'old', {'kept': '1'}, B), (
            volume.size_gib, volume.name, volume.metadata, volume.pool))

    @ddt.data(COPYING_S, COMPLETING_S)
    def test_what_it_loses_is_told(self, at):
        self.changed(at)
        outcome = self.moved()
        self.assert_told(outcome)
        self.assertIn(
            'makes it again, or says how; openstack volume set --name new '
            '--property serifos:pin=yes u; cinder-manage quota sync '
            '--project-id p; openstack --os-volume-api-version 3.42 volume '
            'set --size 2 u.', self.log.output)

    def test_it_is_told_at_once_as_it_is_copied(self):
        self.changed()
        self.set(timeouts=dataclasses.replace(
            self.settings.timeouts, timeout_s=8.0, timeout_per_gib_s=0.0))
        outcome = self.moved()
        self.assertEqual('timeout', outcome.facts['result'])
        for said in outcome.facts['reason'], self.log.output:
            self.assertIn("name 'old' -> 'new'", said)
        self.assertIn('Cinder will undo that at the end', self.log.output)

    @ddt.data(8, 3)
    def test_a_balancer_that_is_started_anew_knows_it(self, stop_after):
        # Stopped after that, which the journal then has, or before.
        self.changed()
        self.stop_after = stop_after
        self.balancer.round()
        self.assertEqual(
            stop_after > COPYING_S, 'changed' in self.kinds())
        self.stop_after = None
        self.assert_told(self.moved())

    def test_one_that_is_started_when_it_is_over_knows_what_was_written(self):
        self.changed()
        self.stop_after = 8
        self.balancer.round()
        self.now += 90
        self.stop_after = None
        self.assert_told(self.moved())

    def test_what_is_changed_once_it_has_ended_stays(self):
        self.after(WIPING_S, 'relabel', {'name': 'new'}, PIN)
        self.assertEqual('success', self.moved().facts['result'])
        self.assertEqual('new', self.cinder.volume('u').name)

    def test_what_is_made_again_before_all_is_over_is_not_lost(self):
        for at in COPYING_S, WIPING_S:
            self.after(at, 'relabel', {'name': 'new'}, {'kept': None})
        self.assertEqual('success', self.moved().facts['result'])

    def test_what_is_taken_back_is_not_lost(self):
        for at, name in (4, 'new'), (7, 'old'):
            self.after(at, 'relabel', {'name': name}, {})
        self.assertEqual('success', self.moved().facts['result'])

    def test_where_the_copy_fails_nothing_is_lost(self):
        self.changed()
        self.cinder.faults['u'] = 'error'
        self.assertEqual('error', self.moved().facts['result'])
        self.assertEqual('new', self.cinder.volume('u').name)

    def test_of_a_detached_one_nothing_can_be_changed(self):
        self.cinder.change('u', status='available', attachments=())
        self.after(COPYING_S, 'relabel', {'name': 'new'}, PIN)
        error = self.assertRaises(cinder_errors.Refused, self.moved)
        self.assertIn('during maintenance', str(error))

    def test_it_counts_as_moved(self):
        self.changed()
        self.moved()
        entries = self.entries()
        self.assertIn('u', journal.last_moves(entries))
        self.assertEqual(0, journal.failures_in_a_row(entries))
        self.set(cool_down_s=3600.0)
        self.now += 60
        self.assertEqual((), self.balancer.round().moves)

    def test_a_copy_that_cinder_completes_late(self):
        """A person has Cinder complete it, which loses the same."""
        self.cinder.faults['u'] = 'nova moved'
        self.changed()
        self.assertEqual('timeout', self.moved().facts['result'])
        half, = self.cinder.halves('u')
        self.cinder.complete('u', half.id)
        self.now += 60
        self.assertEqual({'size_gib', 'name', 'metadata:serifos:pin'}, {
            *changes.undone(changes.of_last(self.entries(), 'u'),
                            changes.held(self.cinder.volume('u')))})


@ddt.ddt
class ChangesTest(testtools.TestCase):

    def since(self, **changed):
        before = Record('u', 1.0, 'in-use', attachments=('s',))
        return changes.since(changes.held(before), changes.held(
            dataclasses.replace(before, **changed)))

    @ddt.data(
        ({'name': 'it is'}, "--name 'it is' u"),
        ({'name': '$(reboot)'}, "--name '$(reboot)' u"),
        ({'description': ''}, "--description '' u"),
        ({'bootable': True}, '--bootable u'),
        ({'volume_type': 'gold'}, '--retype-policy never --type gold u'),
        ({'metadata': {'a b': '='}}, "--property 'a b==' u"))
    @ddt.unpack
    def test_commands(self, changed, words):
        self.assertEqual([f'openstack volume set {words}'], changes.commands(
            'u', self.since(**changed), 'p'))

    def test_an_item_of_metadata_that_was_removed(self):
        found = changes.since({'metadata:a': '1'}, {})
        self.assertEqual("metadata a '1' -> none", changes.words(found))
        self.assertEqual(['openstack volume unset --property a u'],
                         changes.commands('u', found, None))

    @given(strategies.text(strategies.characters(exclude_categories=['Cs'],
                                                 exclude_characters='\0'),
                           max_size=20))
    def test_any_name_is_one_word_of_a_shell_that_can_be_printed(self, name):
        line, = changes.commands('u', {'name': ['', name]}, None)
        self.assertTrue(line.isprintable())
        if name.isprintable():
            self.assertEqual(name, shlex.split(line)[4])

    def test_a_name_that_cannot_be_printed(self):
        name = "a\x1b[2J\u202e'é\\\n$x"
        line, = changes.commands('u', {'name': ['', name]}, None)
        word = line.removeprefix('openstack volume set --name ')[:-2]
        found = subprocess.run(
            ['bash', '-c', f'printf %s {word}'], check=True,
            capture_output=True, env={'LC_ALL': 'C.UTF-8'})
        self.assertEqual(name, found.stdout.decode())

    def test_attachments_that_come_and_not_those_that_go(self):
        self.assertEqual({}, self.since(attachments=()))
        self.assertEqual('attached to server t', changes.words(
            self.since(attachments=('s', 't'))))

    def test_no_more_than_an_entry_of_the_journal_holds(self):
        found = self.since(name='new', metadata={
            f'{n:0255}': '\U0001f600' * 255 for n in range(128)})
        self.assertIn('name', found)
        self.assertTrue(10 < len(found) < 40)
        self.assertIn(f'and {len(found) - 5} more', changes.words(found))

    @ddt.data(None, 5, [], {'name': 5}, {'name': ['a']}, {'name': [1, 'a']},
              {'size_gib': [None, 2]}, {'bootable': ['x', True]})
    def test_what_is_none_in_a_journal(self, said):
        self.assertEqual({}, changes.read(said))
