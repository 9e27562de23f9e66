# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json

import ddt

from serifos.facts.dataset import Dataset
from serifos.files import documents
from tests.unit.cmd import command
from tests.unit.cmd import test_model_commands
from tests.unit.lab.calibrate import test_cached
from tests.unit import samples


@ddt.ddt
class CalibrateTest(test_model_commands.ModelCase):

    def test_it_writes_a_network_and_prints_and_draws_figure_11(self):
        page = self.dir / 'page.html'
        code, out, err = command.model(
            'calibrate', self.dataset, '--out', self.model, '-f', 'json',
            '--page', page)
        self.assertIn(f'The page is {page}', err)
        self.check_page(page.read_text())
        rows = {row['scenario']: row for row in json.loads(out)}
        self.assertEqual(0, code)
        self.assertEqual(
            {'calibration', 'interpolation', 'extrapolation clients',
             'extrapolation 2 x volumes', 'extrapolation 3 x volumes',
             'calibration, by clients', 'calibration, by request size'},
            set(rows))
        row = rows['interpolation']
        self.assertEqual(40, row['runs'])
        self.assertAlmostEqual(
            row['mean'], (row['random_read'] + row['random_write']) / 2)
        self.assertIn('serifos-model: stations: ', err)
        model = documents.read_model(self.model)
        self.assertEqual({'random_read', 'random_write'},
                         set(model.quality['r2']))
        for label, value in model.quality['r2'].items():
            self.assertIn(f'R² of {label}: {value:.4f}\n', err)
        self.assertEqual('queueing', model.kind)
        self.assertGreater(model.predict(model.load([])) + 1, 0)
        code, shown = self.run_json('show', self.model)
        self.assertEqual((0, 'queueing'), (code, shown['kind']))
        self.assertEqual({label: round(value, 4) for label, value
                          in model.quality['r2'].items()}, shown['r2'])
        # One of a release that stored no R².
        doc = json.loads(self.model.read_text())
        del doc['quality']['r2']
        self.model.write_text(json.dumps(doc))
        code, shown = self.run_json('show', self.model)
        self.assertEqual((0, False), (code, 'r2' in shown))

    def test_distributions_tell_hits_from_misses(self):
        path = samples.write(self.dir / 'cache.jsonl', Dataset(
            samples.HEADER, test_cached.stepping().data.samples))
        page = self.dir / 'page.html'
        code, out, err = command.model(
            'calibrate', path, '--out', self.model, '-f', 'json', '--page',
            page)
        self.assertEqual(0, code, err)
        self.assertRegex(err, r'p1 of random_read: (29|30|31)\.\d+ % up to 8 '
                         r'clients, (79|80|81)\.\d+ % beyond \(± \d\.\d+ %\), '
                         r'by \d+ of 24 distributions\n')
        row = json.loads(out)[0]
        for column in 'random_read_cached', 'random_read_uncached':
            self.assertTrue(0 < row[column] < 0.06)
        drawn = page.read_text()
        for words in ('random read cached', 'random read uncached',
                      'p1 of random_read', 'up to 8 clients'):
            self.assertIn(words, drawn)
        parameters = documents.read_model(self.model).parameters
        self.assertEqual({'random_read': 8}, parameters['few_clients'])
        code, shown = self.run_json('show', self.model)
        self.assertEqual(0, code)

    def test_the_table_speaks_in_percent(self):
        _, out, _ = command.model('calibrate', self.dataset, '--stations',
                                  '1', '--out', self.model)
        self.assertRegex(
            out, r'interpolation +\| 10-fold +\| +40 \| \d+\.\d %')

    def check_page(self, drawn):
        for words in ('extrapolation 3 x volumes, to 10', 'random write',
                      'measured, ms', 'cache random_read',
                      'R² of random_read', 'by mean size of a request, KiB',
                      'calibration, by clients',
                      f'Measured on {samples.HEADER.host}'):
            self.assertIn(words, drawn)
        self.assertRegex(drawn, r'class="verdict">.*: .* % error, 40 runs\.'
                         r'.* closer than kind outstanding in \d of 5 ')
        # 40 runs calibrated and asked again, held out, and those beyond.
        self.assertGreater(drawn.count('<use '), 2 * 40)

    @ddt.data(('none of these', 'There is no dataset'),
              ('--page=/nowhere/p.html', 'p.html cannot be written'),
              ('--alpha=2', 'alpha = 2 cannot'),
              ('--seed=-1', 'A --seed of -1'))
    @ddt.unpack
    def test_what_cannot_be_is_refused(self, argument, words):
        arguments = ([self.dir / argument] if ' ' in argument
                     else [self.dataset, argument])
        self.refused(words, 'calibrate', *arguments, '--out', self.model)

    def test_the_model_is_of_the_largest_target(self):
        # The first of the two is the larger; idle runs tell of neither.
        dataset = documents.read_dataset(self.dataset)
        paths = []
        for gib in 16, 4:
            header = dataclasses.replace(dataset.header, device={
                **dataset.header.device, 'size_gib': gib})
            paths.append(samples.write(
                self.dir / f'of-{gib}.jsonl', Dataset(header, tuple(
                    dataclasses.replace(sample, workloads=tuple(
                        dataclasses.replace(
                            w, think_time_us=0.0 if nth % 4 else 1e9)
                        for w in sample.workloads))
                    for nth, sample in enumerate(dataset.samples)))))
        for order in paths, paths[::-1]:
            code, out, err = command.model(
                'calibrate', *order, '--stations', '1', '--out', self.model,
                '-f', 'json')
            self.assertEqual(0, code, err)
            model = documents.read_model(self.model)
            self.assertEqual(16, model.device['size_gib'])
            self.assertEqual(
                documents.digest(paths[0]), model.dataset['sha256'])
            self.assertLess(json.loads(out)[0]['mean'], 0.02)
            self.assertGreater(model.quality['r2']['random_read'], 0.99)

    def test_two_machines_are_refused(self):
        dataset = documents.read_dataset(self.dataset)
        other = samples.write(self.dir / 'other.jsonl', dataclasses.replace(
            dataset, header=dataclasses.replace(
                dataset.header, host='elsewhere')))
        self.refused('two machines', 'calibrate', self.dataset, other,
                     '--out', self.model)
