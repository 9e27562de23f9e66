# SPDX-License-Identifier: Apache-2.0

import collections
import math

import ddt
from hypothesis import given
from hypothesis import strategies as st
import testtools

from serifos import cluster as cl
from serifos.scheduler import known
from serifos.scheduler import predict
from serifos import workload as wl
from tests.unit.scheduler import files


def predictions(*latencies, error=0.0):
    return [None if each is None else predict.Prediction(each, error * each)
            for each in latencies]


@ddt.ddt
class WeightsTest(testtools.TestCase):

    @ddt.data(((100, 300, 200), [200, 0, 100]),
              ((100, None, 300), [200, 100, 0]),
              ((None, None), [1, 1]), ((7, 7), [1, 1]), ((), []))
    @ddt.unpack
    def test_worst_less_own_and_the_median_for_the_unknown(
            self, latencies, expected):
        self.assertEqual(
            expected, predict.weights(predictions(*latencies)))

    @given(st.lists(st.none() | st.floats(0, 1e300), max_size=8))
    def test_finite_never_negative_and_higher_is_better(self, latencies):
        found = predict.weights(predictions(*latencies))
        self.assertEqual(len(latencies), len(found))
        self.assertTrue(all(math.isfinite(w) and w >= 0 for w in found))
        known_ones = [(latency, -weight) for latency, weight
                      in zip(latencies, found) if latency is not None]
        self.assertEqual(sorted(w for _, w in known_ones),
                         [w for _, w in sorted(known_ones)])


@ddt.ddt
class BandsTest(testtools.TestCase):

    @ddt.data((0.0, (100, 100, 101), [0, 0, 1]),
              (0.1, (100, 109, 130), [0, 0, 1]),
              (0.1, (130, 100, 115), [2, 0, 1]),
              (0.1, (100, None, 200), [0, 1, 2]),
              (0.1, (None, None), [0, 0]),
              (0.1, (), []))
    @ddt.unpack
    def test_equal_within_the_error_of_the_best(
            self, error, latencies, expected):
        self.assertEqual(expected, predict.bands(
            predictions(*latencies, error=error)))


class PredictorTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.coming = wl.Workload(30, 8, 8)

    def predict(self, pool='a', model=files.model('ssd'), coming=None,
                standing=(), lifted=None, pools=(cl.Pool('a'),),
                volumes=(files.volume('1', 'a', 16),)):
        view = known.View(known.Snapshot(
            cl.Cluster(tuple(pools), tuple(volumes)), 0.05, 0.0),
            {'ssd': model}, {})
        predictor = predict.Predictor(
            view, coming or [self.coming],
            {'a': collections.Counter(standing)}, {'a': lifted})
        return predictor(predict.Candidate(pool, 'ssd'))

    def test_what_lives_there_and_the_newcomer(self):
        self.assertEqual(240, self.predict().latency_us)

    def test_what_is_on_its_way_counts_as_often_as_it_does(self):
        several = [wl.Workload(0, 4, 8)] * 3 + [wl.Workload(5, 2, 8)]
        self.assertEqual(380, self.predict(standing=several).latency_us)

    def test_what_is_on_its_way_counts(self):
        self.assertEqual(
            280, self.predict(standing=[wl.Workload(0, 4, 8)]).latency_us)

    def test_what_is_lifted_does_not(self):
        self.assertEqual(80, self.predict(
            lifted=wl.Workload(30, 16, 8)).latency_us)

    def test_an_absent_pool_is_unknown_and_an_empty_one_is_not(self):
        self.assertIsNone(self.predict(pool='b'))
        self.assertEqual(80, self.predict(volumes=()).latency_us)

    def test_beyond_the_training_range_the_upper_end_is_taken(self):
        model = files.model('ssd', quality={'interval': [-0.2, 0.5]}, range={
            'block_kib': (4, 4), 'count': (1, 9)})
        self.assertEqual(360, self.predict(model=model).latency_us)

    def test_an_overflowing_model_is_no_model(self):
        self.assertIsNone(self.predict(model=files.model('ssd', 1e308)))

    def test_the_error_is_the_model_s_own(self):
        found = self.predict(model=files.model('ssd', mre=0.1))
        self.assertEqual(24, found.error_us)

    def test_qos_bounds_what_a_newcomer_keeps_outstanding(self):
        model = files.model('ssd', 5.0, kind='outstanding')
        free = wl.Workload(0, 8, 8)
        bound = wl.Workload(0, 8, 8, iops=1000)
        # 8 outstanding of 16 KiB and of 8 KiB: 5 * 8 * 24 = 960 µs, in which
        # 0.96 requests come by at 1,000 a second.
        self.assertEqual(
            960, self.predict(model=model, coming=[free]).latency_us)
        self.assertAlmostEqual(5 * (8 * 16 + 0.96 * 8), self.predict(
            model=model, coming=[bound]).latency_us, places=5)

    def test_a_loose_bound_is_none(self):
        model = files.model('ssd', kind='outstanding')
        loose, free = (wl.Workload(0, 8, 8, iops=iops)
                       for iops in (1e9, None))
        self.assertEqual(self.predict(model=model, coming=[free]),
                         self.predict(model=model, coming=[loose]))
