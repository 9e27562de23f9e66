# SPDX-License-Identifier: Apache-2.0
"""File sets and I/O schedulers as inputs, where a dataset varies them."""

import dataclasses
import functools
import json

import ddt
import numpy as np
import testtools

from serifos import errors
from serifos.facts.dataset import Condition
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.lab.compare import compare
from serifos.lab.regression import inputs
from serifos.model import fit
from serifos.model import fit_runs
from serifos.model import held_out
from serifos.model import kinds
from tests.unit import case
from tests.unit import samples

SETTINGS = {'lrm': {}, 'mars': {}, 'cart': {'minsplit': 2, 'cp': 0},
            'm5': {'smoothing': 0, 'linear_splits': 0},
            'cubist': {'smoothing': 0, 'linear_splits': 0, 'ninstances': 3}}
"""Of each kind; quick ones."""


def latency(run, condition):
    """µs: 10 a KiB, 100 a GiB of file set, 1,500 by the second scheduler."""
    return (100 + 10 * run[0].block_kib + 100 * condition.file_set_gib
            + 1500 * (condition.scheduler == 'none'))


def sample(run, condition):
    value = latency(run, condition)
    return Sample(run, value, value, condition=condition,
                  seen=({'latency_us': value},))


def dataset(sizes=(1.0, 2.0, 8.0), schedulers=('mq-deadline', 'none')):
    """108 runs: 6 sizes of blocks, 3 shares of writes, all conditions."""
    runs = [(Workload(w, s),) for w in (0, 50, 100)
            for s in (4, 8, 16, 32, 64, 128)]
    found = [sample(run, Condition(size, name)) for run in runs
             for size in sizes for name in schedulers]
    order = np.random.default_rng(0).permutation(len(found))
    return Dataset(samples.HEADER, tuple(found[i] for i in order))


@functools.cache
def data():
    return fit_runs.runs(dataset().samples)


@functools.cache
def parameters(kind):
    return held_out.parameters(kind, data(), SETTINGS[kind])


def model(kind):
    return fit.fit(dataset(), kind, settings=SETTINGS[kind])


@ddt.ddt
class InputsTest(testtools.TestCase):

    @ddt.data(*SETTINGS)
    def test_they_are_told_apart(self, kind):
        every = np.arange(len(data().y))
        knows = held_out.refit(kind, data(), SETTINGS[kind])(every, every)
        blind = held_out.refit(kind, dataclasses.replace(
            data(), conditions=None), SETTINGS[kind])(every, every)
        error = [np.mean(abs(found / data().y - 1))
                 for found in (knows, blind)]
        self.assertLess(error[0], 0.06)
        self.assertGreater(error[1], 0.4)

    @ddt.data(*SETTINGS)
    def test_a_model_predicts_for_the_one_that_it_names(self, kind):
        load = Load.of(Workload(50, 32))
        self.assertEqual({'file_set_gib': 8.0, 'scheduler': 0.0},
                         parameters(kind)['at'])
        for at, expected in (((8.0, 0.0), 1220), ((8.0, 1.0), 2720),
                             ((1.0, 1.0), 2020)):
            its = kinds.predictor(kind, {**parameters(kind), 'at': dict(
                zip(inputs.INPUTS[-2:], at))})
            self.assertAlmostEqual(1, its.predict(load) / expected, delta=0.1)
            self.assertAlmostEqual(
                its.predict(load), its.many(np.array([load.vector]))[0], 9)
            self.assertEqual(0, its.predict(Load()))

    @ddt.data(*SETTINGS)
    def test_it_says_so_to_people(self, kind):
        lines = kinds.predictor(kind, parameters(kind)).lines()
        self.assertEqual(
            ('predicts for', 'file_set_gib 8, scheduler 0 (0 is mq-deadline, '
             '1 is none)'), lines[0])
        self.assertIn('scheduler', ' '.join(map(str, lines[1:])))

    @ddt.data(*SETTINGS)
    def test_what_does_not_vary_changes_nothing(self, kind):
        same = dataset((2.0,), ('none',))
        without = Dataset(same.header, tuple(
            dataclasses.replace(s, condition=Condition())
            for s in same.samples))
        found = [held_out.parameters(kind, fit_runs.runs(one.samples),
                                     SETTINGS[kind])
                 for one in (same, without)]
        self.assertEqual(found[0], found[1])
        self.assertNotIn('at', found[0])

    def test_a_kind_of_loads_alone_does_not_notice(self):
        self.assertEqual(
            held_out.parameters('outstanding', data(), {}),
            held_out.parameters('outstanding', dataclasses.replace(
                data(), conditions=None), {}))

    @ddt.data({'file_set_gib': 1.0}, [1.0, 0.0], 'none',
              {'file_set_gib': -1.0, 'scheduler': 0.0},
              {'file_set_gib': 1.0, 'scheduler': 'none'})
    def test_a_condition_that_is_none(self, at):
        for kind in SETTINGS:
            exc = self.assertRaises(
                errors.FormatError, kinds.predictor, kind,
                {**parameters(kind), 'at': at})
            self.assertIn('fit it again', str(exc))

    @ddt.data(*SETTINGS)
    def test_without_one_no_model_reads_them(self, kind):
        less = {name: value for name, value in parameters(kind).items()
                if name != 'at'}
        self.assertRaises(errors.FormatError, kinds.predictor, kind, less)


class ModelTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.model = model('m5')

    def test_its_error_is_of_runs_under_their_own_conditions(self):
        self.assertLess(self.model.quality['mre'], 0.1)
        self.assertLess(self.model.quality['mre_of_fit'], 0.06)
        self.assertLess(self.model.quality['tenant_mre'], 0.1)

    def test_it_is_the_same_from_its_file(self):
        path = self.dir / 'x.json'
        path.write_text(json.dumps(self.model.to_json()))
        load = Load.of(Workload(50, 32))
        self.assertEqual(self.model.predict(load),
                         documents.read_model(path).predict(load))

    def test_it_is_checked_on_runs_of_one_condition(self):
        for its in (dataset((1.0,), ('none',)), dataset((2.0,), ('none',)),
                    dataset((8.0,), ('mq-deadline',)), dataset()):
            found = fit.check(self.model, its)
            self.assertLess(found.mre, 0.1)
            self.assertAlmostEqual(found.mre, found.tenant_mre)

    def test_a_scheduler_that_it_does_not_know(self):
        exc = self.assertRaises(errors.InputError, fit.check, self.model,
                                dataset((1.0,), ('bfq',)))
        self.assertIn('by the I/O scheduler bfq', str(exc))


class CompareTest(testtools.TestCase):

    def test_kinds_are_held_to_runs_under_their_own_conditions(self):
        divided = compare.parts(data())
        for kind in ('lrm', 'cart'):
            found = compare.judge(kind, 'latency_us', data(), divided,
                                  SETTINGS[kind])
            self.assertLess(found.mre[compare.INSIDE], 0.1, kind)

    def test_other_runs_have_conditions_of_their_own(self):
        others = fit_runs.runs(dataset((4.0,), ('none',)).samples)
        every, divided = compare.with_others(
            data(), compare.parts(data()), others)
        found = compare.judge('lrm', 'latency_us', every, divided)
        self.assertLess(found.mre[compare.OTHERS], 0.01)
