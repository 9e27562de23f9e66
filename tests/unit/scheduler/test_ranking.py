# SPDX-License-Identifier: Apache-2.0

import math

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.scheduler import predict


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

    @settings(deadline=None)
    @given(strategies.lists(strategies.none() | strategies.floats(0, 1e300),
                            max_size=8))
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
        self.assertEqual(expected, predict.ranks(
            predictions(*latencies, error=error)))
