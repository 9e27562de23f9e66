# SPDX-License-Identifier: Apache-2.0
"""Whether a model is good enough to plan with."""

import json
import pathlib

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from serifos.design import stopping
from serifos.model.model import Model
from serifos.model import verdict

MODELS = (pathlib.Path(__file__).parents[3]
          / 'etc/serifos/examples/paper/models')


def model(mre=None, runs=None, predicts='latency_us', **more):
    quality = more if mre is None else {'mre': mre, **more}
    return Model('m', 'outstanding', {}, {}, quality, predicts,
                 dataset=runs and {'runs': runs})


@ddt.ddt
class VerdictTest(testtools.TestCase):

    @ddt.data(
        (0.11, 80, 'good enough to plan with: 11 % error, 80 runs'),
        (0.071, None, 'good enough to plan with: 7.1 % error'),
        (0.12, 20, 'good enough to plan with: 12 % error, 20 runs'),
        (0.219, 30,
         'good enough for large differences only: 22 % error, 30 runs'),
        (0.2501, 30, 'not good enough to plan with: 25 % error, 30 runs'),
        (1.5, 1, 'not good enough to plan with: 150 % error, 1 run'),
        (0.05, 19, 'too few runs to know whether it is good enough to plan '
         'with: 5 % error, 19 runs'),
        (None, None, 'not known whether it is good enough to plan with'),
        (float('nan'), 30, 'not known whether it is good enough to plan '
         'with: 30 runs'))
    @ddt.unpack
    def test_headline(self, mre, runs, said):
        self.assertEqual(said, verdict.verdict(model(mre, runs)).headline)

    @ddt.data('many', [80], -5, 0.5, float('inf'), 10 ** 400, True)
    def test_runs_that_are_no_number_are_not_known(self, runs):
        self.assertEqual('good enough to plan with: 5 % error',
                         verdict.verdict(model(0.05, runs)).headline)

    def test_another_figure_is_not_for_planning(self):
        found = verdict.verdict(model(0.05, 80, 'read_iops'))
        self.assertEqual(verdict.Grade.OTHER, found.grade)
        self.assertEqual(('Fit a model that predicts latency_us for '
                          'planning.',), found.advice)

    def test_a_99th_percentile_is_judged_by_a_factor(self):
        found = verdict.verdict(model(0.9, 80, 'write_p99_us', factor=3.14159))
        self.assertEqual(
            'not for planning, which needs latency: within a factor of 3.14 '
            'for 90 % of the runs, 80 runs', found.headline)
        self.assertEqual(
            ('Predictions are within a factor of 3.14 for 90 % of the runs, '
             'which the fit did not see.',), found.reasons)

    def test_the_bounds_are_those_of_builds(self):
        self.assertEqual(stopping.LEAST, verdict.FEW)
        self.assertEqual(stopping.MOST, verdict.MANY)

    def test_good_is_where_the_interval_is_narrower_than_fair(self):
        self.assertAlmostEqual(
            verdict.FAIR, model(verdict.GOOD).relative_interval[1])

    @given(strategies.floats(0, 10), strategies.floats(0, 10),
           strategies.integers(20, 500))
    def test_a_larger_error_is_never_better(self, one, other, runs):
        order = [verdict.Grade.GOOD, verdict.Grade.FAIR, verdict.Grade.POOR]
        grades = [order.index(verdict.verdict(model(mre, runs)).grade)
                  for mre in sorted((one, other))]
        self.assertEqual(sorted(grades), grades)

    def test_more_runs_are_asked_for_only_where_they_may_help(self):
        self.assertIn('serifos-model build',
                      verdict.verdict(model(0.4, 30)).advice[-1])
        self.assertIn('hardly help',
                      verdict.verdict(model(0.4, 80)).advice[-1])

    def test_a_wide_interval_is_told(self):
        said = ' '.join(verdict.verdict(model(
            0.11, 80, interval=[-0.25, 4.81])).reasons)
        self.assertIn('more than 5.8 times its prediction', said)
        self.assertNotIn('times its prediction', ' '.join(
            verdict.verdict(model(0.11, 80, interval=[-0.2, 0.9])).reasons))

    @ddt.data((0.11, 0.1, False), (0.11, 0.2, True), (0.02, 0.1, False))
    @ddt.unpack
    def test_what_tenants_see_is_told_where_it_is_worse(
            self, mre, tenant_mre, told):
        said = ' '.join(verdict.verdict(model(
            mre, 80, tenant_mre=tenant_mre)).reasons)
        self.assertEqual(told, 'one tenant sees' in said)

    def test_the_models_of_the_paper_are_good(self):
        for path in MODELS.glob('*.json'):
            found = verdict.verdict(Model.from_json(
                json.loads(path.read_text())))
            self.assertEqual(verdict.Grade.GOOD, found.grade, path)
