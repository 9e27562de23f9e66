# SPDX-License-Identifier: Apache-2.0

import dataclasses
import functools
import json

import ddt
import numpy as np

from serifos.design import d_optimal
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.model import fit
from serifos.model import verdict
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.model.tenant import test_tenant
from tests.unit import samples


def _truth(run):
    load = samples.load(run)
    return 90 + 6 * load.sum_iodepth + 2 * load.sum_q_s_r + 3 * load.sum_q_s_w


@functools.cache
def _dataset():
    return samples.dataset(d_optimal.runs(40), _truth)


def _with_tails():
    """The same: 99th percentiles are three and two times the mean."""
    found = _dataset()
    return dataclasses.replace(found, samples=tuple(
        dataclasses.replace(each, seen=({
            'latency_us': each.latency_us,
            'read_p99_us': 3 * each.latency_us,
            'write_p99_us': 2 * each.latency_us},) * len(each.workloads))
        for each in found.samples))


def _of_two_modes(number, seed):
    """Runs whose writes a buffer takes, but half of those of few jobs."""
    rng, made = np.random.default_rng(seed), []
    for _ in range(number):
        depth, jobs = 2.0 ** rng.integers(0, 7, size=2)
        slow = jobs < 8 and rng.random() < 0.5
        us = depth * jobs * (40 if slow else 4) * rng.lognormal(0, 0.1)
        made.append(Sample(
            (Workload(100, 4, depth),) * int(jobs), us,
            seen=({'latency_us': us, 'write_p99_us': us},) * int(jobs)))
    return Dataset(samples.HEADER, tuple(made))


@functools.cache
def _fitted(kind):
    return fit.fit(_dataset(), kind, 'm')


MEANS = ('serifos-model: kind outstanding does not tell tenants apart; the '
         'mean of the pool is taken for each. Fit a model of kind tenant to '
         'know what each sees.\n')


class ModelCase(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.dataset = self.dir / 'd.jsonl'
        samples.write(self.dataset, _dataset())
        self.model = self.dir / 'm.json'

    def run_json(self, *arguments, err=''):
        code, out, said = command.model(*arguments, '-f', 'json')
        self.assertEqual(err, said)
        return code, json.loads(out)

    def fitted(self, kind='outstanding'):
        documents.write_model(self.model, _fitted(kind))
        return self.model

    def fitted_to_tenants(self):
        """A model of kind tenant, and the dataset that it was fitted to."""
        self.dataset = samples.write(
            self.dir / 't.jsonl', test_tenant.dataset())
        documents.write_model(self.model, test_tenant.fitted())

    def refused(self, words, *arguments, code=2):
        was = sorted(self.dir.iterdir())
        found, out, err = command.model(*arguments)
        self.assertEqual((code, ''), (found, out))
        self.assertIn(words, err)
        self.assertEqual(1, err.count('\n'))
        self.assertEqual(was, sorted(self.dir.iterdir()))


@ddt.ddt
class FitTest(ModelCase):

    def test_auto_writes_a_model_that_other_programs_can_read(self):
        code, said = self.run_json('fit', self.dataset, '--out', self.model)
        doc = json.loads(self.model.read_text())
        self.assertEqual(0, code)
        self.assertEqual('outstanding', said['kind'])
        self.assertEqual(said['mre'], doc['quality']['mre'])
        self.assertEqual(
            ('serifos-model/1', 'm', 'latency_us', 40, 'S1'),
            (doc['schema'], doc['name'], doc['predicts'],
             doc['dataset']['runs'], doc['device']['serial']))
        self.assertEqual(documents.digest(self.dataset),
                         doc['dataset']['sha256'])
        self.assertEqual([1, 10], doc['range']['count'])

    def test_the_paper_form_has_a_row_for_more_than_five(self):
        self.run_json('fit', self.dataset, '--kind', 'consolidation',
                      '--out', self.model)
        parameters = json.loads(self.model.read_text())['parameters']
        self.assertIn('5+', parameters)
        self.assertEqual({'intercept_us', 'sum_write_pct', 'sum_block_kib'},
                         set(parameters['5+']))

    def test_a_model_is_no_dataset(self):
        for arguments in (('fit', self.fitted(), '--out', self.dir / 'x.json'),
                          ('check', self.fitted(), self.fitted())):
            self.refused(f'{self.model} is a model (serifos-model/1), not a '
                         'dataset; name a dataset.', *arguments)

    def test_options_of_a_search_ask_for_one(self):
        self.refused('--iterations, --jobs would change nothing; give --tune',
                     'fit', self.dataset, '--out', self.model,
                     '--iterations', 3, '--jobs', 5)

    def test_no_dataset(self):
        self.refused('There is no dataset', 'fit', self.dir / 'none.jsonl',
                     '--out', self.model)

    def test_too_few_runs(self):
        lines = self.dataset.read_text().splitlines(True)
        self.dataset.write_text(''.join(lines[:4]))
        self.refused('needs at least 6', 'fit', self.dataset, '--out',
                     self.model)

    def test_a_figure_that_no_run_has(self):
        self.refused('read_p99_us', 'fit', self.dataset, '--out', self.model,
                     '--predicts', 'read_p99_us')

    def test_tails_are_of_the_same_file(self):
        samples.write(self.dataset, _with_tails())
        code, said = self.run_json(
            'fit', self.dataset, '--out', self.model, '--kind', 'outstanding',
            '--tails')
        doc = json.loads(self.model.read_text())
        self.assertEqual(0, code)
        self.assertEqual('latency_us', said['predicts'])
        self.assertEqual({'read_p99_us', 'write_p99_us'}, {*doc['tails']})
        for figure, its in said['tails'].items():
            self.assertEqual('outstanding', its['kind'])
            self.assertLess(its['mre'], 1e-4)
            self.assertAlmostEqual(1.0, its['factor'], 3)
        _, said = self.run_json('check', self.model, self.dataset, err=MEANS)
        self.assertEqual({'read_p99_us', 'write_p99_us'}, {*said['tails']})
        samples.write(self.dataset, _dataset())
        _, said = self.run_json('check', self.model, self.dataset)
        self.assertEqual({}, said['tails'])

    def test_intervals_hold_nine_of_ten_runs_of_two_modes(self):
        samples.write(self.dataset, _of_two_modes(40, seed=1))
        others = _of_two_modes(30, seed=2)
        self.run_json(
            'fit', self.dataset, '--out', self.model, '--kind', 'tenant',
            '--predicts', 'write_p99_us', '--set', 'members=1',
            '--set', 'units=2')
        inside = []
        for one in others.samples:
            _, said = self.run_json('predict', self.model, *(
                option for w in one.workloads
                for option in ('-w', f'100:4:{w.iodepth:g}')))
            low, high = said['tenants'][0]['interval_us']
            inside.append(low <= one.latency_us <= high)
        self.assertGreaterEqual(np.mean(inside), 0.85)
        _, said = self.run_json('check', self.model, samples.write(
            self.dir / 'others.jsonl', others))
        self.assertGreaterEqual(said['in_interval'], 0.85)
        self.assertTrue(5 < said['factor'] < 20, said)

    def test_tails_that_no_run_has(self):
        self.refused('0 different runs with a read_p99_us', 'fit',
                     self.dataset, '--kind', 'outstanding', '--tails', '--out',
                     self.model)

    def test_tails_of_tails(self):
        self.refused('leave --predicts out', 'fit', self.dataset, '--out',
                     self.model, '--tails', '--predicts', 'write_p99_us')

    def test_nowhere_to_write(self):
        self.refused('cannot be written', 'fit', self.dataset, '--kind',
                     'outstanding', '--out', self.dir / 'no' / 'm.json')


@ddt.ddt
class PredictTest(ModelCase):

    def test_what_the_truth_says(self):
        code, said = self.run_json('predict', self.fitted(), '-w', '50:64',
                                   '-w', '0:4:32:100', err=MEANS)
        self.assertEqual(0, code)
        expected = 90 + 6 * 40 + 4 * 64 * 5 + 2 * 4 * 32
        self.assertAlmostEqual(expected, said['latency_us'], places=4)
        low, high = said['interval_us']
        self.assertTrue(low <= said['latency_us'] <= high)
        self.assertEqual([], said['extrapolated'])

    def test_each_tenant_in_the_order_asked(self):
        self.fitted_to_tenants()
        _, said = self.run_json('predict', self.model, '-w', '20:256',
                                '-w', '100:4')
        large, small = said['tenants']
        self.assertEqual({'latency_us', 'read_latency_us',
                          'write_latency_us', 'interval_us'}, set(large))
        self.assertGreater(large['latency_us'], 2 * small['latency_us'])
        self.assertIsNone(small['read_latency_us'])
        self.assertEqual(small['latency_us'], small['write_latency_us'])
        for one in said['tenants']:
            low, high = one['interval_us']
            self.assertTrue(low < one['latency_us'] < high)
        self.assertAlmostEqual(
            said['latency_us'],
            (large['latency_us'] + small['latency_us']) / 2, places=6)
        _, out, _ = command.model('predict', self.model, '-w', '20:256')
        self.assertRegex(out, r'tenants +\| [\d.]+ ms')
        self.assertRegex(out, r'latency_us +\| [\d.]+ ms +\|\n')
        self.assertRegex(out, r'interval_us +\| [\d.]+ ms to [\d.]+ ms +\|\n')
        self.assertRegex(out, r'extrapolated +\| nothing +\|\n')

    def test_a_kind_that_does_not_tell_tenants_apart_says_so(self):
        _, said = self.run_json('predict', self.fitted(), '-w', '50:64',
                                '-w', '0:4', err=MEANS)
        self.assertEqual([{
            'latency_us': said['latency_us'], 'read_latency_us': None,
            'write_latency_us': None, 'interval_us': None}] * 2,
            said['tenants'])

    def test_what_is_no_latency_is_no_latency_of_tenants(self):
        documents.write_model(self.model, dataclasses.replace(
            _fitted('outstanding'), predicts='read_iops'))
        _, said = self.run_json('predict', self.model, '-w', '50:64')
        self.assertEqual(
            {'read_iops', 'interval_iops', 'extrapolated', 'tenants'},
            set(said))
        self.assertEqual([], said['tenants'])
        _, out, err = command.model('predict', self.model, '-w', '50:64')
        self.assertEqual('', err)
        self.assertNotIn(' ms', out)

    @ddt.data(
        (['50:64:64'], ['iodepth']), (['50:1024'], ['block_kib']),
        (['50:64:8:0'], ['random_pct']), (['50:64'] * 11, ['count']),
        (['50:2:99'], ['block_kib', 'iodepth']))
    @ddt.unpack
    def test_it_says_what_lies_outside_of_the_training(self, ws, names):
        options = [part for w in ws for part in ('-w', w)]
        _, said = self.run_json('predict', self.fitted(), *options,
                                err=MEANS)
        self.assertEqual(names, said['extrapolated'])

    def test_a_workload_without_requests_is_none(self):
        _, said = self.run_json('predict', self.fitted(), '-w', '50:64:0',
                                err=MEANS)
        self.assertEqual((0, []), (said['latency_us'], said['extrapolated']))

    def test_one_that_thinks_keeps_fewer_outstanding(self):
        model = self.fitted()

        def latency(workload):
            return self.run_json('predict', model, '-w', workload,
                                 err=MEANS)[1]['latency_us']
        seen = latency('50:64:8:100:500')
        self.assertLess(seen, latency('50:64:8'))
        # By the law, which the prediction must fulfil:
        q = 8 * seen / (seen + 500)
        self.assertAlmostEqual(seen, latency(f'50:64:{q!r}'), delta=0.01)
        self.assertEqual(latency('50:64:8'), latency('50:64:8:100:0'))

    @ddt.data(('50', 'is not a workload'), ('50:x', 'is not a workload'),
              ('50:4:8:100:1:1', 'is not a workload'),
              ('50:4:8:100:-1', 'think_time_us'), ('101:4', 'write_pct'),
              ('50:0', 'block_kib'), ('50:nan', 'block_kib'),
              ('50:4:-1', 'iodepth'), ('50:4:8:200', 'random_pct'))
    @ddt.unpack
    def test_absurd_workloads(self, text, words):
        self.refused(words, 'predict', self.fitted(), '-w', text)


class CheckTest(ModelCase):

    def test_the_error_by_count(self):
        code, said = self.run_json('check', self.fitted(), self.dataset)
        self.assertEqual((0, 40), (code, said['samples']))
        self.assertLess(said['mre'], 1e-4)
        self.assertEqual([str(n) for n in range(1, 11)],
                         list(said['mre_by_count']))
        self.assertIsNone(said['tenant_mre'])
        self.assertEqual({}, said['tenant_mre_by_count'])

    def test_the_error_of_what_tenants_see(self):
        self.fitted_to_tenants()
        _, said = self.run_json('check', self.model, self.dataset)
        self.assertLess(said['tenant_mre'], 0.08)
        self.assertEqual([str(n) for n in range(1, 11)],
                         list(said['tenant_mre_by_count']))
        _, said = self.run_json('check', self.fitted(), self.dataset,
                                err=MEANS)
        self.assertGreater(said['tenant_mre'], 0.2)

    def test_too_large_an_error_exits_with_1(self):
        code, out, err = command.model(
            'check', self.fitted('consolidation'), self.dataset,
            '--max-mre', '0.01', '-f', 'json')
        self.assertEqual(1, code)
        self.assertGreater(json.loads(out)['mre'], 0.01)
        self.assertIn('exceeds the 1.0 % allowed', err)

    def test_an_absurd_bound(self):
        self.refused('--max-mre', 'check', self.fitted(), self.dataset,
                     '--max-mre', 'nan')

    def test_a_table_is_for_a_person(self):
        _, out, _ = command.model('check', self.fitted(), self.dataset)
        self.assertRegex(out, r'mre +\| 0\.0 % ')
        self.assertRegex(out, r'mre_by_count +\| 1: 0\.0 %, 2: 0\.0 %, ')
        self.assertNotIn('{', out)


class ShowTest(ModelCase):

    def test_terms_and_error_for_a_person(self):
        code, out, _ = command.model('show', self.fitted())
        self.assertEqual(0, code)
        self.assertRegex(out, r'2 Σ q·s·r \+ 3 Σ')
        self.assertIn('serial S1', out)
        # What this model has none of.
        self.assertNotRegex(out, 'settings|tuning')

    def test_the_verdict_is_told_by_show_and_explain(self):
        path = self.fitted()
        _, out, _ = command.model('show', path, '-f', 'value', '-c',
                                  'verdict')
        code, said, _ = command.model('explain', path)
        self.assertEqual(0, code)
        self.assertIn(out.strip(), ' '.join(said.split()))

    def test_a_large_tree_is_cut_short_for_a_person_alone(self):
        code, _, err = command.model(
            'fit', self.dataset, '--kind', 'cart', '--set', 'cp=0', '--set',
            'minsplit=2', '--out', self.model)
        self.assertEqual(0, code, err)
        _, out, _ = command.model('show', self.model)
        _, whole, _ = command.model('show', self.model, '--all')
        _, said = self.run_json('show', self.model)
        rules = [name for name in said if ' <= ' in name or ' > ' in name]
        self.assertGreater(len(rules), 20)
        self.assertIn(f'and {len(rules) - 20} more', out)
        self.assertNotIn(' more', whole)
        self.assertLess(len(out.splitlines()), len(whole.splitlines()))
        for text in (out, whole):
            self.assertLessEqual(max(map(len, text.splitlines())), 79)

    def test_another_file_is_named_for_what_it_is(self):
        path = self.dir / 'r.json'
        path.write_text('{"schema": "serifos-relation/1"}')
        for verb in (('explain',), ('predict', '-w', '50:4')):
            self.refused('r.json is a relation (serifos-relation/1), not a '
                         'model', *verb, path)
        for verb in (('show',), ('predict', '-w', '50:4')):
            self.refused('is a dataset (serifos-dataset/1), not a model',
                         *verb, self.dataset)

    def test_a_model_of_the_future(self):
        path = self.dir / 'f.json'
        path.write_text('{"schema": "serifos-model/9"}')
        self.refused('reads serifos-model/1', 'show', path)


class ReportTest(ModelCase):

    def test_the_page_holds_its_figures(self):
        code, out, err = command.model('report', self.fitted(), self.dataset)
        page = self.dir / 'm.html'
        self.assertEqual((0, str(page), ''), (code, out.strip(), err))
        text = page.read_text()
        self.assertEqual(4, text.count('<svg'))
        self.assertNotIn('http-equiv="refresh"', text)
        self.assertIn('outstanding', text)
        judged = verdict.verdict(documents.read_model(self.model)).headline
        self.assertIn(f'{judged[1:]}. ', text)
        for words in ('measured above predicted, %', 'measured latency, ms',
                      ' by serifos '):
            self.assertIn(words, text)

    def test_a_run_of_idle_tenants_alone_is_not_drawn(self):
        idle = Workload(0, 4, 1, think_time_us=1e6)
        made = Dataset(_dataset().header, (*_dataset().samples, Sample(
            (idle,), 90.0, seen=({'latency_us': 90.0, 'iops': 1.0},))))
        code, _, err = command.model('report', self.fitted(), samples.write(
            self.dir / 'i.jsonl', made))
        self.assertEqual((0, ''), (code, err))
        self.assertIn('against 40 runs', (self.dir / 'm.html').read_text())

    def test_nothing_to_draw(self):
        doc = json.loads(self.fitted().read_text())
        self.model.write_text(json.dumps({**doc, 'predicts': 'read_p99_us'}))
        self.refused('nothing to draw', 'report', self.model, self.dataset)
