# SPDX-License-Identifier: Apache-2.0
"""Synthetic weeks have the statistics that they are drawn to."""

import pathlib
import subprocess
import sys

import ddt
import numpy as np
import testtools

from serifos import errors
from serifos.lab.backtest import csv_history
from tests.unit import case
from tools.bench import weeks

SEEDS = range(4)


def drawn(**settings):
    return weeks.drawn(weeks.Week(**{
        'volumes': 100, 'step_s': 1800, **settings}))


@ddt.ddt
class StatisticsTest(testtools.TestCase):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        found = [weeks.figures(drawn(seed=seed)[0]) for seed in SEEDS]
        cls.found = {several[0].name: (
            float(np.mean([each.found for each in several])),
            several[0].target) for several in zip(*found)}

    @ddt.data(
        ('requests/s, least', 0.15), ('requests/s, median', 0.35),
        ('requests/s, most', 0.25), ('peak half hour over mean, median', 0.2),
        ('peak half hour over mean, 90th percentile', 0.3),
        ('KiB a request, 10th percentile', 0.3),
        ('KiB a request, 50th percentile', 0.2),
        ('KiB a request, 90th percentile', 0.3),
        ('share of writes, 10th percentile', 0.4),
        ('share of writes, 50th percentile', 0.2),
        ('share of writes, 90th percentile', 0.05),
        ('autocorrelation at 24 h, median', 0.35),
        ('autocorrelation at 24 h over 0.5, share of volumes', 0.3))
    @ddt.unpack
    def test_as_in_the_real_week(self, name, within):
        found, target = self.found[name]
        self.assertTrue(abs(found / target - 1) < within, (found, target))

    def test_a_burst_lasts_and_a_regime_ends(self):
        half, three, six = (self.found[
            f'autocorrelation at {hours} h, median'][0]
            for hours in ('0.5', '3', '6'))
        self.assertTrue(half > 0.5 > three > six, (half, three, six))


@ddt.ddt
class DrawnTest(testtools.TestCase):

    def test_the_same_seed_is_the_same_week(self):
        first, again, other = (drawn(volumes=3, days=2, seed=seed)
                               for seed in (1, 1, 2))
        np.testing.assert_array_equal(first[0].values, again[0].values)
        self.assertEqual(first[1], again[1])
        self.assertFalse(np.allclose(first[0].values[..., :4],
                                     other[0].values[..., :4]))

    def test_more_volumes_keep_the_first_ones(self):
        few, many = (drawn(volumes=volumes, days=2)[0]
                     for volumes in (3, 105))
        np.testing.assert_array_equal(few.values, many.values[:3])

    @ddt.data((300, 2, 576), (1800, 1, 48), (3600, 9, 216))
    @ddt.unpack
    def test_any_step_and_number_of_days(self, step_s, days, slots):
        series, size_gib = drawn(volumes=2, step_s=step_s, days=days)
        self.assertEqual((slots, 2), (series.slots, len(size_gib)))
        rates = series.values[..., :4]
        self.assertTrue((rates > 0).all() and np.isfinite(rates).all())
        self.assertTrue((rates[..., 3] <= rates[..., :2].sum(axis=2)
                         * 1.001).all())

    @ddt.data({'volumes': 0}, {'days': 0}, {'seed': -1}, {'step_s': 7},
              {'step_s': 700}, {'step_s': 5000},
              {'volumes': 100_000, 'days': 366, 'step_s': 60})
    def test_absurd_settings_are_refused(self, settings):
        self.assertRaises(errors.InputError, drawn, **settings)

    def test_statistics_need_two_days(self):
        self.assertRaises(errors.InputError, weeks.figures,
                          drawn(days=1)[0])


class MainTest(case.DirectoryCase):

    def test_a_history_beside_the_real_week(self):
        out = self.dir / 'week.csv.gz'
        found = self.run_it('--volumes', '30', '--step', '1800', '--out', out)
        self.assertEqual(0, found.returncode, found.stderr)
        self.assertRegex(found.stdout, r'(?m)^share of writes, 90th '
                         r'percentile +0\.\d+ +0\.97$')
        self.assertEqual(30, len(csv_history.read(out).size_gib))

    def test_an_absurd_step_is_one_sentence(self):
        found = self.run_it('--step', '7', '--out', self.dir / 'week.csv')
        self.assertEqual((2, ''), (found.returncode, found.stdout))
        self.assertIn('--step', found.stderr)

    def run_it(self, *arguments):
        return subprocess.run(
            [sys.executable, '-m', 'tools.bench.weeks', *arguments],
            cwd=pathlib.Path(__file__).parents[2], capture_output=True,
            text=True)
