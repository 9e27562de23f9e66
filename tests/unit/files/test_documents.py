# SPDX-License-Identifier: Apache-2.0

import json
import os
import stat

import ddt

from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.model.model import Model
from tests.unit import case
from tests.unit import samples

_MODEL = {
    'schema': 'serifos-model/1', 'kind': 'consolidation',
    'name': 'intel-s3610', 'predicts': 'latency_us',
    'device': {'model': 'INTEL'}, 'dataset': {'runs': 80},
    'range': {'write_pct': [0, 100], 'block_kib': [4, 256],
              'iodepth': [1, 32], 'count': [1, 10]},
    'quality': {'mre': 0.061, 'mre_by_count': {'1': 0.04},
                'adj_r2': {'1': 0.994, '5+': 0.981}},
    'parameters': {
        '1': {'intercept_us': 113.44, 'sum_write_pct': 0,
              'sum_block_kib': 22.135},
        '5+': {'intercept_us': 0, 'sum_write_pct': 0.646,
               'sum_block_kib': 23.913}}}
_RUN = {'workloads': [{'write_pct': 25, 'block_kib': 4}],
        'latency_us': 3100.5}


def distributed(shares):
    """What a run has where its reads have a distribution."""
    return {'workloads': [{**_RUN['workloads'][0], 'read_distribution': {
        'from_us': 16, 'shares': shares}}]}


class StoreCase(case.DirectoryCase):

    def write(self, name, *docs):
        path = self.dir / name
        path.write_text(''.join(
            (doc if isinstance(doc, str) else json.dumps(doc) + '\n')
            for doc in docs))
        return path

    def refused(self, read, path):
        exc = self.assertRaises(errors.InputError, read, path)
        self.assertIn(str(path), str(exc))
        self.assertNotIn('\n', str(exc))
        return str(exc)


@ddt.ddt
class ModelFileTest(StoreCase):

    def test_the_literal_of_the_format_is_read(self):
        model = documents.read_model(self.write('m.json', _MODEL))
        self.assertAlmostEqual(
            113.44 + 22.135 * 4,
            model.predict(model.load([Workload(30, 4)])))

    def test_one_of_an_earlier_release(self):
        self.assertNotIn('tenants', _MODEL)
        model = documents.read_model(self.write('m.json', _MODEL))
        tenant = Workload(30, 4)
        load = model.load([tenant])
        self.assertFalse(model.tenants)
        self.assertEqual(model.predict(load),
                         model.tenant(load, tenant).latency_us)

    def test_unknown_keys_are_ignored(self):
        documents.read_model(self.write('m.json', {**_MODEL, 'future': {}}))

    def test_a_tail_of_an_unknown_figure_is_left_out(self):
        tail = {name: _MODEL[name] for name in ('kind', 'range', 'parameters')}
        model = documents.read_model(self.write('m.json', {
            **_MODEL, 'tails': {'read_p99_us': tail, 'read_p999_us': {}}}))
        self.assertEqual({'read_p99_us'}, set(model.tails))

    def test_what_is_written_is_read_again(self):
        model = Model.from_json(_MODEL)
        documents.write_model(self.dir / 'm.json', model)
        self.assertEqual(model, documents.read_model(self.dir / 'm.json'))

    @ddt.data(
        ({'schema': 'serifos-model/2'},
         'reads serifos-model/1: make the file again with it'),
        ({'kind': 'neural'}, 'of kind neural'),
        ({'range': None}, 'range'),
        ({'parameters': {'1': {'sum_block_kib': 1}}}, '"5+" row'),
        ({'parameters': {'5+': {'sum_of_fears': 1}}}, 'no term sum_of_fears'),
        ({'parameters': {'x': {}, '5+': {}}}, 'row x'),
        ({'parameters': {'5+': 3}}, 'row 5+'),
        ({'predicts': 'luck'}, 'predicts'))
    @ddt.unpack
    def test_what_is_no_model_is_refused(self, change, words):
        path = self.write('m.json', {**_MODEL, **change})
        self.assertIn(words, self.refused(documents.read_model, path))

    @ddt.data(
        ('consolidation', {'5+': {'intercept_us': 1e308}}, 'intercept_us'),
        ('consolidation', {'5+': {}, '1000000000': {}}, 'row 1000000000'),
        ('consolidation', {'5+': {}, '05': {}}, 'row 05'),
        ('consolidation', {'5+': {}, '9' * 5000: {}}, 'row 999'),
        ('outstanding', {'sum_q_r': 10 ** 300}, 'sum_q_r'),
        ('cart', {'within': [0, 1e300], 'trees': [[{'intercept': 1}]]},
         'within'),
        ('lrm', {'terms': [{'coefficient': 1e99, 'factors': []}]},
         'Term 1'))
    @ddt.unpack
    def test_numbers_that_no_prediction_can_hold(self, kind, said, words):
        path = self.write('m.json', {**_MODEL, 'kind': kind,
                                     'parameters': said})
        self.assertIn(words, self.refused(documents.read_model, path))

    @ddt.data(('', 'not JSON'), ('{', 'not JSON'), ('[]', 'schema'),
              ('{"schema": NaN}', 'NaN is not a finite number'),
              ('[' * 200000, 'nested too deeply'))
    @ddt.unpack
    def test_what_is_no_json_is_refused(self, text, words):
        path = self.write('m.json', text)
        self.assertIn(words, self.refused(documents.read_model, path))

    def test_a_missing_file(self):
        self.assertIn('There is no model', self.refused(
            documents.read_model, self.dir / 'none.json'))


@ddt.ddt
class DatasetFileTest(StoreCase):

    def test_the_least_that_a_dataset_needs(self):
        path = self.write('d.jsonl', {'schema': 'serifos-dataset/1',
                                      'device': {}}, _RUN)
        dataset = documents.read_dataset(path)
        self.assertEqual((Workload(25, 4, 8, 100),),
                         dataset.samples[0].workloads)
        self.assertEqual(1, dataset.samples[0].round)
        self.assertEqual(1, dataset.header.valid_round)

    def test_what_is_appended_is_read_again(self):
        path = self.dir / 'd.jsonl'
        sample = Sample(
            (Workload(25, 4), Workload(75, 128, 32, 50)), 3100.5,
            3077.9, 2, ({'read_p99_us': 7200.0, 'write_p99_us': None},
                        {'iops': 655.0}))
        documents.write_dataset(path, Dataset(samples.HEADER, ()))
        documents.append_sample(path, sample)
        read = documents.read_dataset(path)
        self.assertEqual(samples.HEADER, read.header)
        self.assertEqual(sample, read.samples[0])
        self.assertEqual(7200.0, read.samples[0].figure('read_p99_us'))
        self.assertIsNone(read.samples[0].figure('write_p99_us'))

    @ddt.data(
        ({'latency_us': -5}, 'latency_us'),
        ({'latency_us': 0}, 'latency_us'),
        ({'latency_us': float('nan')}, 'NaN is not a finite number'),
        ({'latency_us': float('inf')}, 'Infinity is not a finite number'),
        ({'latency_us': None}, 'latency_us'),
        ({'workloads': []}, 'workloads'),
        ({'workloads': [{'write_pct': 101, 'block_kib': 4}]}, 'write_pct'),
        ({'workloads': [{'write_pct': 10}]}, 'block_kib'),
        ({'round': 0}, 'round'),
        (distributed([2.0]), 'read_distribution'),
        (distributed([]), 'read_distribution'),
        (distributed([0.5, 0.2, 1]), 'never fall and end with 1'))
    @ddt.unpack
    def test_a_broken_run_is_refused_with_its_line(self, change, words):
        path = self.write('d.jsonl', samples.HEADER.to_json(), _RUN,
                          {**_RUN, **change})
        said = self.refused(documents.read_dataset, path)
        self.assertIn('line 3', said)
        self.assertIn(words, said)

    @ddt.data('5', '[]', '"run"', 'null', 'true')
    def test_a_line_that_is_no_object(self, line):
        path = self.write('d.jsonl', samples.HEADER.to_json(), _RUN,
                          f'{line}\n')
        self.assertIn('line 3: it is not a JSON object',
                      self.refused(documents.read_dataset, path))

    def test_a_line_that_was_cut_short(self):
        path = self.write('d.jsonl', samples.HEADER.to_json(), _RUN,
                          json.dumps(_RUN)[:30])
        said = self.refused(documents.read_dataset, path)
        self.assertIn('line 3 is cut short', said)
        self.assertIn('resume', said)
        with documents.resumed_dataset(path, samples.HEADER):
            self.assertEqual(1, len(documents.read_dataset(path).samples))

    @ddt.data({'indent': 1}, {'sort_keys': True}, {})
    def test_a_model_however_it_was_printed(self, form):
        path = self.dir / 'm.json'
        path.write_text(json.dumps(_MODEL, **form))
        self.assertIn(f'{path} is a model (serifos-model/1), not a dataset',
                      self.refused(documents.read_dataset, path))

    def test_two_machines_are_not_mixed(self):
        other = {**samples.HEADER.to_json(), 'host': 'node2'}
        path = self.write('d.jsonl', samples.HEADER.to_json(), _RUN, other,
                          _RUN)
        self.assertIn('host node1 and node2',
                      self.refused(documents.read_dataset, path))

    def test_two_builds_of_one_machine_are_one_dataset(self):
        header = samples.HEADER.to_json()
        path = self.write('d.jsonl', header, _RUN,
                          {**header, 'created_at': 'later'}, _RUN)
        self.assertEqual(2, len(documents.read_dataset(path).samples))

    def test_fits_use_the_round_that_counts(self):
        path = self.write(
            'd.jsonl', {**samples.HEADER.to_json(), 'valid_round': 2},
            {**_RUN, 'round': 1}, {**_RUN, 'round': 2, 'latency_us': 7})
        self.assertEqual(
            [7], [s.latency_us for s in documents.read_dataset(path).valid()])

    def test_no_run_of_the_round_that_counts(self):
        path = self.write(
            'd.jsonl', {**samples.HEADER.to_json(), 'valid_round': 5}, _RUN)
        exc = self.assertRaises(
            errors.InputError, documents.read_dataset(path).valid)
        self.assertIn('round 5', str(exc))

    def test_an_empty_file(self):
        self.assertIn('is empty', self.refused(
            documents.read_dataset, self.write('d.jsonl', '')))

    def test_a_file_of_something_else(self):
        path = self.dir / 'd.jsonl'
        path.write_bytes(b'\xff\xfe\x00')
        self.assertIn('not UTF-8', self.refused(documents.read_dataset, path))


class WriteTest(StoreCase):

    def test_a_file_is_replaced_whole_and_closed_to_others(self):
        path = self.dir / 'c.json'
        cluster = Cluster((Pool('a'),), ())
        documents.write_cluster(path, cluster)
        documents.write_cluster(path, cluster)
        self.assertEqual(cluster, documents.read_cluster(path))
        self.assertEqual(0o640, stat.S_IMODE(path.stat().st_mode))
        self.assertEqual(['c.json'], os.listdir(self.dir))

    def test_a_volume_is_found_without_reading_the_others(self):
        path = self.dir / 'c.json'
        odd = [Volume(f'v{i}', 'a', 1, name='"id": "v1" {', same_pool=(
            '"id": "v2"',), workload=Workload(30, 16)) for i in range(3)]
        documents.write_cluster(path, Cluster((Pool('a'),), tuple(odd)))
        self.assertEqual(odd, [
            documents.find_volume(path, each.id) for each in odd])
        for text in None, '', '{"id": "v1"}', '"id": "v1"', '{"id": "v1", [':
            if text is not None:
                path.write_text(text)
            self.assertIsNone(documents.find_volume(
                path, 'v1' if text is not None else 'v9'))

    def test_a_document_that_cannot_be_written_leaves_the_old_one(self):
        path = self.dir / 'm.json'
        documents.write_json(path, {'a': 1})
        self.assertRaises(ValueError, documents.write_json, path,
                          {'a': float('nan')})
        self.assertEqual({'a': 1}, json.loads(path.read_text()))
        self.assertEqual(['m.json'], os.listdir(self.dir))

    def test_a_directory_that_is_not_there(self):
        exc = self.assertRaises(
            errors.InputError, documents.write_json,
            self.dir / 'no' / 'm.json', {})
        self.assertIn('cannot be written', str(exc))
