# SPDX-License-Identifier: Apache-2.0
"""Outputs of fio that people have become a dataset."""

import json

import ddt

from serifos.files import documents
from tests.fuzz import files
from tests.unit import case
from tests.unit.cmd import command

RECORDED = files.CORPUS / 'fio_output/together.json'
READER, MIXED, THINKERS, ALONE = range(4)


@ddt.ddt
class ImportTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.path = self.dir / 'd.jsonl'

    def kept(self, name='a.json', job=ALONE, common=None, own=None,
             **entries):
        """The recorded output with other options, or entries of a job."""
        doc = json.loads(RECORDED.read_text())
        doc['global options'] |= common or {}
        doc['jobs'][job]['job options'] |= own or {}
        doc['jobs'][job] |= entries
        doc['jobs'][0]['elapsed'] = 60
        return self.text(json.dumps(doc), name)

    def text(self, text, name='a.json'):
        (self.dir / name).write_text(text)
        return self.dir / name

    def imported(self, *paths, code=0):
        """The runs that were written, and what was said."""
        found, out, err = command.model('-q', 'import', *paths, '-o',
                                        self.path)
        self.assertEqual(code, found, err)
        if code:
            self.assertEqual(('', False), (out, self.path.exists()))
            return (), err
        return documents.read_dataset(self.path).samples, err

    def test_jobs_that_ran_together_are_a_run(self):
        (together, thinkers, alone), err = self.imported(RECORDED)
        self.assertEqual('', err)
        self.assertEqual([(0, 4, 8, 100, 0), (70, 16, 2, 100, 0)],
                         [w.pattern for w in together.workloads])
        self.assertEqual([(0, 4, 1, 100, 500)] * 4,
                         [w.pattern for w in thinkers.workloads])
        self.assertEqual([(100, 64, 1, 0, 0)],
                         [w.pattern for w in alone.workloads])

    def test_its_latency_is_that_which_build_records(self):
        (together, thinkers, _), _ = self.imported(RECORDED)
        reads, writes = 1169 * 197.366739949, 2788 * 634.189832855
        self.assertAlmostEqual(
            (332.139204686 + (reads + writes) / (1169 + 2788)) / 2,
            together.latency_us)
        self.assertEqual([6455.296] * 4, [
            saw['read_p99_us'] for saw in thinkers.seen])
        # Each of the four has a quarter of what fio added up.
        self.assertAlmostEqual(1817 / 1.005 / 4, thinkers.seen[0]['iops'], 0)
        self.assertAlmostEqual(1817 / 1.005 / 4 * 1686.308644469e-6,
                               thinkers.tenants[0].outstanding, 2)

    def test_the_header_names_the_disk_and_the_program(self):
        self.imported(RECORDED)
        header = documents.read_dataset(self.path).header
        self.assertEqual(
            ({'target': 'vda'}, 'fio-3.33', '2026-11-28T13:04:05Z'),
            (header.device, header.fio, header.created_at))

    def test_fit_reads_it(self):
        runs, _ = self.imported(*(
            self.kept(f'{n}.json', own={'bs': f'{n}k'})
            for n in (4, 8, 16, 32)))
        code, _, err = command.model('fit', self.path, '--out',
                                     self.dir / 'm.json', '--kind',
                                     'outstanding')
        self.assertEqual((12, 0, ''), (len(runs), code, err))

    def test_processes_that_fio_prints_apart(self):
        doc = json.loads(RECORDED.read_text())
        alone = doc['jobs'].pop()
        alone['job options']['numjobs'] = '2'
        doc['jobs'] = [alone, alone]
        (run,), _ = self.imported(self.text(json.dumps(doc)))
        self.assertEqual([(100, 64, 1, 0, 0)] * 2,
                         [w.pattern for w in run.workloads])

    @ddt.data('fio: a note {x}\n{}\nfio: terminating\n', '{}')
    def test_text_around_it(self, notes):
        runs, err = self.imported(self.text(notes.replace(
            '{}', RECORDED.read_text(), 1).replace('{x}', '{}')))
        self.assertEqual((3, ''), (len(runs), err))

    def test_of_an_option_that_is_given_twice_the_last_counts(self):
        runs, _ = self.imported(self.text(RECORDED.read_text().replace(
            '"bs" : "64k"', '"bs" : "4k", "bs" : "8k"')))
        self.assertEqual(8, runs[-1].workloads[0].block_kib)

    def test_a_share_of_its_own_goes_before_that_of_all(self):
        runs, _ = self.imported(self.kept(
            job=MIXED, common={'rwmixread': '10', 'rwmixwrite': '90'}))
        self.assertEqual(70, runs[0].workloads[1].write_pct)

    @ddt.data(
        ({'direct': '0'}, 'went through the page cache'),
        ({'iodepth': '8'}, 'psync keeps one request outstanding'),
        ({'ioengine': 'rbd'}, 'its ioengine=rbd is none of libaio'),
        ({'rw': 'trim'}, 'its rw=trim is none of read'),
        ({'rw': 'randread:8'}, 'its rw=randread:8 is none of'),
        ({'verify': 'crc32c'}, 'reads back what it wrote'),
        ({'bssplit': '4k/50:8k/50'}, 'of several sizes'),
        ({'bsrange': '4k-8k'}, 'of several sizes'),
        ({'bs': '4k,8k'}, 'its bs=4k,8k is not one size'),
        ({'bs': '16kib'}, 'its bs=16kib is not one size'),
        ({'bs': '0'}, 'its bs=0 is not one size'),
        ({'rate_iops': '100'}, 'its option rate_iops=100 does to a load'),
        ({'numjobs': '9' * 400}, 'whole number from 1 to 4096'),
        ({'ramp_time': '1-2'}, 'its ramp_time=1-2 is not one time'),
        ({'thinktime': '9', 'ioengine': 'libaio', 'iodepth': '2'},
         'thinks only when none of its requests'),
        ({'thinktime': '9', 'ramp_time': '9ms'}, 'fio before 3.35'))
    @ddt.unpack
    def test_options_that_a_dataset_cannot_describe(self, own, words):
        self.assert_left_out(self.kept(own=own), words)

    @ddt.data(
        ({'error': 5}, 'Input/output error'),
        ({'job_runtime': 2004}, 'the sum of 2.0 processes, not of numjobs=1'),
        ({'write': {'runtime': 400}, 'job_runtime': 400}, '0.4 s, and 0.5 s'),
        ({'write': {'lat_ns': {'N': 0}}}, 'finished no request'),
        ({'write': {'iops': -1}}, 'write.iops is -1'))
    @ddt.unpack
    def test_figures_that_cannot_be_used(self, entries, words):
        if 'write' in entries:
            was = json.loads(RECORDED.read_text())['jobs'][ALONE]['write']
            entries = {**entries, 'write': {**was, **entries['write']}}
        self.assert_left_out(self.kept(**entries), words)

    def assert_left_out(self, path, words):
        """One sentence names the job; the other two runs are used."""
        runs, err = self.imported(path)
        self.assertEqual((2, 1), (len(runs), err.count('\n')), err)
        self.assertIn(words, err)
        self.assertTrue(err.startswith(
            f'serifos-model: {path}: job alone: '), err)
        self.assertTrue(err.endswith('; the run is left out.\n'), err)

    @ddt.data(
        ({'own': {'startdelay': '5'}}, 'do not begin together'),
        ({'write': {'runtime': 9000}, 'read': {'runtime': 9000},
          'job_runtime': 9000}, 'did not run together'))
    @ddt.unpack
    def test_jobs_that_did_not_run_together(self, changed, words):
        was = json.loads(RECORDED.read_text())['jobs'][MIXED]
        runs, err = self.imported(self.kept(job=MIXED, **{
            name: {**was[name], **value} if name in ('read', 'write')
            else value for name, value in changed.items()}))
        self.assertEqual((2, 1), (len(runs), err.count('\n')), err)
        self.assertIn('jobs reader, mixed: th', err)
        self.assertIn(words, err)

    @ddt.data(
        ('no', 'It holds no result of fio in JSON'),
        (RECORDED.read_text() * 2, 'It holds 2 results of fio'),
        (RECORDED.read_text().replace('"elapsed" : 4', '"elapsed" : 2'),
         'some ran at the same time (new_group)'),
        (RECORDED.read_text().replace(
            '"rw" : "write"', '"rw" : "write", "filename" : "/dev/sdb"'),
         'Its jobs ran in 2 places, ., /dev/sdb, which'))
    @ddt.unpack
    def test_a_file_that_cannot_be_used(self, text, words):
        runs, err = self.imported(self.text(text), RECORDED)
        self.assertEqual((3, 1), (len(runs), err.count('\n')), err)
        self.assertIn(words, err)

    def test_where_no_run_can_be_used_nothing_is_written(self):
        _, err = self.imported(self.kept(common={'direct': '0'}), code=2)
        self.assertEqual(4, err.count('\n'))
        self.assertIn('No run of these files can be used; nothing is', err)

    def test_a_file_that_is_missing(self):
        _, err = self.imported(RECORDED, self.dir / 'none.json', code=2)
        self.assertIn('There is no fio output', err)

    def test_two_devices_are_two_datasets(self):
        _, err = self.imported(*(
            self.kept(f'{name}.json', common={'filename': f'/dev/{name}'})
            for name in ('sdb', 'sdc')), code=2)
        self.assertIn(f'2 devices, /dev/sdb ({self.dir}/sdb.json) and '
                      f'/dev/sdc ({self.dir}/sdc.json)', err)

    def test_a_dataset_that_exists_is_never_replaced(self):
        self.imported(RECORDED)
        was = self.path.read_bytes()
        code, out, err = command.model('import', RECORDED, '-o', self.path)
        self.assertEqual((2, ''), (code, out))
        self.assertIn('exists already; give another --output', err)
        self.assertEqual(was, self.path.read_bytes())
