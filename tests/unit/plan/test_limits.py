# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from serifos.plan import limits as lm
from serifos.plan import score


def _score(worst, variance):
    return score.Score(worst, 1.0, variance)


@ddt.ddt
class AcceptanceTestCase(testtools.TestCase):

    @ddt.data(
        ((100, 50), (95, 80), True, 'the worst falls by just min_gain'),
        ((100, 50), (95.01, 80), False, 'and by a little less'),
        ((100, 50), (100, 47.5), True, 'the variance falls by just min_gain'),
        ((100, 50), (100, 47.6), False, 'and by a little less'),
        ((100, 50), (100.1, 1), False, 'the worst rises'),
        ((100, 50), (99, 60), False, 'both change, neither enough'),
        ((100, 50), (100 * (1 + 1e-13), 40), True, 'rounding is no rise'),
        ((0, 0), (0, 0), False, 'an idle cluster'),
        ((100, 0), (100, 0), False, 'level already'))
    @ddt.unpack
    def test_the_worst_or_the_variance_falls_by_min_gain(
            self, before, after, accepted, why):
        self.assertEqual(accepted, lm.Limits(0.05).accepts(
            _score(*before), _score(*after)), why)

    @ddt.data((100, 50), (100 * (1 - 1e-12), 50), (100, 50 * (1 - 1e-12)))
    def test_without_min_gain_rounding_is_still_no_gain(self, after):
        self.assertFalse(lm.Limits(0.0).accepts(
            _score(100, 50), _score(*after)))

    def test_without_min_gain_any_gain_counts(self):
        self.assertTrue(lm.Limits(0.0).accepts(
            _score(100, 50), _score(100, 49.999)))

    @ddt.data(
        ((98, 60), 'gain 2 % is below min_gain 5 %'),
        ((100, 49), 'gain 2 % is below min_gain 5 %'),
        ((110, 1), 'the worst latency would rise from 0.1 to 0.11 ms'),
        ((100, 51), 'the variance over the pools would rise'),
        ((100, 50), 'a move would gain nothing'))
    @ddt.unpack
    def test_a_shortfall_is_said_in_words(self, after, says):
        self.assertEqual(says, lm.Limits(0.05).shortfall(
            _score(100, 50), _score(*after)))
