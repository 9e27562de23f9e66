# SPDX-License-Identifier: Apache-2.0
"""Models fitted again to what volumes did."""

import dataclasses
import random

import numpy as np
import testtools

from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Header
from serifos.facts.dataset import Sample
from serifos.facts.history import Series
from serifos.facts.workload import Workload
from serifos.model import live
from serifos.model.model import Model

MODEL = Model('m', 'outstanding', {
    'intercept_us': 90, 'sum_q_r': 4, 'sum_q_w': 9, 'sum_q_s_r': 2.5,
    'sum_q_s_w': 3.25}, {'write_pct': (0, 100), 'block_kib': (4, 64),
                         'iodepth': (1, 32), 'count': (1, 10)},
    {'mre': 0.1}, device={'model': 'SSD'})
HOUR = 3600


def series(*rows):
    """Of hours in which each volume did (iops, write share, KiB, µs)."""
    found = Series.empty('uvw'[:len(rows[0])], 0, HOUR * len(rows), HOUR)
    for slot, row in enumerate(rows):
        for column, did in enumerate(row):
            if did is not None:
                iops, write, kib, us = did
                found.sums[:, slot, column] = HOUR * np.array([
                    1, iops * (1 - write), iops * write,
                    1024 * kib * iops * (1 - write), 1024 * kib * iops * write,
                    1e-6 * us * iops * (1 - write), 1e-6 * us * iops * write])
    return found


BUSY, IDLE = (1000, 0.25, 16, 2000), (1, 0.5, 4, 100)


class RunsTest(testtools.TestCase):

    def runs(self, rows, *pools):
        return live.runs(series(*rows), pools or [live.Pool('uv')])

    def test_the_active_volumes_of_a_pool(self):
        run, = self.runs([(BUSY, (500, 0, 64, 8000), IDLE)],
                         live.Pool('uvw'))
        self.assertEqual([(25, 16, 2), (0, 64, 4)], [
            (w.write_pct, w.block_kib, round(w.iodepth, 3))
            for w in run.workloads])
        self.assertAlmostEqual(5000, run.latency_us, 1)
        self.assertEqual([1000, 500], [
            round(each['iops']) for each in run.seen])
        self.assertEqual([750, 500], [
            round(each['read_iops']) for each in run.seen])

    def test_an_hour_in_which_a_volume_was_not_seen_is_none(self):
        self.assertEqual(1, len(self.runs([(BUSY, None), (BUSY, IDLE)])))

    def test_neither_is_one_in_which_all_idle(self):
        self.assertEqual([], self.runs([(IDLE, IDLE)]))

    def test_nor_one_before_the_volumes_were_there(self):
        rows = [(BUSY, BUSY)] * 4
        self.assertEqual(2, len(self.runs(rows, live.Pool('uv', HOUR + 1))))

    def test_each_pool_by_itself_hour_by_hour(self):
        found = self.runs([(BUSY, BUSY, IDLE), (BUSY, BUSY, BUSY)],
                          live.Pool('uv'), live.Pool('w'))
        self.assertEqual([2, 2, 1], [run.count for run in found])


def dataset(number, factor, noise=0.02, seed=0):
    """Runs of what the model predicts, so many times."""
    rng, found = random.Random(seed), []
    for _ in range(number):
        workloads = [Workload(
            rng.uniform(0, 100), rng.choice([4, 8, 16, 32]),
            rng.uniform(1, 16)) for _ in range(rng.randrange(1, 5))]
        us = factor * MODEL.predict(MODEL.load(workloads)) * rng.uniform(
            1 - noise, 1 + noise)
        found.append(Sample(tuple(workloads), us))
    return Dataset(Header({}), tuple(found))


class LearnedTest(testtools.TestCase):

    def test_a_device_that_has_become_slower(self):
        found = live.learned(MODEL, dataset(90, 1.5), 'm')
        self.assertTrue(found.better)
        self.assertEqual((60, 30), found.runs)
        self.assertAlmostEqual(1 / 3, found.error[0], 1)
        self.assertLess(found.error[1], 0.05)
        self.assertAlmostEqual(1.5, found.ratio[1], 1)
        self.assertEqual(('m', 'outstanding', {'model': 'SSD'}, 90), (
            found.model.name, found.model.kind, found.model.device,
            found.model.dataset['runs']))

    def test_what_telemetry_does_not_tell_stays(self):
        tails = {'write_p99_us': MODEL}
        found = live.learned(dataclasses.replace(MODEL, tails=tails),
                             dataset(30, 1.5), 'm')
        self.assertEqual(tails, found.model.tails)

    def test_a_model_that_is_right_is_not_bettered_by_few_noisy_runs(self):
        found = live.learned(MODEL, dataset(21, 1.0, 0.3, 4), 'm')
        self.assertFalse(found.better)

    def test_what_was_true_until_lately_is_not_better(self):
        older, newer = dataset(60, 2.0), dataset(30, 1.0, seed=1)
        found = live.learned(MODEL, dataclasses.replace(
            older, samples=older.samples + newer.samples), 'm')
        self.assertFalse(found.better)

    def test_too_few_runs(self):
        error = self.assertRaises(errors.InputError, live.learned, MODEL,
                                  dataset(12, 1.0), 'm')
        self.assertIn('12 live runs are too few', str(error))
