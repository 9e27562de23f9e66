# SPDX-License-Identifier: Apache-2.0
import json
import re

import ddt
import yaml

from tests.unit import case
from tests.unit.cmd import command
from tests.unit.cmd.test_balancer_plan import EXAMPLES


def _words(text):
    return ' '.join(text.split())


@ddt.ddt
class ExplainTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.doc = json.loads((EXAMPLES / 'cluster.json').read_text())
        self.cluster = self.dir / 'cluster.json'

    def explain(self, *arguments, verb='explain'):
        self.cluster.write_text(json.dumps(self.doc))
        code, out, err = command.balance(
            verb, '--cluster', self.cluster, '--models', EXAMPLES / 'models',
            *arguments)
        return code, out, err

    def said(self, *arguments, **more):
        code, out, _ = self.explain(*arguments, **more)
        self.assertEqual(0, code)
        return out

    def test_who_makes_a_pool_slow_and_what_is_done(self):
        out = self.said('node1')
        first = _words(out)
        self.assertRegex(first, r'node1: predicted latency 4\.94 ms \(')
        self.assertRegex(first, r'It is hot: its planning figure, 6\.1\d ms, '
                                r'is \S+ times the mean')
        self.assertIn('3 of its 3 volumes are active; 33 % of its load may '
                      'not be moved at all.', first)
        self.assertIn('1 SLO of its volumes is forecast to be violated.',
                      first)
        self.assertIn('Because of a06cef3c-2823-5278-8af0-5e278b902de5 (33 % '
                      'of its load; without it 1.76 ms) and fee4e269', first)
        rows = [line for line in out.split('\n') if ' a plan moves it' in line
                or ' stays: ' in line]
        self.assertEqual(3, len(rows), out)
        self.assertTrue(rows[0].startswith('a06cef3c'))
        self.assertIn('stays: snapshots hold it', out)
        self.assertIn('!: would exceed the SLO of its type', first)

    def document(self, name, *arguments):
        return json.loads(self.said(name, '-f', 'json', *arguments))

    def test_a_pool_as_a_document(self):
        out = self.dir / 'explained.json'
        found = self.document('node1', '--out', out)
        self.assertEqual(found, json.loads(out.read_text()))
        self.assertEqual(found, yaml.safe_load(
            self.said('node1', '-f', 'yaml')))
        self.assertEqual(('serifos-explanation/1', 'pool', 'node1@ssd#ssd'), (
            found['schema'], found['explains'], found['pool']))
        self.assertEqual((3, 3, True, 1, 0), (
            found['volumes'], found['active'], found['before']['hot'],
            found['before']['broken'], found['window_s']))
        self.assertAlmostEqual(4941, found['before']['latency_us'], delta=5)
        self.assertEqual(found['before']['figure_us'],
                         found['heat']['figure_us'])
        first, *_ = its = found['active_volumes']
        self.assertEqual(3, len(its))
        self.assertTrue(first['volume'].startswith('a06cef3c'))
        self.assertAlmostEqual(1764, first['without_us'], delta=1)
        self.assertTrue(first['late'])
        self.assertEqual(first['goes_to'], {
            move['volume']: move['to'] for move in json.loads(
                self.said('-f', 'json', verb='plan'))['moves']
            }[first['volume']])
        self.assertEqual([1.0], [round(sum(
            each['share'] for each in its), 6)])
        self.assertIn('a snapshot holds it', [each['why'] for each in its])

    def test_the_documents_of_the_documentation(self):
        text = (EXAMPLES.parents[3] / 'doc/source/reference/formats.rst'
                ).read_text()
        shown = [doc for doc in map(json.loads, re.findall(
            r'(?m)^   (\{"schema": "serifos-explanation/1"(?:.*\n)+?)\n',
            text))]
        self.assertEqual(2, len(shown))
        for doc, made in zip(shown, map(self.document, (
                'node1', 'a06cef3c'))):
            self.assertEqual([*made], [*doc])
            for rows in 'active_volumes', 'goals':
                if rows in made:
                    self.assertEqual([*made[rows][0]], [*doc[rows][0]])

    def test_a_volume_as_a_document(self):
        found = self.document('a06cef3c')
        self.assertEqual(('serifos-explanation/1', 'volume',
                          'node1@ssd#ssd'), tuple(
            found[name] for name in ('schema', 'explains', 'pool')))
        self.assertNotIn('node1@ssd#ssd', [
            goal['pool'] for goal in found['goals']])
        self.assertEqual(
            [f'{goal["pool"]} {goal["then_us"]}' for goal in found['goals']],
            self.said('a06cef3c', '-f', 'value', '-c', 'pool', '-c',
                      'then_us').splitlines())
        self.assertLess(1, len(found['goals']))

    @ddt.data('node1', 'a06cef3c')
    def test_a_column_that_is_not_there(self, name):
        for volumes in self.doc['volumes'], []:
            if name == 'node1':
                self.doc['volumes'] = volumes
            code, out, err = self.explain(name, '-c', 'colour')
            self.assertEqual((2, ''), (code, out))
            self.assertIn('there is no such column', err)

    @ddt.data((0, 0, '0 of its 0 volumes are active'),
              (1, 1, 'Its one volume is active'),
              (1, 0, 'Its one volume is idle'),
              (2, 1, '1 of its 2 volumes is active'),
              (2, 2, '2 of its 2 volumes are active'))
    @ddt.unpack
    def test_how_many_volumes_of_a_pool_are_active(self, there, active, said):
        kept = [each for each in self.doc['volumes']
                if each['pool'].startswith('node1')][:there]
        self.assertEqual(there, len(kept))
        for each in kept[active:]:
            each['workload']['iodepth'] = 0.0
        self.doc['volumes'] = [
            each for each in self.doc['volumes']
            if not each['pool'].startswith('node1')] + kept
        self.assertIn(f'{said};', _words(self.said('node1')))

    def test_what_an_idle_volume_does_agrees_with_its_rate(self):
        self.doc['volumes'][0]['workload'].update(iops=24.02, latency_us=1000)
        said = _words(self.said(self.doc['volumes'][0]['id']))
        self.assertIn('It counts as idle; at present it keeps 0.024 I/Os '
                      'outstanding: ', said)
        self.assertIn('24.02 IOPS', said)

    def test_where_a_volume_could_go_and_what_stops_it(self):
        self.doc['volumes'][0].update(
            name='db\x1b[1m', project_id='p1', server='web1')
        self.doc['pools'][3]['free_gib'] = 1
        out = self.said('a06cef3c')
        first = _words(out)
        self.assertIn('db?[1m (a06cef3c-2823-5278-8af0-5e278b902de5) is on '
                      'node1: 60 GiB, type gold, project p1, used by web1.',
                      first)
        self.assertIn('The SLO of its type is 4 ms, predicted to be '
                      'violated.', first)
        self.assertRegex(first, r'Without it node1 would have 1\.76 ms '
                                r'instead of 4\.94\. A plan now moves it to '
                                r'node5\.')
        self.assertIn('node4@ssd#ssd has 1 GiB free, 60 needed', first)

    @ddt.data(
        ({'movable': 'a snapshot holds it',
          'movable_code': 'snapshots'}, 'It may not be moved: a '
         'snapshot holds it (to change this: delete them: Cinder'),
        ({'workload': None}, 'Nothing is known of its activity.'),
        ({'workload': {'write_pct': 5, 'block_kib': 4, 'iodepth': 0}},
         'It is idle, so no move of it would make a pool faster.'),
        ({'pool': 'gone'}, 'the cluster has no pool gone'))
    @ddt.unpack
    def test_what_keeps_a_volume(self, facts, words):
        self.doc['volumes'][0].update(facts)
        self.assertIn(words, _words(self.said('a06cef3c')))

    def test_a_pool_of_which_nothing_is_predicted(self):
        self.assertIn('node6 has no usable model: nothing is predicted of '
                      'it, and no volume leaves it or comes to it.',
                      _words(self.said('node6')))
        self.doc['pools'][0].update(state='down', drifting='it is slow')
        first = _words(self.said('node1'))
        self.assertIn('It is down.', first)
        self.assertIn('Pool node1@ssd#ssd drifts from its model', first)

    def test_many_volumes_and_pools_are_counted(self):
        pools, volumes = self.doc['pools'], self.doc['volumes']
        pools += [{**pools[0], 'name': f'more{i}@ssd#ssd'} for i in range(20)]
        volumes += [{**volumes[0], 'id': f'more{i}'} for i in range(30)]
        self.assertIn('and 13 other volumes', self.said('node1'))
        self.assertRegex(_words(self.said('a06cef3c')),
                         r'and 14 other pools: \d+ × ')

    def test_plan_explains_a_pool_as_well(self):
        out = self.said('--why', 'node1', verb='plan')
        self.assertTrue(out.endswith('\n\n' + self.said('node1')))
        self.assertEqual(2, self.explain('--why', 'n', verb='plan')[0])

    def test_what_there_is_not(self):
        code, out, err = self.explain('Tuesday')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('no pool and no volume Tuesday', err)
        self.assertEqual(2, command.balance(
            'explain', '--cluster', self.cluster, '--models', '/nowhere',
            'node1')[0])
