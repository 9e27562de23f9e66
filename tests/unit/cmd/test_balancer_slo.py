# SPDX-License-Identifier: Apache-2.0

import json
import pathlib

import ddt
import fixtures
import testtools

from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.facts import names
from tests.fakes import prometheus as fake
from tests.unit.cmd import clouds
from tests.unit.cmd import command
from tests.unit.cmd import days
from tests.unit.cmd.days import EXAMPLES
from tests.unit.telemetry import readings


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
        self.assertEqual(['node1', 'all'],
                         [rows[0].split()[0], rows[-1].split()[0]])

    def test_of_many_pools_those_that_can_do_least(self):
        file = pathlib.Path(self.useFixture(
            fixtures.TempDir()).join('cluster.json'))
        file.write_text(json.dumps(clouds.cloud(50)))
        code, out, err = command.balance(
            'slo', '--cluster', file, '--models', EXAMPLES / 'models')
        self.assertEqual(0, code, err)
        rows = [line.split() for line in out.splitlines()[3:]]
        self.assertEqual({'stor000.rack-0', 'stor010.rack-1', 'stor020.rack-2',
                          'stor030.rack-0', 'stor040.rack-1'},
                         {row[0] for row in rows[:5]})
        self.assertEqual(['all', 'and'], [row[0] for row in rows[30:]])
        self.assertIn('and 20 other pools that can do more', out)

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
                if each['slo_us'] is not None]
        self.assertEqual(min(kept), doc['cluster']['kept_up_to'])

    @ddt.data(('--load', '0'), ('--load', 'nan'), ('--load', '1e9'),
              ('--share', '0'), ('--share', '101'), ('--share', 'nan'))
    def test_absurd_options_are_refused_in_a_sentence(self, options):
        code, out, err = self.slo(*options)
        self.assertEqual((2, ''), (code, out))
        self.assertIn('; give above 0' if 'share' in options[0] else
                      'give a factor', err)

    def test_columns_where_no_pool_has_a_model(self):
        pools = json.loads(self.slo('-f', 'json')[1])['pools']
        given = ('slo', '--cluster', EXAMPLES / 'cluster.json', '--models',
                 self.useFixture(fixtures.TempDir()).path)
        code, out, err = command.balance(*given, '-c', 'colour')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('there is no such column; there are: '
                      f'{", ".join(pools[0])}.', err)
        code, out, err = command.balance(
            *given, '-f', 'json', '-c', 'pool', '-c', 'at')
        self.assertEqual((0, []), (code, json.loads(out)), err)

    def test_no_models(self):
        code, _, err = command.balance('slo', '--models', '/nowhere')
        self.assertEqual(2, code)
        self.assertIn('There is no directory of models /nowhere', err)


class SloOfDaysTest(days.DaysCase):
    """The example's volumes, of which a day before is known."""

    def slo(self, *arguments):
        return command.balance(
            '--config-file', self.file, 'slo', '--cluster',
            EXAMPLES / 'cluster.json', '--models', EXAMPLES / 'models',
            *arguments)

    def documents(self, *arguments):
        code, out, err = self.slo('-f', 'json', *arguments)
        self.assertEqual(0, code, err)
        return json.loads(out)

    def test_a_table_of_the_days_follows_that_of_the_present(self):
        self.keep(self.past())
        _, present, _ = command.balance(
            'slo', '--cluster', EXAMPLES / 'cluster.json', '--models',
            EXAMPLES / 'models')
        code, out, err = self.slo()
        self.assertEqual((0, 1), (code, err.count('\n')), err)
        self.assertTrue(out.startswith(present))
        title, header, _, *rows = out[len(present):].strip().splitlines()
        self.assertIn('in the last 24 hours', title)
        self.assertEqual(present.splitlines()[1].split(), header.split())
        self.assertEqual([row.split()[0] for row in
                          present.splitlines()[3:]],
                         [row.split()[0] for row in rows])

    def test_json_of_the_days(self):
        first = self.cluster['volumes'][0]
        self.keep(self.past(idle=[first['id']]))
        found = self.documents('--load', 1)
        self.assertEqual(86400, found['window']['seconds'])
        active, = ({each['pool']: each['volumes']
                    for each in doc['pools']}[first['pool']]
                   for doc in [found['window']])
        self.assertEqual(active, sum(
            each['pool'] == first['pool']
            for each in self.cluster['volumes']) - 1)
        self.assertNotEqual(found['cluster']['outstanding'],
                            found['window']['cluster']['outstanding'])
        for each in (*found['window']['pools'], found['window']['cluster']):
            self.assertAlmostEqual(
                0.8 * each['volumes'], each['outstanding'], 5)

    def test_days_that_are_not_known(self):
        code, out, err = self.slo()
        self.assertEqual((0, 1), (code, out.count('What')))
        self.assertIn('Nothing is known of the days before', err)
        self.assertNotIn('The same', out)
        self.assertIsNone(self.documents()['window'])
        self.assertFalse((self.dir / 'history.sqlite').exists())

    def test_the_present_alone_is_asked_for(self):
        self.keep(self.past())
        self.conf(window=0)
        code, out, err = self.slo()
        self.assertEqual((0, 1), (code, out.count('stay below')))
        self.assertNotIn('days before', err)

    def test_a_history_that_cannot_be_read(self):
        (self.dir / 'history.sqlite').write_text('no database' * 99)
        code, out, err = self.slo()
        self.assertEqual((0, 1), (code, out.count('stay below')))
        self.assertIn('The history is not used: The history', err)

    def test_the_days_that_a_server_of_metrics_has(self):
        """Where volumes are is Cinder's to say; there may be others."""
        first = self.cluster['volumes'][0]
        server = fake.Prometheus(fake.Exporter(
            {'instance': f'{names.host(first["pool"])}:9100'},
            range(int(self.at) - 8000, int(self.at), 15),
            lambda at: {first['id']: readings.steady(
                at - self.at + 9000, iops=400, latency_us=4000)}))
        url = self.enterContext(readings.serving(server.answer))
        self.conf('[telemetry]', 'source = prometheus',
                  f'prometheus_url = {url}', window=7200)
        inventory = Inventory((), (), tuple(
            Record(volume, 1.0, 'available', pool=first['pool'])
            for volume in (first['id'], 'new')))
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.cmd.balancer.adapters.cinder', lambda *_: self))
        self.inventory = lambda: inventory
        found = self.documents()
        its, before = (next(
            each['outstanding'] for each in doc['pools']
            if each['pool'] == first['pool'])
            for doc in (found['window'], found))
        self.assertAlmostEqual(
            1.6 - first['workload']['iodepth'], its - before, 3)
