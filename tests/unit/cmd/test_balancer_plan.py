# SPDX-License-Identifier: Apache-2.0

import datetime
import json
import pathlib
import uuid

import ddt
import testtools

from serifos.files import documents
from tests.unit import case
from tests.unit.cmd import command

EXAMPLES = pathlib.Path(__file__).parents[3] / 'etc/serifos/examples/paper'


def _time(text):
    return datetime.datetime.fromisoformat(text)


@ddt.ddt
class PlanTestCase(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.models = self.dir / 'models'
        self.models.mkdir()
        for path in (EXAMPLES / 'models').iterdir():
            (self.models / path.name).write_text(path.read_text())
        stem = 'intel-s3610'
        (self.models / 'quickstart.json').write_text(
            (self.models / f'{stem}.json').read_text())
        self.cluster = self.dir / 'cluster.json'
        self.cluster.write_text((EXAMPLES / 'cluster.json').read_text())

    def _plan(self, *arguments):
        return command.balance('plan', '--cluster', self.cluster,
                               '--models', self.models, *arguments)

    def _doc(self, *arguments):
        code, out, err = self._plan('-f', 'json', *arguments)
        self.assertEqual((0, ''), (code, err))
        return json.loads(out)

    @ddt.data('bfd', 'relieve')
    def test_json_is_a_plan_that_another_program_can_read(self, planner):
        doc = self._doc('--planner', planner)
        (self.dir / 'p.json').write_text(json.dumps(doc))
        self.assertEqual(
            doc, documents.read_plan(self.dir / 'p.json').to_json())
        self.assertEqual(planner, doc['planner'])
        uuid.UUID(doc['id'])
        self.assertEqual(datetime.timedelta(days=1), _time(
            doc['expires_at']) - _time(doc['created_at']))
        self.assertTrue(doc['created_at'].endswith('Z'))
        self.assertLess(doc['max_us']['after'], doc['max_us']['before'])
        self.assertLess(doc['variance_us2']['after'],
                        doc['variance_us2']['before'])
        self.assertEqual(6, len(doc['latency_us']))

    def test_refused_volumes_say_why(self):
        reasons = {r['reason'] for r in self._doc(
            '--every-refusal')['refused']}
        self.assertLessEqual(
            {'no telemetry', 'a snapshot holds it',
             'gain 1.84 % is below min_gain 10 %'}, reasons)

    def test_a_person_reads_what_it_brings_and_costs(self):
        code, out, _ = self._plan()
        self.assertEqual(0, code)
        doc = self._doc()
        was, then = (doc['latency_us']['node1@ssd#ssd'][side] / 1000
                     for side in ('before', 'after'))
        gib = sum(move['size_gib'] for move in doc['moves'])
        first = ' '.join(out.split())
        self.assertTrue(first.startswith(
            f'node1 {was:.3g} → {then:.3g} ms and '), first)
        self.assertIn('2 of 2 forecast SLO violations avoided, '
                      f'{gib:g} GiB copied by ', first)
        self.assertIn('Warning: The observation is ', out)
        for move in doc['moves']:
            self.assertIn(move['volume'], out)
        self.assertIn('snapshots hold it', out)

    def test_a_new_observation_is_not_warned_about(self):
        doc = json.loads(self.cluster.read_text())
        self.cluster.write_text(json.dumps({
            **doc, 'observed_at': datetime.datetime.now(
                datetime.UTC).isoformat()}))
        self.assertNotIn('The observation', self._plan()[1])

    def test_a_pool_that_does_not_fit_its_model_is_named_first(self):
        doc = json.loads(self.cluster.read_text())
        for volume in doc['volumes']:
            if volume['pool'] == 'node1@ssd#ssd' and volume['workload']:
                volume['workload'] |= {'iops': 8e4, 'latency_us': 100}
        self.cluster.write_text(json.dumps(doc))
        code, out, _ = self._plan()
        self.assertEqual(6, code)
        self.assertTrue(' '.join(out.split()).startswith(
            '1 of 6 pools does not fit its model: rebuild or refine before '
            'you move anything (node1: its tenants see 0.1 ms, its model '
            'predicts '), out)
        code, out, _ = self._plan('-f', 'json')
        self.assertEqual((6, ['node1@ssd#ssd']), (
            code, json.loads(out)['unexplained']))
        self.assertNotIn('node1@ssd#ssd', {
            move['from'] for move in json.loads(out)['moves']})
        trusted = self._doc('--trust-models')
        self.assertIn('node1@ssd#ssd', {
            move['from'] for move in trusted['moves']})

    def test_algorithm_1_as_printed_asks_for_no_gain(self):
        doc = self._doc('--planner', 'bfd', '--paper')
        self.assertEqual(('bfd --paper', 8), (
            doc['planner'], len(doc['moves'])))

    def test_algorithm_1_knows_no_99th_percentiles(self):
        conf = self.dir / 'serifos.conf'
        conf.write_text('[balancer]\nplanner = bfd\nhot_by = write_p99\n'
                        f'[serifos]\nstate_dir = {self.dir}\n'
                        f'models_dir = {self.models}\n')
        code, out, err = command.balance(
            '--config-file', conf, 'plan', '--paper', '-f', 'json')
        self.assertEqual((0, '', 8), (
            code, err, len(json.loads(out)['moves'])))

    def test_the_same_is_planned_again(self):
        drop = ('id', 'created_at', 'expires_at')
        one, two = (
            {k: v for k, v in self._doc().items() if k not in drop}
            for _ in range(2))
        self.assertEqual(one, two)

    def test_out_writes_the_plan_and_nothing_else_is_written(self):
        before = set(self.dir.rglob('*'))
        doc = self._doc('--out', self.dir / 'plan.json')
        self.assertEqual({self.dir / 'plan.json'},
                         set(self.dir.rglob('*')) - before)
        self.assertEqual(
            doc, json.loads((self.dir / 'plan.json').read_text()))

    def test_a_gain_that_cannot_be_had_moves_nothing(self):
        code, out, _ = self._plan('--min-gain', '1', '--planner', 'bfd')
        self.assertEqual(0, code)
        self.assertIn('Nothing can be moved, though ', out)
        self.assertIn('its gain is below min_gain', out)

    def test_max_moves_bounds_a_plan_and_says_so(self):
        doc = self._doc('--planner', 'bfd', '--max-moves', '1')
        self.assertEqual((1, True), (len(doc['moves']), doc['truncated']))

    def test_an_active_floor_above_all_leaves_an_idle_cluster(self):
        doc = self._doc('--active-floor', '9')
        self.assertEqual([], doc['moves'])
        self.assertEqual(0, doc['max_us']['before'])

    def test_a_pool_whose_model_is_missing_is_left_out(self):
        (self.models / 'quickstart.json').unlink()
        code, out, err = self._plan('-f', 'json', '--every-refusal')
        self.assertEqual(0, code)
        self.assertIn('There is no model', err)
        self.assertIn('quickstart.json', err)
        doc = json.loads(out)
        self.assertNotIn('node6@ssd#ssd', doc['latency_us'])
        self.assertNotIn('node6@ssd#ssd', {m['to'] for m in doc['moves']})
        self.assertIn('node6@ssd#ssd has no model',
                      {r['reason'] for r in doc['refused']})

    @ddt.data(
        (1, 'Volume v0 is in pool gone0, which the cluster does not list: it '
            'is not planned for.'),
        (2, '2 volumes are in pools that the cluster does not list, such as '
            'v0 in gone0: they are not planned for.'))
    @ddt.unpack
    def test_volumes_in_pools_that_are_not_listed_are_named(self, count, says):
        listed = self._doc()['moves']
        doc = json.loads(self.cluster.read_text())
        doc['volumes'] += [
            {'id': f'v{n}', 'pool': f'gone{n}', 'size_gib': 1}
            for n in range(count)]
        self.cluster.write_text(json.dumps(doc))
        code, out, err = self._plan('-f', 'json')
        self.assertEqual((0, f'serifos-balancer: {says}\n'), (code, err))
        self.assertEqual(listed, json.loads(out)['moves'])

    def test_options_override_the_configuration(self):
        conf = self.dir / 'serifos.conf'
        conf.write_text('[balancer]\nplanner = bfd\nmax_moves = 2\n'
                        'plan_ttl = 60\n[serifos]\nstate_dir = '
                        f'{self.dir}\nmodels_dir = {self.models}\n')

        def run(*more):
            code, out, _ = command.balance(
                '--config-file', conf, 'plan', '-f', 'json', *more)
            self.assertEqual(0, code)
            doc = json.loads(out)
            return (doc['planner'], len(doc['moves']), _time(
                doc['expires_at']) - _time(doc['created_at']))

        minute = datetime.timedelta(minutes=1)
        self.assertEqual(('bfd', 2, minute), run())
        self.assertEqual(('relieve', 1, minute), run(
            '--planner', 'relieve', '--max-moves', '1'))

    @ddt.data(
        (('--min-gain', 'nan'), 'min_gain of nan cannot be used'),
        (('--min-gain', '-0.1'), 'give 0 to 1.'),
        (('--min-gain', '5'), 'give 0 to 1.'),
        (('--hot-ratio', '-1'), 'give 0 to 100.'),
        (('--paper',), 'give --planner bfd with --paper'),
        (('--max-moves', '0'), 'give 1 to 1000000.'),
        (('--max-moves', '9' * 30), 'give 1 to 1000000.'),
        (('--active-floor', 'inf'), 'cannot be used'),
        (('--active-floor', '-1'), 'cannot be used'),
        (('--cluster', '/nowhere'), 'There is no cluster /nowhere'),
        (('--models', '/nowhere'), 'no directory of models /nowhere'))
    @ddt.unpack
    def test_absurd_options_are_refused_in_a_sentence(self, options, says):
        code, out, err = self._plan(*options)
        self.assertEqual((2, ''), (code, out))
        self.assertIn(says, err)
        self.assertEqual(1, err.count('\n'))

    @ddt.data(
        ('{"schema": "serifos-model/1"', 'is not JSON'),
        ('{"schema": "serifos-model/9"}', 'serifos-model/9'))
    @ddt.unpack
    def test_a_broken_model_is_its_pools_affair(self, text, says):
        (self.models / 'intel-s3500.json').write_text(text)
        err = self._left_out('intel-s3500')
        self.assertEqual(1, err.count('intel-s3500.json'), err)
        self.assertIn(says, err)

    def _left_out(self, stem):
        """Neither source nor target nor in a figure, and named."""
        cluster = json.loads(self.cluster.read_text())
        pools = {pool['name'] for pool in cluster['pools']
                 if pool.get('model') == stem}
        code, out, err = self._plan('-f', 'json')
        self.assertEqual(0, code, err)
        doc = json.loads(out)
        self.assertEqual(set(), pools & set(doc['latency_us']))
        self.assertEqual(set(), pools & {
            move[end] for move in doc['moves'] for end in ('from', 'to')})
        self.assertNotEqual([], doc['moves'])
        self.assertIn(min(pools), err)
        return err

    def test_a_model_of_iops_cannot_plan(self):
        path = self.models / 'intel-s3500.json'
        doc = json.loads(path.read_text())
        path.write_text(json.dumps({**doc, 'predicts': 'read_iops'}))
        self.assertIn('predicts read_iops', self._left_out('intel-s3500'))

    @ddt.data('../secret', '/etc/passwd', 'x' * 300, 'a\0b', '.hidden',
              'a\nb', '..')
    def test_a_name_that_no_model_can_have(self, stem):
        doc = json.loads(self.cluster.read_text())
        doc['pools'][0]['model'] = stem
        self.cluster.write_text(json.dumps(doc))
        self.assertIn('cannot be a model', self._left_out(stem))

    @ddt.data(
        {'pools': [], 'volumes': []},
        {'pools': [{'name': 'p'}], 'volumes': [
            {'id': 'v', 'pool': 'p', 'size_gib': 1}]},
        {'pools': [{'name': 'p', 'model': 'intel-s3610'}], 'volumes': []})
    def test_a_cluster_with_nothing_to_do_has_an_empty_plan(self, cluster):
        self.cluster.write_text(json.dumps(
            {'schema': 'serifos-cluster/1', **cluster}))
        doc = self._doc()
        self.assertEqual(([], False), (doc['moves'], doc['truncated']))
        self.assertEqual({'before': 0, 'after': 0}, doc['max_us'])


class ExampleModelsTestCase(testtools.TestCase):

    def test_they_are_the_papers(self):
        papers = json.loads((
            pathlib.Path(__file__).parents[1] / 'papers/serifos.json'
        ).read_text())
        for ssd, stem in (('SSD1', 'intel-s3500'), ('SSD2', 'intel-s3610')):
            model = documents.read_model(EXAMPLES / f'models/{stem}.json')
            for count, row in papers['table6_consolidation'][ssd].items():
                terms = ('intercept_us', 'sum_write_pct', 'sum_block_kib')
                self.assertEqual(
                    row, [*(model.parameters[count][t] for t in terms),
                          model.quality['adj_r2'][count]])
                self.assertAlmostEqual(
                    papers['table7_mre_pct'][ssd][count] / 100,
                    model.quality['mre_by_count'][count])
