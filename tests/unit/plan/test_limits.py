# SPDX-License-Identifier: Apache-2.0

import ddt
import numpy as np
import testtools

from serifos.facts.cluster import Cluster
from serifos.plan import acceptance
from serifos.plan.limits import shortfall
from serifos.plan.outcomes import Outcomes
from serifos.plan.problem import Problem
from serifos.plan.state import State
from tests.fakes.settings import Limits
from tests.unit.plan import clusters


@ddt.ddt
class AcceptanceTestCase(testtools.TestCase):

    @ddt.data(
        ((100, 90, 80), True, 'the worse falls by just min_gain'),
        ((100, 90.01, 80), False, 'and by a little less'),
        ((100, 80, 90), True, 'whichever of the two it is'),
        ((100, 80, 90.01), False, 'and by a little less'),
        ((100, 10, 101), False, 'the target becomes worse'))
    @ddt.unpack
    def test_the_worse_of_both_falls_by_min_gain(self, figures, accepted,
                                                 why):
        self.assertEqual(accepted, self._accepts(figures), why)

    @ddt.data(100, 100 * (1 - 1e-12))
    def test_without_min_gain_rounding_is_still_no_gain(self, after):
        self.assertFalse(self._accepts((100, after, 50), min_gain=0.0))

    def test_without_min_gain_any_gain_counts(self):
        self.assertTrue(self._accepts((100, 99.999, 50), min_gain=0.0))

    def _accepts(self, figures, **limits):
        """Whether u may leave the hot a for b with these figures."""
        cluster = Cluster(
            (clusters.pool('a'), clusters.pool('b')),
            (clusters.volume('u', 'a'), clusters.volume('v', 'a')))
        known = clusters.models_of(cluster)
        state = State.of(Problem.of(cluster, known,
                                    Limits(**limits)))
        first, second = np.array([0]), np.array([1])
        return bool(acceptance.accepted(state, Outcomes(
            first, second, *np.array(figures, float)[:, None]))[0])

    @ddt.data((98, 'gain 2 % is below min_gain 10 %'),
              (110, 'the slower of both pools would show 0.11 ms instead of '
                    '0.1'),
              (100, 'a move would gain nothing'))
    @ddt.unpack
    def test_a_shortfall_is_said_in_words(self, after, says):
        self.assertEqual(says, shortfall(100, after, 0.1))
