# SPDX-License-Identifier: Apache-2.0
"""plan and explain judge pools by the days that rounds judge by."""

import json

from tests.unit.cmd import command
from tests.unit.cmd import days
from tests.unit.cmd.days import EXAMPLES

PRESENT = 'Judged only by the present'


class DaysTest(days.DaysCase):
    """The last day: all was idle but what is on one pool."""

    def setUp(self):
        super().setUp()
        self.conf('fix_at_once = false')
        self.awake = [each for each in self.cluster['volumes']
                      if each['pool'].startswith('node3')]
        self.asleep = [each['id'] for each in self.cluster['volumes']
                       if each not in self.awake]

    def run_verb(self, *arguments):
        code, out, err = command.balance(
            '--config-file', self.file, *arguments, '--cluster',
            EXAMPLES / 'cluster.json', '--models', EXAMPLES / 'models')
        self.assertEqual(0, code, err)
        return ' '.join(out.split()), err

    def plan(self, *arguments):
        out, _ = self.run_verb('plan', '-f', 'json', *arguments)
        return json.loads(out)

    def test_by_days_another_pool_is_hot(self):
        self.assertNotIn('node3@ssd#ssd', {
            move['from'] for move in self.plan()['moves']})
        self.keep(self.past(idle=self.asleep))
        found = self.plan()
        self.assertEqual(86400, found['window_s'])
        self.assertEqual({'node3@ssd#ssd'}, {
            move['from'] for move in found['moves']})
        self.assertIn('busier of both pools', found['moves'][0]['reason'])
        self.assertEqual(0, found['latency_us']['node1@ssd#ssd']['before'])

    def test_text_says_by_what_pools_are_judged(self):
        out, _ = self.run_verb('plan')
        self.assertIn(PRESENT, out)
        self.assertNotIn('busy, %', out)
        self.assertFalse((self.dir / 'history.sqlite').exists())
        self.keep(self.past(idle=self.asleep))
        out, _ = self.run_verb('plan')
        self.assertNotIn(PRESENT, out)
        self.assertIn('Judged by the last 24 hours', out)
        self.assertIn('busy, %', out)
        self.assertIn(
            f'node3 {len(self.awake)}/{len(self.awake)}', out)
        self.assertIn('node1 0/3', out)

    def test_latencies_alone_are_compared_where_that_is_set(self):
        self.conf('fix_at_once = false', 'hot_by = latency')
        self.keep(self.past(idle=self.asleep))
        out, _ = self.run_verb('plan')
        self.assertIn('Judged by the last 24 hours', out)
        self.assertNotIn('busy', out)

    def test_explain_says_for_how_long_a_device_is_busy(self):
        self.keep(self.past(idle=self.asleep))
        out, _ = self.run_verb('explain', 'node3')
        self.assertRegex(
            out, r'It is hot: its device is busy for [\d.]+ % of its time, '
            r'which is 5 times the mean')
        self.assertIn('Judged by the last 24 hours', out)
        self.assertIn('busy, %', out)
        out, _ = self.run_verb('explain', self.asleep[0])
        self.assertIn('It is idle, so no move of it would make a pool '
                      'faster. Judged by the last 24 hours', out)

    def test_slos_that_are_broken_now_come_first(self):
        self.keep(self.past(idle=self.asleep))
        self.conf()
        out, err = self.run_verb('plan')
        self.assertIn('SLOs are violated at present, and restored first',
                      err)
        self.assertIn(PRESENT, out)
        self.assertIn('1 of 2 forecast SLO violations avoided', ' '.join(
            out.split()))
        out, err = self.run_verb('plan', '--planner', 'relieve')
        self.assertNotIn('SLOs', err)
        self.assertIn('Judged by the last 24 hours', out)

    def test_an_observation_that_says_no_time_is_of_now(self):
        doc = {**self.cluster, 'observed_at': 'some day'}
        file = self.dir / 'other.json'
        file.write_text(json.dumps(doc))
        code, out, err = command.balance(
            '--config-file', self.file, 'plan', '--cluster', file,
            '--models', EXAMPLES / 'models')
        self.assertEqual(0, code, err)
        self.assertIn(PRESENT, ' '.join(out.split()))

    def test_a_history_that_cannot_be_read_is_left_out(self):
        (self.dir / 'history.sqlite').mkdir()
        for verb in ('plan',), ('explain', 'node3'):
            out, err = self.run_verb(*verb)
            self.assertIn('The history is not used: The history', err)
            self.assertIn(PRESENT, out)
