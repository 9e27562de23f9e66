# SPDX-License-Identifier: Apache-2.0

import json
import pathlib

import ddt
import testtools

from serifos.bench import fio
from serifos.bench import fio_result
from serifos import errors
from serifos.facts import distribution
from serifos.facts.workload import Workload

HALF_CACHED = pathlib.Path(__file__).with_name('half_cached.json')
"""What fio 3.33 printed of 32,768 reads of 4 KiB, each once, of a file of
which the page cache held the first half: by ``tests.functional.
test_distribution``, without what serifos does not read."""

REGION = fio.Region('/dev/sdx', 2 ** 30, 2 ** 31, 7)


def side(requests, mean_us=None, p99_us=None, bw=0, bins=None):
    percentile = {} if p99_us is None else {
        'percentile': {'99.000000': p99_us * 1000}}
    if bins is not None:
        percentile['bins'] = bins
    return {'iops': min(requests, 10 ** 15) / 10, 'bw': bw,
            'total_ios': requests, 'lat_ns': {
                'N': requests, 'mean': (mean_us or 0) * 1000, **percentile}}


def output(read, write, error=0, ended_ms=1000):
    return json.dumps({'timestamp_ms': ended_ms, 'jobs': [
        {'error': error, 'read': read, 'write': write}]})


@ddt.ddt
class CommandTest(testtools.TestCase):

    def options(self, **kinds):
        workload = Workload(**{'write_pct': 25, 'block_kib': 4, **kinds})
        return fio.workload_command(workload, REGION, 15, 1, 'libaio')

    def test_what_the_paper_asks_of_fio(self):
        options = self.options(iodepth=8.0)
        for option in ('--direct=1', '--ioengine=libaio',
                       '--refill_buffers=1', '--iodepth=8', '--bs=4096',
                       '--rw=randrw', '--rwmixwrite=25', '--time_based=1',
                       '--runtime=15000ms', '--ramp_time=1000ms',
                       '--percentage_random=100', '--norandommap=1',
                       '--offset=1073741824', '--size=2147483648',
                       '--filename=/proc/self/fd/7', '--output-format=json+',
                       '--lat_percentiles=1'):
            self.assertIn(option, options)

    def test_it_makes_no_file_and_writes_to_nothing_mounted(self):
        for options in (self.options(), fio.fill_command(REGION, 'libaio')):
            self.assertIn('--allow_file_create=0', options)
            self.assertIn('--allow_mounted_write=0', options)

    def test_sequential(self):
        options = self.options(random_pct=0)
        self.assertIn('--rw=rw', options)
        self.assertNotIn('percentage_random', ' '.join(options))

    def test_who_thinks_is_a_thread_for_each_request(self):
        options = self.options(iodepth=3.0, block_kib=16, think_time_us=500)
        part = 2 ** 31 // 3 // 16384 * 16384
        for option in ('--thinktime=500', '--numjobs=3', '--iodepth=1',
                       '--group_reporting=1', f'--size={part}',
                       f'--offset_increment={part}', '--startdelay=1000ms'):
            self.assertIn(option, options)
        self.assertNotIn('ramp_time', ' '.join(options))
        self.assertNotIn('think', ' '.join(self.options(iodepth=3.0)))

    def test_a_request_that_passes_the_page_cache_is_a_threads(self):
        options = fio.workload_command(
            Workload(25, 4, iodepth=3.0), REGION, 15, 1, fio.CACHED)
        for option in ('--direct=0', '--ioengine=psync', '--numjobs=3',
                       '--iodepth=1', '--ramp_time=1000ms'):
            self.assertIn(option, options)
        self.assertNotIn('think', ' '.join(options))

    def test_fio_is_told_no_name_of_the_users(self):
        for options in (self.options(), fio.fill_command(REGION, 'libaio')):
            self.assertNotIn('/dev/sdx', ' '.join(options))

    def test_what_is_not_open_is_not_run(self):
        self.assertRaises(ValueError, fio.fill_command,
                          fio.Region('/dev/sdx', 0, 4096), 'libaio')

    @ddt.data(({'write_pct': 33.3}, 'write_pct of 33.3'),
              ({'iodepth': 2.5}, 'iodepth of 2.5'),
              ({'random_pct': 0.5}, 'random_pct of 0.5'),
              ({'block_kib': 4.25}, 'multiples of 0.5'),
              ({'think_time_us': 0.5}, 'think_time_us of 0.5'),
              ({'block_kib': 2 ** 18, 'iodepth': 8, 'think_time_us': 1},
               'too few'),
              ({'block_kib': 2 ** 20}, 'too few'))
    @ddt.unpack
    def test_what_fio_would_round_is_refused(self, kinds, words):
        workload = Workload(**{'write_pct': 25, 'block_kib': 4, **kinds})
        self.assertIn(words, str(self.assertRaises(
            errors.InputError, fio.refuse_unrunnable, [workload], REGION,
            512)))


@ddt.ddt
class ParseTest(testtools.TestCase):

    def test_nanoseconds_end_here(self):
        found = fio_result.parse('fio: a note\n' + output(
            side(300, 100, 200, bw=1200), side(100, 500, 900, bw=400)))
        self.assertEqual(200, found['latency_us'])  # (300·100+100·500)/400
        self.assertEqual((100, 500), (found['read_latency_us'],
                                      found['write_latency_us']))
        self.assertEqual((200, 900), (found['read_p99_us'],
                                      found['write_p99_us']))
        self.assertEqual((30, 10, 40), (
            found['read_iops'], found['write_iops'], found['iops']))
        self.assertEqual((1200, 400), (found['read_bw_kib_s'],
                                       found['write_bw_kib_s']))

    @ddt.data('fio: file {x}: no fallocate\n{}\nfio: terminating\n',
              '{x}\n{}\n{y}')
    def test_notes_around_it(self, notes):
        """Before, such a run was lost."""
        said = output(side(10, 50, 60), side(0))
        said = said.replace('"error"', '"o": {"rw": 1, "rw": 1}, "error"')
        self.assertEqual(50, fio_result.parse(
            notes.replace('{}', said))['latency_us'])

    def test_a_kind_that_it_had_none_of_is_unknown(self):
        found = fio_result.parse(output(side(0), side(10, 50, 60)))
        self.assertIsNone(found['read_latency_us'])
        self.assertIsNone(found['read_p99_us'])
        self.assertEqual(0, found['read_iops'])

    def test_its_bins_are_a_distribution_of_microseconds(self):
        found = fio_result.parse(output(side(4, 50, 60, bins={
            '7936': 1, '15872': 2, '31744': 1}), side(1, 50, 60, bins={})))
        self.assertEqual(
            {'from_us': 8, 'shares': [0.25, 0.25, 0.25, 0.25, 0.75, 0.75,
                                      0.75, 0.75, 1]},
            found['read_distribution'])
        self.assertNotIn('write_distribution', found)

    def test_a_fio_without_bins_has_no_distribution(self):
        self.assertNotIn('read_distribution', fio_result.parse(
            output(side(10, 50, 60), side(0))))

    def test_what_fio_printed(self):
        found = fio_result.parse(HALF_CACHED.read_text())
        times = distribution.of_seen(found, 'read')
        # fio's own 99th percentile, to an interval of 19 %.
        p99 = next(end_us for end_us, share in zip(
            times.ends_us, times.shares) if share >= 0.99)
        self.assertLess(p99 / 2 ** 0.25, found['read_p99_us'])
        self.assertGreater(p99 * 1.01, found['read_p99_us'])
        # Of the middles of the intervals the mean is that of the requests.
        mean = sum(end_us / 2 ** 0.125 * share for end_us, share in zip(
            times.ends_us, times.within))
        self.assertAlmostEqual(1, mean / found['read_latency_us'], delta=0.1)

    @ddt.data(
        ('', 'nothing at all'), ('rubbish', 'rubbish'),
        ('{}', 'its jobs is null'),
        ('{"jobs": []}', 'a list of 1 or more'),
        ('{"jobs": [1]}', 'its jobs[0] is 1'),
        (output(side(10, 50, 60), side(0))[:-9], 'not JSON'),
        (output(side(10, 50, 60), side(0)) * 2, 'Extra data'),
        (output(side(10, float('nan'), 60), side(0)), 'NaN'),
        (output(side(10, 50), side(0)), 'read.lat_ns.percentile'),
        (output(side(10, 50, 60, bins=[5]), side(0)), 'lat_ns.bins is a list'),
        (output(side(10, 50, 60, bins={'-5': 1}), side(0)), 'nanoseconds'),
        (output(side(10, 50, 60, bins={'5': -1}), side(0)), 'bins.5 is -1'),
        (output(side(10 ** 400, 50, 60), side(0)), 'not a finite number'),
        (output(side(10, 1e300, 60), side(0)), 'read.lat_ns.mean'),
        (output(side(10, 50, 60), side(0), ended_ms='x'), 'timestamp_ms'),
        (output(side(10, 50, 60), side(0), error=10 ** 30), 'its jobs[0].err'),
        (output(side(0), side(0)), 'finished no request'),
        (output(side(0), side(0), error=5), 'Input/output error'))
    @ddt.unpack
    def test_rubbish_costs_one_run(self, text, words):
        self.assertIn(words, str(self.assertRaises(
            fio_result.FioError, fio_result.parse, text)))


class MeasurerTest(testtools.TestCase):

    def test_a_workload_without_a_place_is_not_left_out(self):
        measure = fio.measurer([], 'libaio')
        self.assertRaises(ValueError, measure, [Workload(0, 4)], 1)


class SampleTest(testtools.TestCase):

    WORKLOADS = (Workload(0, 4), Workload(100, 4))

    def test_every_tenant_counts_once(self):
        seen = [fio_result.parse(output(side(900, 100, 1), side(0))),
                fio_result.parse(output(side(0), side(100, 500, 1)))]
        sample = fio_result.sample(self.WORKLOADS, 10, seen)
        self.assertEqual(300, sample.latency_us)
        self.assertEqual(140, sample.request_latency_us)
        self.assertEqual(self.WORKLOADS, sample.workloads)
        self.assertEqual(100, sample.figure('read_latency_us'))
        self.assertNotIn('ended_ms', sample.seen[0])

    def test_workloads_that_did_not_run_together_are_no_run(self):
        seen = [fio_result.parse(output(side(9, 1, 1), side(0), ended_ms=ms))
                for ms in (1000, 2400)]
        fio_result.sample(self.WORKLOADS, 15, seen)  # within 10 % of 15 s
        self.assertIn('1.4 s apart', str(self.assertRaises(
            fio_result.FioError, fio_result.sample, self.WORKLOADS, 1, seen)))
