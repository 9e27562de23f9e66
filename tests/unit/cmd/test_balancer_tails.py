# SPDX-License-Identifier: Apache-2.0
"""Pools may be compared by the 99th percentiles that models predict."""

import json

from tests.unit.cmd import command
from tests.unit.cmd import days
from tests.unit.cmd.days import EXAMPLES

WRITES = {'kind': 'outstanding', 'range': {'count': [1, 8]},
          'quality': {'mre': 0.1},
          'parameters': {'intercept_us': 0, 'sum_q_w': 100}}
"""node2 has two volumes that write alone: 17.6 writes are outstanding."""


class TailsTest(days.DaysCase):

    def setUp(self):
        super().setUp()
        self.models = self.dir / 'models'
        self.models.mkdir()
        for file in (EXAMPLES / 'models').iterdir():
            self.write(file.stem, {**json.loads(file.read_text()),
                                   'tails': {'write_p99_us': WRITES}})

    def write(self, stem, doc):
        (self.models / f'{stem}.json').write_text(json.dumps(doc))

    def run_verb(self, *arguments):
        code, out, err = command.balance(
            '--config-file', self.file, *arguments, '--cluster',
            EXAMPLES / 'cluster.json', '--models', self.models)
        self.assertEqual(0, code, err)
        return ' '.join(out.split()), err

    def plan(self):
        out, err = self.run_verb('plan', '-f', 'json')
        return json.loads(out), err

    def test_another_pool_is_hot_by_the_tail_of_its_writes(self):
        self.conf(window=0)
        by_mean, _ = self.plan()
        self.assertNotIn('node2@ssd#ssd', {
            move['from'] for move in by_mean['moves']})
        self.conf('hot_by = write_p99', window=0)
        found, err = self.plan()
        self.assertNotIn('hot_by', err)
        reasons = [move['reason'] for move in found['moves']
                   if move['from'] == 'node2@ssd#ssd']
        self.assertRegex(reasons[0], r'slower of both pools 1\.76 -> '
                         r'[\d.]+ ms \(write p99\)')

    def test_days_without_a_write_make_no_pool_hot(self):
        self.keep(self.past(idle=[
            each['id'] for each in self.cluster['volumes']
            if not each['pool'].startswith('node3')]))
        for hot_by, moves in ('latency', True), ('write_p99', False):
            self.conf(f'hot_by = {hot_by}', 'fix_at_once = false')
            found, _ = self.plan()
            self.assertEqual((86400, moves), (
                found['window_s'], bool(found['moves'])))

    def test_a_plan_says_what_pools_are_compared_by(self):
        self.conf('hot_by = write_p99', window=0)
        out, _ = self.run_verb('plan', '--planner', 'relieve')
        self.assertIn('pools are hot by the 99th percentile of writes', out)
        self.assertRegex(out, r'after write p99 hot SLOs')
        self.assertRegex(out, r'node2 \d/3')
        self.assertRegex(out, r' 1\.76 → [\d.]+ yes → no ')
        out, _ = self.run_verb('explain', 'node2')
        self.assertRegex(
            out, r'It is hot: the 99th percentile of its writes, 1\.76 ms, '
            r'is [\d.]+ times the mean of the pools')
        out, _ = self.run_verb('explain', 'node2', '-f', 'json')
        self.assertEqual('write_p99', json.loads(out)['hot_by'])

    def test_latencies_stay_means(self):
        self.conf(window=0)
        was, _ = self.plan()
        self.conf('hot_by = write_p99', window=0)
        found, _ = self.plan()
        self.assertEqual(*({
            pool: both['before'] for pool, both in each['latency_us'].items()
        } for each in (was, found)))

    def test_a_model_without_tails_is_named_and_its_pools_left_alone(self):
        self.conf('hot_by = read_p99', window=0)
        found, err = self.plan()
        self.assertEqual([], found['moves'])
        self.assertIn(
            'Model intel-s3500 says nothing of read_p99_us, by which '
            '[balancer] hot_by = read_p99 compares pools; fit it again with '
            'serifos-model fit --tails. Left out with it: node1@ssd#ssd, '
            'node2@ssd#ssd, node3@ssd#ssd.', err)
