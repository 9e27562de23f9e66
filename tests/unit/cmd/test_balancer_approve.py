# SPDX-License-Identifier: Apache-2.0
import fixtures

from tests.unit.cmd import command
from tests.unit.cmd import test_balancer_status
from tests.unit.database.plans_behaviour import plan


class ApproveTest(test_balancer_status.Case):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.EnvironmentVariable('SUDO_USER', 'anna'))
        self.mode('approve')
        self.keep('one')

    def mode(self, mode):
        self.file.write_text(f'[serifos]\nstate_dir = {self.dir}\n'
                             f'[balancer]\nmode = {mode}\n')

    def keep(self, name, ago_s=60.0, **more):
        self.stored.keep(plan(name, self.now - ago_s, **more), self.now,
                         self.fail)

    def approvals(self):
        return [(entry.kind, dict(entry.facts))
                for entry in self.journal.entries()]

    def refused(self, *arguments):
        code, out, err = command.balance(
            '--config-file', self.file, *arguments)
        self.assertEqual((2, ''), (code, out))
        return err

    def test_who_approves_what(self):
        self.assertEqual('Plan one is approved: 1 volume, 1 GiB.\n',
                         self.run_verb('approve', 'one'))
        self.assertEqual('Plan one is approved already, by anna.\n',
                         self.run_verb('approve', 'one'))
        facts = {'plan': 'one', 'by': 'anna'}
        self.assertEqual([('approve', facts)], self.approvals())
        self.assertRegex(self.run_verb('plans'), r'\none .* valid +anna\n')
        self.assertIn('approved by anna', self.run_verb('show', 'one'))
        self.assertIn('mode          approve', self.run_verb('status'))
        self.assertEqual('Plan one is no longer approved.\n',
                         self.run_verb('cancel', 'one'))
        self.assertEqual('Plan one is not approved.\n',
                         self.run_verb('cancel', 'one'))
        self.assertEqual([('approve', facts), ('cancel', facts)],
                         self.approvals())

    def test_in_another_mode_it_says_that_nothing_will_move(self):
        self.mode('advise')
        code, _, err = command.balance(
            '--config-file', self.file, 'approve', 'one')
        self.assertEqual(0, code)
        self.assertIn('mode is advise here', err)

    def test_what_cannot_be_approved(self):
        self.assertIn('There is no plan two', self.refused(
            'approve', 'two'))
        self.assertIn('There is no plan two', self.refused(
            'cancel', 'two'))
        self.keep('old', 3600.0, ttl=60.0, volume='w')
        self.assertIn('Plan old expired at', self.refused('approve', 'old'))
        self.requested()
        self.journal.write(
            'outcome', volume='v', result='success', reason='', source='a',
            target='b', seconds=5.0)
        self.assertIn('has no move that is left', self.refused(
            'approve', 'one'))
