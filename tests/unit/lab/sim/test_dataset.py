# SPDX-License-Identifier: Apache-2.0

import collections
import dataclasses
import json

import ddt

from serifos.files import documents
from tests.unit import case
from tests.unit.cmd import command
from tests.unit import samples


@ddt.ddt
class DatasetTest(case.DirectoryCase):

    def dataset(self, device, *options):
        path = self.dir / 'made.jsonl'
        code, out, err = command.simulate('dataset', device, path, *options)
        self.assertEqual((0, f'{path}\n', ''), (code, out, err))
        return documents.read_dataset(path)

    @ddt.data((('--runs', 20), 20), (('--sampled', 3), 3))
    @ddt.unpack
    def test_as_many_runs_as_were_asked_for(self, options, number):
        found = self.dataset('SSD1', *options)
        self.assertEqual(number, len(found.valid()))
        self.assertEqual('SSD1', found.header.device['model'])

    def test_a_mail_server_is_several_workloads_of_small_requests(self):
        found = self.dataset('SSD1', '--mail', 5)
        self.assertEqual(5, len(found.valid()))
        for sample in found.samples:
            self.assertTrue(2 <= sample.count <= 4)
            self.assertTrue(all(w.block_kib <= 12 for w in sample.workloads))

    def test_rounds_are_the_same_runs_made_again(self):
        found = self.dataset('SSD1', '--sampled', 2, '--rounds', 2)
        once = self.dataset('SSD1', '--sampled', 2)
        self.assertEqual(2, found.header.valid_round)
        self.assertEqual([1, 1, 2, 2], [s.round for s in found.samples])
        self.assertEqual(once.samples, found.samples[:2])
        first, _, again, _ = found.samples
        self.assertEqual(first.key, again.key)
        self.assertNotEqual(first.latency_us, again.latency_us)

    def test_all_devices_make_the_same_runs(self):
        one, other = (self.dataset(device, '--sampled', 2)
                      for device in ('SSD1', 'CLIFF'))
        self.assertEqual([s.key for s in one.samples],
                         [s.key for s in other.samples])
        self.assertNotEqual(one.samples, other.samples)

    def test_another_unit_sees_the_same_runs_otherwise(self):
        one, again, other = (
            self.dataset('SSD1', '--sampled', 1, '--chance', chance)
            for chance in (0, 0, 1))
        self.assertEqual(one, again)
        self.assertEqual(one.samples[0].key, other.samples[0].key)
        self.assertNotEqual(one.samples[0].latency_us,
                            other.samples[0].latency_us)

    def counts(self, *options):
        found = self.dataset('SSD2', *options)
        return collections.Counter(s.count for s in found.valid())

    @ddt.data('--runs', '--sampled')
    def test_of_the_study_as_many_runs_of_each_count(self, option):
        self.assertEqual({2: 9, 3: 9}, self.counts(
            '--study', '--counts', '3,2', option, 9))

    @ddt.data('--runs', '--sampled')
    def test_counts_are_those_of_a_build(self, option):
        self.assertEqual({2, 4}, set(self.counts(
            option, 12, '--counts', '2,4')))

    def test_what_a_build_for_a_queueing_network_begins_with(self):
        usual = self.dataset('SSD1', '--runs', 20, '--kind', 'tenant').samples
        found = self.dataset('SSD1', '--runs', 20, '--kind', 'queueing')
        self.assertEqual({(0,), (100,)}, {
            tuple(w.write_pct for w in s.workloads)
            for s in found.samples[:16]})
        self.assertEqual([s.workloads for s in usual],
                         [s.workloads for s in found.samples[16:]])

    def test_what_was_measured_is_not_replaced(self):
        path = self.dir / 'real.jsonl'
        samples.write(path, samples.dataset([], lambda run: 100.0))
        was = path.read_text()
        code, out, err = command.simulate('dataset', 'SSD1', path)
        self.assertEqual((2, '', 1), (code, out, len(err.splitlines())), err)
        self.assertIn('which was measured on', err)
        self.assertEqual(was, path.read_text())

    def test_nothing_but_a_simulation_or_an_empty_file_is_replaced(self):
        path = self.dir / 'it.jsonl'
        for text in 'notes\n', '{"a": 1}\n', '\n':
            path.write_text(text)
            code, out, err = command.simulate('dataset', 'SSD1', path)
            self.assertEqual((2, '', 1), (code, out, len(err.splitlines())))
            self.assertIn('it.jsonl would be lost, which is no whole dataset',
                          err)
            self.assertEqual(text, path.read_text())
        path.write_text('')
        for seed in '1', '2':
            self.assertEqual(0, command.simulate(
                'dataset', 'SSD1', path, '--runs', '20', '--seed', seed)[0])

    @ddt.data('--full', '--study', ('--sampled', '9'), ('--mail', '9'))
    def test_runs_of_a_kind_begin_the_short_design_alone(self, other):
        options = [other] if isinstance(other, str) else other
        code, out, err = command.simulate(
            'dataset', 'SSD1', self.dir / 'x.jsonl', '--kind', 'queueing',
            *options)
        self.assertEqual((2, '', 1), (code, out, len(err.splitlines())))
        self.assertIn(f'{options[0]} makes others', err)

    def test_every_set_of_the_vectors(self):
        found = self.dataset(
            'SSD1', '--full', '--counts', '1,2', '--write-pcts', '0,100',
            '--block-kibs', '4', '--iodepths', '2')
        self.assertEqual(
            [(0,), (0, 0), (0, 100), (100,), (100, 100)], sorted(
                tuple(w.write_pct for w in s.workloads)
                for s in found.valid()))
        self.assertEqual({(4, 2)}, {(w.block_kib, w.iodepth)
                                    for s in found.valid()
                                    for w in s.workloads})

    @ddt.data(('1', [8.0]), ('2', [4.0, 4.0]), ('3', [3.0, 3.0, 2.0]))
    @ddt.unpack
    def test_a_workload_is_spread_over_volumes(self, volumes, depths):
        options = '--study', '--sampled', 3
        whole = self.dataset('SSD1', *options).samples
        for sample, one in zip(self.dataset(
                'SSD1', *options, '--split', volumes).samples, whole):
            self.assertEqual(depths, [w.iodepth for w in sample.workloads])
            for part in sample.workloads:
                self.assertEqual(one.workloads[0], dataclasses.replace(
                    part, iodepth=8.0))

    @ddt.data(('--runs', 12), ('--sampled', 9), ('--study', '--sampled', 9),
              ('--mail', 9))
    def test_only_blocks_that_were_asked_for(self, options):
        found = self.dataset('SSD1', '--block-kibs', '8,12', *options)
        self.assertEqual({8.0, 12.0}, {
            w.block_kib for s in found.samples for w in s.workloads})

    @ddt.data(('--runs', 20), ('--study', '--runs', 20), (
        '--full', '--counts', 2, '--block-kibs', 8))
    def test_sequential_and_random_workloads_where_asked_for(self, options):
        found = self.dataset('SSD1', '--random-pcts', '0,100', *options)
        self.assertLessEqual({0.0, 100.0}, {
            w.random_pct for s in found.samples for w in s.workloads})

    def test_a_study_reads_what_was_made_of_two_workloads(self):
        self.dataset('SSD1', '--study', '--counts', 2, '--runs', 30)
        code, out, err = command.model(
            'study', self.dir / 'made.jsonl', '-f', 'json')
        self.assertEqual(0, code, err)
        found = {(row['model'], row['term']): row['coefficient']
                 for row in json.loads(out)}
        for model in ('2 separate', '2 sums'):
            self.assertGreater(float(found[model, 'adj. R²']), 0.9)

    @ddt.data(('PAGED', True), ('SSD1', False))
    @ddt.unpack
    def test_the_share_of_writes_changes_latency_by_a_ms(self, device, so):
        """It does by Table 4 of the Serifos paper: 1.4 and 0.9 ms."""
        self.dataset(device, '--study', '--runs', 40)
        _, out, _ = command.model(
            'study', self.dir / 'made.jsonl', '-f', 'json')
        of_writes, = (row for row in json.loads(out)
                      if (row['model'], row['term']) == ('linear', 'W'))
        self.assertEqual(so, float(of_writes['effect_ms']) > 0.9)

    @ddt.data(('--runs', 5), ('--sampled', 0), ('--seed', -1),
              ('--mail', 0), ('--rounds', 0), ('--study', '--mail', 3),
              ('--study', '--full'), ('--full', '--counts', '1,2,3,4,5,6'),
              ('--chance', -1), ('--study', '--counts', '3'),
              ('--study', '--counts', '0'), ('--counts', '99'),
              ('--study', '--counts', '2', '--runs', 6), ('--split', 0),
              ('--split', 2), ('--study', '--split', 9), ('--counts', ''),
              ('--block-kibs', ''), ('--block-kibs', '0'))
    def test_absurd_options_are_one_sentence(self, options):
        path = self.dir / 'made.jsonl'
        code, out, err = command.simulate('dataset', 'SSD1', path, *options)
        self.assertEqual((2, '', 1), (code, out, len(err.splitlines())), err)
        self.assertFalse(path.exists())
