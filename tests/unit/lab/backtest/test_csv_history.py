# SPDX-License-Identifier: Apache-2.0
"""Histories as CSV are read as they are, and bad lines by their number."""

import gzip
import random

import ddt
import numpy as np

from serifos import errors
from serifos.lab.backtest import csv_history
from tests.unit import case
from tools.bench import weeks

HEADER = ('volume,begin,seconds,read_iops,write_iops,read_mib_s,write_mib_s,'
          'size_gib')


def parsed(*lines, header=HEADER):
    return csv_history.parsed([f'{line}\n' for line in (header, *lines)],
                              'h.csv')


@ddt.ddt
class ParsedTest(case.DirectoryCase):

    def test_rates_sizes_and_gaps(self):
        found = parsed('a,600,300,10,5,1,0.5,50', 'b,0,300,1,0,0.1,0,',
                       'a,0,300,2,2,3,1,40')
        series = found.series
        self.assertEqual((0.0, 300.0, ('a', 'b'), 3), (
            series.begin, series.step_s, series.volumes, series.slots))
        self.assertEqual({'a': 50.0}, found.size_gib)
        np.testing.assert_allclose([10, 5, 1536, 15],
                                   series.values[0, 2, :4])
        self.assertTrue(np.isnan(series.values[0, 1]).all())
        self.assertTrue(np.isnan(series.values[1, 1:]).all())
        self.assertTrue(np.isnan(series.values[..., 4]).all())

    def test_columns_in_any_order_and_no_sizes(self):
        found = parsed(
            '2026-11-23T00:05:00Z,1,a,2,3,4,60',
            header='begin,write_mib_s,volume,read_iops,read_mib_s,write_iops'
                   ',seconds')
        self.assertEqual({}, found.size_gib)
        self.assertEqual(1795392300.0, found.series.begin)
        np.testing.assert_allclose([2, 4, 4096, 6],
                                   found.series.values[0, 0, :4])

    def test_any_order_of_lines_is_the_same_history(self):
        series, size_gib = weeks.drawn(weeks.Week(20, 3, 1800))
        path = self.dir / 'week.csv'
        weeks.write(path, series, size_gib)
        header, *lines = path.read_text().splitlines()
        first = csv_history.read(path)
        random.Random(3).shuffle(lines)
        again = csv_history.parsed([header, *lines], 'week.csv')
        np.testing.assert_array_equal(
            first.series.values,
            again.series.values[[again.series.volumes.index(volume)
                                 for volume in first.series.volumes]])
        self.assertEqual(first.series.begin, again.series.begin)

    @ddt.data('week.csv', 'week.csv.gz')
    def test_what_is_written_is_read(self, name):
        series, size_gib = weeks.drawn(weeks.Week(3, 1, 300))
        weeks.write(self.dir / name, series, size_gib)
        found = csv_history.read(self.dir / name)
        self.assertEqual((series.begin, series.step_s, series.volumes), (
            found.series.begin, found.series.step_s, found.series.volumes))
        self.assertEqual(size_gib, found.size_gib)
        np.testing.assert_allclose(series.values[..., :3],
                                   found.series.values[..., :3], rtol=2e-3)

    def test_the_same_week_is_the_same_file(self):
        series, size_gib = weeks.drawn(weeks.Week(3, 1, 1800))
        for name in 'first.gz', 'again.gz':
            weeks.write(self.dir / name, series, size_gib)
        self.assertEqual((self.dir / 'first.gz').read_bytes(),
                         (self.dir / 'again.gz').read_bytes())

    @ddt.data(
        ('a,0,300,1,1,1', 'Line 3', 'has 6 fields'),
        ('a,0,300,x,1,1,1,', 'Line 3', "read_iops 'x'"),
        ('a,0,300,nan,1,1,1,', 'Line 3', "read_iops 'nan'"),
        ('a,0,300,1,-1,1,1,', 'Line 3', "write_iops '-1'"),
        ('a,0,300,1,1,1e99,1,', 'Line 3', "read_mib_s '1e99'"),
        ('a,300,60,1,1,1,1,', 'Line 3', 'lasts 60 s'),
        ('a,300,0,1,1,1,1,', 'Line 3', 'seconds are 0'),
        ('a,450,300,1,1,1,1,', 'Line 3', 'between two slots'),
        ('a,soon,300,1,1,1,1,', 'Line 3', "begin 'soon'"),
        ('a,nan,300,1,1,1,1,', 'Line 3', "begin 'nan'"),
        (',300,300,1,1,1,1,', 'Line 3', 'no name'),
        ('a,300,300,1,1,1,1,big', 'Line 3', "size_gib 'big'"),
        ('a,0,300,1,1,1,1,', 'Line 3', 'twice'),
        ('a,3e11,300,1,1,1,1,', 'Line 3', 'shorten it'))
    @ddt.unpack
    def test_a_bad_line_is_named(self, line, number, part):
        exc = self.assertRaises(errors.FormatError, parsed,
                                'a,0,300,1,1,1,1,', line)
        self.assertIn(number, str(exc))
        self.assertIn(part, str(exc))
        self.assertEqual(1, len(str(exc).splitlines()))

    def test_few_lines_of_many_years_take_no_memory(self):
        error = self.assertRaises(
            errors.FormatError, parsed, 'a,0,60,1,1,1,1,',
            'b,1767225600,60,1,1,1,1,')
        self.assertIn('2 lines are too few for 2 volumes from '
                      '1970-01-01T00:00:00Z to 2026-01-01T00:01:00Z',
                      str(error))

    def test_years_of_few_volumes_may_have_gaps(self):
        self.assertEqual(1_051_201, parsed(
            'a,0,300,1,1,1,1,', 'a,315360000,300,1,1,1,1,').series.slots)

    def test_a_slot_twice_is_found_however_far_apart(self):
        lines = [f'v{i},0,300,1,1,1,1,' for i in range(70_000)]
        exc = self.assertRaises(errors.FormatError, parsed, *lines,
                                'v5,0,300,1,1,1,1,')
        self.assertIn('Line 70002 ', str(exc))

    @ddt.data(((), 'no lines'), (('a',), 'Line 2'))
    @ddt.unpack
    def test_a_file_that_is_no_history(self, lines, part):
        self.assertIn(part, str(self.assertRaises(
            errors.FormatError, parsed, *lines)))
        self.assertIn('no column volume', str(self.assertRaises(
            errors.FormatError, parsed, header='{"a": 1}')))

    def test_files_that_cannot_be_read(self):
        path = self.dir / 'h.csv.gz'
        self.assertRaises(errors.InputError, csv_history.read, path)
        self.assertRaises(errors.InputError, csv_history.read, self.dir)
        path.write_text('no gzip')
        self.assertRaises(errors.FormatError, csv_history.read, path)
        path.write_bytes(gzip.compress(HEADER.encode() * 999)[:-20])
        self.assertRaises(errors.FormatError, csv_history.read, path)
        path.write_bytes(gzip.compress(b'\xff\xfe'))
        self.assertRaises(errors.FormatError, csv_history.read, path)
