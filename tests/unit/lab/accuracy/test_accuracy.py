# SPDX-License-Identifier: Apache-2.0
"""Which devices, which tests, and what a score says."""

import dataclasses
import functools

import numpy as np
import testtools

from serifos.design import stopping
from serifos.lab.accuracy import accuracy
from serifos.lab.accuracy import accuracy_page
from serifos.lab.accuracy import runs
from serifos.lab.sim import devices
from serifos.model import fit
from serifos.model import fit_runs
from serifos.model import kinds

SMALL = accuracy.AccuracySettings(
    kinds=('consolidation', 'outstanding'), runs=(20,), tests=1)


def score(kind, expected, design='20'):
    return accuracy.KindScore('X', kind, design, 20, expected)


class DevicesTest(testtools.TestCase):

    def test_named_ones_and_the_first_of_a_seed(self):
        names = [ssd.name for ssd in SMALL.devices]
        self.assertEqual(['SSD1', 'SSD2', 'AGED', 'FAST', 'COLLECTING',
                          'CLIFF', 'CACHED', 'PARALLEL'], names[:8])
        self.assertEqual(32, len(set(names)))
        self.assertEqual(8, sum(name.startswith('nand-') for name in names))
        fewer = dataclasses.replace(SMALL, named=False, drawn=3, flash=0)
        self.assertEqual(SMALL.devices[8:11], fewer.devices)
        other = dataclasses.replace(fewer, seed=1)
        self.assertTrue(set(fewer.devices).isdisjoint(other.devices))

    def test_every_kind_that_there_is(self):
        self.assertEqual(kinds.names(), accuracy.AccuracySettings().kinds)


@functools.cache
def measured():
    return runs.measured(devices.CACHED, SMALL.runs, SMALL.tests, SMALL.seed)


class ScoreTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.device = measured()

    def test_what_is_measured(self):
        self.assertEqual(['20', 'chosen', 'all chosen'],
                         [*self.device.designs])
        every = self.device.designs['all chosen']
        chosen = len(self.device.designs['chosen'])
        self.assertEqual(stopping.MOST, len(every))
        self.assertEqual(every[:chosen], self.device.designs['chosen'])
        self.assertEqual(0, chosen % stopping.BATCH)
        self.assertTrue(stopping.LEAST <= chosen <= stopping.MOST)
        self.assertEqual([10, 10, 16], [
            len(self.device.tests[name])
            for name in ('paper', 'depths', 'wide')])
        self.assertEqual({8.0}, {
            w.iodepth for s in self.device.tests['paper']
            for w in s.workloads})
        self.assertGreater(max(w.iodepth for s in self.device.tests['depths']
                               for w in s.workloads), 32)
        self.assertEqual([*range(1, 17)], [
            s.count for s in self.device.tests['wide']])

    def test_workloads_think_and_none_is_idle(self):
        some, each = (self.device.tests[name] for name in runs.THINKING)
        self.assertTrue(all(w.think_time_us for s in each
                            for w in s.workloads))
        self.assertEqual({False, True}, {
            bool(w.think_time_us) for s in some for w in s.workloads})
        self.assertTrue(all(w.is_active() for s in (*some, *each)
                            for w in s.tenants))

    def test_moved_tenants_bring_what_was_observed_elsewhere(self):
        its = self.device.tests['all think']
        faster = [dataclasses.replace(s, seen=tuple(
            {**saw, 'iops': 2.0 * saw['iops'], 'latency_us': 600.0}
            for saw in s.seen)) for s in its[1:]]
        found = runs.moved(its, faster)
        self.assertEqual([s.seen for s in its[1:]],
                         [s.seen for s in found])
        self.assertEqual(
            [[2.0 * saw['iops'] * 600.0 / 1e6 for saw in s.seen]
             for s in its[1:]],
            [[w.outstanding for w in s.tenants] for s in found])
        self.assertEqual(
            [s.tenants for s in runs.moved(its, its)],
            [tuple(dataclasses.replace(w, think_time_us=0.0)
                   for w in s.tenants) for s in its])

    def test_several_devices_are_tried_with_moved_tenants(self):
        other = dataclasses.replace(self.device, ssd=devices.FAST)
        for several, moved in (([self.device], False),
                               ([self.device, other], True)):
            scores = accuracy.run(
                dataclasses.replace(SMALL, kinds=('outstanding',)),
                lambda title, function, items: map(function, items)
                if title.startswith('Fitting') else several)
            self.assertEqual({moved}, {runs.MOVED in s.tenants
                                       for s in scores})
            row = accuracy_page.tenants(scores).rows[0]
            self.assertIs(moved, row[2 + len(runs.TESTS)] is not None)

    def test_a_score_is_that_of_the_model(self):
        found = accuracy.scored((self.device, 'outstanding', '20'))
        data = fit_runs.runs(self.device.designs['20'])
        predictor = kinds.of('outstanding').fit(data.loads, data.y, {})
        tests = fit_runs.runs(self.device.tests['paper'])
        predicted = np.array([sum(
            value * (1 if term == 'intercept_us' else getattr(load, term))
            for term, value in predictor.items()) for load in tests.loads])
        self.assertAlmostEqual(
            float(np.mean(np.abs(predicted - tests.y) / tests.y)),
            found.errors['paper'])
        self.assertTrue(0 < found.coverage <= 1)
        self.assertTrue(0 < found.errors['p99'] < 1)
        self.assertEqual(set(runs.TESTS), set(found.covered))
        self.assertEqual(set(runs.TESTS), set(found.tenants))
        self.assertIsNone(found.tenants_covered['paper'])
        self.assertEqual(0, found.falls)  # no coefficient is negative

    def test_what_cannot_be_fitted_has_no_score(self):
        few = dataclasses.replace(self.device, designs={
            '20': self.device.designs['20'][:4]})
        found = accuracy.scored((few, 'outstanding', '20'))
        self.assertEqual((4, None, {}), (
            found.runs, found.expected, found.errors))


class CoveredTest(testtools.TestCase):

    def test_each_device_of_kinds_that_tell_tenants_apart(self):
        its = score('tenant', 0.1)
        scores = [score('queueing', 0.1), dataclasses.replace(
            its, errors={'paper': 0.07}, tenants={'paper': 0.09},
            covered={'paper': 0.9}, tenants_covered={'paper': 0.95})]
        row, = accuracy_page.covered(scores, '20').rows
        self.assertEqual(('X', 'tenant', 20, '7.0 %'), row[:4])
        self.assertLessEqual({'9.0 %', '90.0 %', '95.0 %'}, {*row})
        self.assertIsNone(accuracy_page.covered(scores[:1], '20'))


class AutoTest(testtools.TestCase):

    def test_auto_is_the_kind_that_a_build_takes(self):
        scores = [dataclasses.replace(
            score(kind, wrong), by_pattern=(wrong,) * 9)
            for kind, wrong in zip(fit.AUTO, (0.9, 0.1, 0.2))]
        *same, auto = accuracy.with_auto(scores)
        self.assertEqual(scores, same)
        self.assertEqual(('auto', 0.1), (auto.kind, auto.expected))

    def test_it_is_not_told_where_a_kind_of_its_is_not_tried(self):
        scores = [score(kind, 0.1) for kind in fit.AUTO[1:]]
        self.assertEqual(scores, accuracy.with_auto(scores))
