# SPDX-License-Identifier: Apache-2.0

import fixtures
import testtools

from serifos import errors
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model import kinds
from serifos.model.model import Model
from tests.unit.model import fake

_LOAD = Load.of(Workload(30, 16, 8, 100))


class KindsTest(testtools.TestCase):

    def test_a_package_brings_a_kind(self):
        self.useFixture(fake.Kind())
        self.assertIn(fake.KIND, kinds.names())
        self.assertIn(fake.KIND, kinds.every())
        predictor = kinds.predictor(fake.KIND, {'factor': 2.0, 'power': 1.0})
        self.assertEqual(2 * 16.0, predictor.predict(_LOAD))

    def test_a_broken_one_is_told_and_the_others_work(self):
        log = self.useFixture(fixtures.FakeLogger())
        self.useFixture(fake.Broken())
        before = set(kinds.names()) - {'broken'}
        for _ in range(2):
            self.assertEqual(before, set(kinds.every()))
        self.assertEqual(1, len(log.output.splitlines()), log.output)
        self.assertIn('broken of serifos.kinds cannot be loaded', log.output)
        exc = self.assertRaises(
            errors.FormatError, kinds.predictor, 'broken', {})
        self.assertIn('install its package again', str(exc))

    def test_a_model_of_a_kind_that_is_not_installed_is_refused(self):
        exc = self.assertRaises(errors.FormatError, Model.from_json, {
            'name': 'm', 'kind': 'power', 'parameters': {}, 'range': {}})
        self.assertIn('of kind power, which is not installed', str(exc))
        self.assertIn('consolidation', str(exc))
        self.assertIn('fit the model again', str(exc))

    def test_a_model_of_a_kind_that_was_removed_is_to_be_fitted_again(self):
        exc = self.assertRaises(errors.FormatError, Model.from_json, {
            'name': 'm', 'kind': 'hybrid', 'parameters': {}, 'range': {}})
        self.assertEqual(
            'The model is of kind hybrid, which this release no longer has; '
            'fit it again with serifos-model fit.', str(exc))
