# SPDX-License-Identifier: Apache-2.0
"""plan and explain go by the rates and bounds that rounds go by."""

import json

from serifos.cmd.balancer import configuration
from serifos import conf
from tests.unit.cmd import test_balancer_plan
from tests.unit.cmd import test_balancer_status

S_PER_GIB = 77.0
"""Unlike what [balancer] copy_rate says."""


class PacedTest(test_balancer_status.Case):

    def setUp(self):
        super().setUp()
        self.examples = test_balancer_plan.EXAMPLES

    def say(self, *options, mode='auto'):
        self.file.write_text('\n'.join((
            f'[serifos]\nstate_dir = {self.dir}\n[balancer]\nmode = {mode}',
            *options)))

    def verb(self, *arguments):
        return self.run_verb(
            *arguments, '--cluster', self.examples / 'cluster.json',
            '--models', self.examples / 'models')

    def moves(self):
        return json.loads(self.verb('plan', '--format', 'json'))['moves']

    def test_copies_take_what_the_latest_took(self):
        usual = self.moves()
        self.assertNotEqual([], usual)
        for seen in {'status': 'available'}, {'status': 'in-use'}:
            facts = {'volume': 'v', 'source': 'a', 'target': 'b'}
            self.journal.write('request', plan='p', size_gib=10.0, seen=seen,
                               **facts)
            self.journal.write('outcome', result='success', reason='',
                               seconds=10 * S_PER_GIB, **facts)
        for mode in 'auto', 'advise':
            self.say(mode=mode)
            self.assertEqual(
                [(move['volume'], S_PER_GIB * move['size_gib'])
                 for move in usual],
                [(move['volume'], move['copy_s']) for move in self.moves()])

    def test_what_is_too_large_for_the_bounds_stays(self):
        moved = self.moves()
        most = max(move['size_gib'] for move in moved)
        large = next(move['volume'] for move in moved
                     if move['size_gib'] == most)
        bound = f'max_gib_per_hour = {most - 1:g}'
        self.say(bound)
        self.assertNotIn(large, [move['volume'] for move in self.moves()])
        self.assertIn('are more than [balancer] max_gib_per_hour', ' '.join(
            self.verb('explain', large).split()))
        self.say(bound, mode='advise')  # where rounds plan it, too
        self.assertEqual(moved, self.moves())

    def test_a_journal_that_cannot_be_read_is_said(self):
        (self.dir / 'journal.sqlite').write_text('no database')
        code, out, err = test_balancer_plan.command.balance(
            '--config-file', self.file, 'plan', '--cluster',
            self.examples / 'cluster.json', '--models',
            self.examples / 'models')
        self.assertEqual(0, code)
        self.assertIn('Copy rates of earlier migrations are not used', err)

    def test_mode_auto_copies_so_much_a_day_where_nobody_says(self):
        for mode, option, most in (
                ('auto', '', 1024), ('auto', 'max_gib_per_day = 5000', 5000),
                ('approve', '', None), ('advise', '', None)):
            self.say(option, mode=mode)
            self.assertEqual(most, configuration.settings(conf.load(
                [str(self.file)])).pace.max_gib_per_day)

    def test_a_plan_copies_so_much(self):
        self.say('max_gib_per_plan = 70')
        self.assertEqual([60], [each['size_gib'] for each in self.moves()])
