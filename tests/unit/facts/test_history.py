# SPDX-License-Identifier: Apache-2.0
"""Series: activities, and longer slots that are sums of shorter ones."""

import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos.facts.history import Series


def series(sums, begin=0, step_s=60, volumes=None):
    """Of sums (7, T, volumes)."""
    sums = np.asarray(sums, np.float32)
    return Series(tuple(volumes or map(str, range(sums.shape[2]))),
                  begin, step_s, sums)


@strategies.composite
def drawn(draw):
    """Series of whole numbers, some slots of which nobody saw."""
    slots, volumes = draw(strategies.integers(1, 30)), draw(
        strategies.integers(1, 3))
    seed = draw(strategies.integers(0, 2 ** 32 - 1))
    rng = np.random.default_rng(seed)
    sums = rng.integers(0, 1000, (7, slots, volumes))
    sums[0] = rng.integers(1, 61, (slots, volumes))
    sums[:, rng.random((slots, volumes)) < draw(strategies.floats(0, 1))] = 0
    return series(sums, 60 * draw(strategies.integers(0, 200)))


class SeriesTest(testtools.TestCase):

    def test_activities(self):
        found = series(np.array(
            [60, 600, 1800, 600 * 4096, 1800 * 16384, 0.6, 5.4]
        ).reshape(7, 1, 1))
        for name, value in (
                ('read_iops', 10), ('write_iops', 30), ('iops', 40),
                ('read_kib_s', 40), ('write_kib_s', 480), ('write_pct', 75),
                ('block_kib', 13), ('latency_us', 2500),
                ('outstanding', 0.1)):
            np.testing.assert_allclose(
                [[value]], getattr(found, name), rtol=1e-6, err_msg=name)

    def test_unseen_is_nan_and_idle_is_zero(self):
        sums = np.zeros((7, 2, 1))
        sums[0, 1] = 60
        found = series(sums)
        for name in ('read_iops', 'write_iops', 'iops', 'read_kib_s',
                     'write_kib_s', 'write_pct', 'block_kib', 'latency_us',
                     'outstanding'):
            np.testing.assert_array_equal(
                [[np.nan], [0]], getattr(found, name), err_msg=name)

    def test_where_time_is_not_measured_latency_alone_is_unknown(self):
        sums = np.full((7, 1, 1), 60.0)
        sums[5:] = np.nan
        found = series(sums)
        self.assertEqual((2, 50), (found.iops[0, 0], found.write_pct[0, 0]))
        self.assertTrue(np.isnan(found.latency_us).all())
        self.assertTrue(np.isnan(found.outstanding).all())
        self.assertTrue(np.isnan(found.rolled_up(300).latency_us).all())

    def test_slots_are_those_that_the_time_touches(self):
        found = Series.empty(['a'], 3599, 7201, 3600)
        self.assertEqual((0, 10800, 3), (found.begin, found.end, found.count))
        self.assertEqual([0, 3600, 7200], list(found.begins))
        self.assertEqual(0, Series.empty(['a'], 600, 600, 60).count)
        self.assertEqual(0, Series.empty(
            ['a'], 600, 600, 60).rolled_up(300).count)
        self.assertRaises(ValueError, found.rolled_up, 5400)

    @hypothesis.given(drawn(), strategies.sampled_from([60, 120, 300, 3600]))
    def test_longer_slots_are_sums_and_means_weighted_by_seconds(
            self, found, step_s):
        longer = found.rolled_up(step_s)
        self.assertEqual(0, longer.begin % step_s)
        self.assertLessEqual(longer.begin, found.begin)
        self.assertGreaterEqual(longer.end, found.end)
        self.assertLess(longer.end - found.end, step_s)
        np.testing.assert_array_equal(
            found.sums.sum(axis=1), longer.sums.sum(axis=1))
        for slot, begin in enumerate(longer.begins):
            within = [n for n, at in enumerate(found.begins)
                      if begin <= at < begin + step_s]
            np.testing.assert_array_equal(
                found.sums[:, within].sum(axis=1), longer.sums[:, slot])
            seconds = found.seconds[within]
            if (seconds.sum(axis=0) > 0).all():
                np.testing.assert_allclose(
                    (np.nan_to_num(found.iops[within]) * seconds).sum(axis=0)
                    / seconds.sum(axis=0), longer.iops[slot], rtol=1e-5)

    @hypothesis.given(drawn())
    def test_an_hour_of_five_minutes_is_an_hour_of_minutes(self, found):
        np.testing.assert_array_equal(
            found.rolled_up(3600).sums,
            found.rolled_up(300).rolled_up(3600).sums)
