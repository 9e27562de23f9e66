# SPDX-License-Identifier: Apache-2.0

import numpy as np
import testtools

from serifos.design import d_optimal
from serifos.facts.workload import Workload
from serifos.model import choice
from serifos.model import fit_runs
from serifos.model.held_out import HeldOut
from tests.unit import samples

_ODD = [Workload(30, 4, 128)] * 2 + [Workload(70, 64, 1)]
_THRICE = fit_runs.runs(samples.dataset(
    [*d_optimal.runs(40), *[_ODD] * 3], samples.cliff).samples)
_ONCE = _THRICE.some(range(41))
_NOISE = np.random.default_rng(3).lognormal(0, 0.1, 41)


def _choose(outstanding, tenant, data=_ONCE):
    """:param outstanding: the factor by which it is wrong, of each run"""
    return choice.choose(data, {
        kind: HeldOut(data.y * np.broadcast_to(wrong, data.y.shape),
                      np.empty(0))
        for kind, wrong in (('outstanding', outstanding),
                            ('tenant', tenant))})


def _but_odd(wrong, *odd):
    """The factors, those of the runs of the odd pattern last."""
    return np.append(np.broadcast_to(wrong, 40), odd or 12.0)


class ChoiceTest(testtools.TestCase):

    def test_one_pattern_that_the_richer_kind_misses_does_not_decide(self):
        found = _choose(1.2, _but_odd(1.1))
        self.assertEqual('tenant', found.kind)
        self.assertLess(found.mre['outstanding'], found.mre['tenant'])
        self.assertIn(
            '; outstanding is better than tenant only because of one '
            'pattern, 30:4:128:100 2x 70:64:1:100 (1 run), which tenant '
            'misses by 1100 %: measure it again.', found.why)
        self.assertEqual(tuple(_ODD), found.decides.workloads)

    def test_a_pattern_is_judged_by_the_median_of_three_runs(self):
        found = _choose(1.2, _but_odd(1.1, 12, 1.1, 1.1), _THRICE)
        self.assertIsNone(found.decides)
        self.assertNotIn('pattern', found.why)

    def test_a_pattern_of_three_runs_needs_no_other_one(self):
        found = _choose(1.2, _but_odd(1.1, 12, 12, 12), _THRICE)
        self.assertIn('(3 runs), which tenant misses by 1100 %.', found.why)

    def test_one_pattern_that_the_simpler_kind_misses_is_named(self):
        found = _choose(_but_odd(1.1), 1.2)
        self.assertEqual('tenant', found.kind)
        self.assertIn('; tenant is better than outstanding only because of '
                      'one pattern, 30:4:128', found.why)

    def test_the_richer_kind_is_kept_in_doubt(self):
        found = _choose(_NOISE, 1 + 1.1 * (_NOISE[::-1] - 1))
        self.assertEqual('tenant', found.kind)
        self.assertLess(found.mre['outstanding'], found.mre['tenant'])
        self.assertIn('; tenant is kept because outstanding is not better '
                      'for sure (two standard errors over 41 p', found.why)

    def test_a_simpler_kind_is_taken_that_is_better_for_sure(self):
        found = _choose(_NOISE, 1.4 * _NOISE)
        self.assertEqual('outstanding', found.kind)
        self.assertRegex(
            found.why, r'^On held-out runs the error of outstanding is \d.\d '
            r'%, of tenant \d\d.\d %; tenant is worse by more than two '
            r'standard errors over 41 patterns.$')

    def test_a_kind_that_is_rich_and_good_needs_no_other_reason(self):
        self.assertEqual(
            'On held-out runs the error of tenant is 10.0 %, of outstanding '
            '20.0 %.', _choose(1.2, 1.1).why)
