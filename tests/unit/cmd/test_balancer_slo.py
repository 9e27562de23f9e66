# SPDX-License-Identifier: Apache-2.0

import json
import pathlib

import ddt
import testtools

from tests.unit.cmd import command

EXAMPLES = pathlib.Path(__file__).parents[3] / 'etc/serifos/examples'


@ddt.ddt
class SloTest(testtools.TestCase):

    def slo(self, *arguments):
        return command.balance(
            'slo', '--cluster', EXAMPLES / 'cluster.json', '--models',
            EXAMPLES / 'models', *arguments)

    def test_a_row_for_each_pool_and_one_for_all(self):
        code, out, err = self.slo('--load', 1, '--load', '1.25')
        self.assertEqual(0, code)
        self.assertIn('no model', err)
        first, header, _, *rows = out.splitlines()
        self.assertIn('What 99 % of the active volumes stay below', first)
        self.assertTrue(header.endswith('x 1.25'))
        self.assertEqual(['node1@ssd#ssd', 'all'],
                         [rows[0].split()[0], rows[-1].split()[0]])

    def test_json_says_the_same(self):
        code, out, _ = self.slo('-f', 'json', '--share', 50)
        doc = json.loads(out)
        self.assertEqual((0, 50), (code, doc['share_pct']))
        self.assertEqual([0.5, 1, 1.5, 2, 3],
                         [each['load'] for each in doc['cluster']['at']])
        self.assertNotIn('pool', doc['cluster'])
        for pool in doc['pools']:
            us = [each['latency_us'] for each in pool['at']]
            self.assertLess(us[0], us[-1])
        kept = [each['kept_up_to'] for each in doc['pools']
                if each['promised_us'] is not None]
        self.assertEqual(min(kept), doc['cluster']['kept_up_to'])

    @ddt.data(('--load', '0'), ('--load', 'nan'), ('--load', '1e9'),
              ('--share', '0'), ('--share', '101'), ('--share', 'nan'))
    def test_absurd_options_are_refused_in_a_sentence(self, options):
        code, out, err = self.slo(*options)
        self.assertEqual((2, ''), (code, out))
        self.assertIn('; give above 0' if 'share' in options[0] else
                      'give a factor', err)

    def test_no_models(self):
        code, _, err = command.balance('slo', '--models', '/nowhere')
        self.assertEqual(2, code)
        self.assertIn('There is no directory of models /nowhere', err)
