# SPDX-License-Identifier: Apache-2.0
"""Few clients and more: the cases s1 and s2 of the paper, by threads."""

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos import errors
from serifos.facts.workload import Workload
from serifos.model.queueing import cases
from serifos.model.queueing import predict as queueing
from tests.unit import samples

# The paper's random reads: 48.32 % need the array up to 30 threads.
PAPER = {
    'stations': {
        'cache': {'random_read': {'us_per_client_kib': 0.4},
                  'random_write': {'us_per_client_kib': 0.5}},
        'media': {'random_read': {'us_per_client': 12.0, 'us': 180.0}}},
    'p1': {'random_read': 0.9991},
    'p1_few': {'random_read': 0.4832},
    'few_clients': {'random_read': 30}}
SHARED = {
    'stations': {
        'cache': {'random_read': {'us': 20.0}},
        'media': {'random_read': {'us': 200.0}}},
    'cached_volumes': {'random_read': 1.5}}
_WORK = {
    'stations': {'cache': {'random_read': {
        'us_per_client': 9.0, 'us_per_client_few': 4.0, 'us': 50.0}}},
    'few_clients': {'random_read': 10}}


def predictor(parameters):
    return queueing.from_parameters('queueing', parameters)


def reads(clients, kib=4):
    return samples.load([Workload(0, kib, clients)])


@strategies.composite
def _two_cases(draw):
    rows = {label: {term: draw(strategies.floats(0, 500))
                    for term in cases.TERMS}
            for label in queueing.CLASSES[:3]}
    rows['random_read']['us'] += 1
    p1 = {label: draw(strategies.floats(0.01, 1)) for label in rows}
    return {
        'stations': {
            'cache': {label: {**row, **{
                term + cases.FEW: value * draw(strategies.floats(0, 1))
                for term, value in row.items()}}
                for label, row in rows.items()},
            'media': rows},
        'p1': p1,
        'p1_few': {label: value * draw(strategies.floats(0, 1))
                   for label, value in p1.items()},
        'few_clients': {label: draw(strategies.floats(1, 60))
                        for label in rows},
        'cached_volumes': {label: draw(strategies.floats(0, 8))
                           for label in rows
                           if draw(strategies.booleans())}}


class FormTest(testtools.TestCase):

    def test_clients_say_which_case_it_is(self):
        ours = predictor(PAPER)
        for clients, p1 in ((30, 0.4832), (30.5, 0.9991), (31, 0.9991)):
            plain = {'stations': PAPER['stations'],
                     'p1': {'random_read': p1}}
            self.assertEqual(predictor(plain).predict(reads(clients)),
                             ours.predict(reads(clients)))
            self.assertAlmostEqual(p1, ours.p1_of(reads(clients)))

    def test_terms_of_few_clients_stand_in_place_of_the_others(self):
        ours = predictor(_WORK)
        self.assertAlmostEqual(4 * 10 + 50, ours.predict(reads(10)))
        self.assertAlmostEqual(9 * 11 + 50, ours.predict(reads(11)))

    def test_a_class_without_cases_has_one(self):
        load = samples.load([Workload(100, 4, 10)])
        self.assertAlmostEqual(0.5 * 10 * 4, predictor(PAPER).predict(load))

    @settings(max_examples=40, deadline=None)
    @given(_two_cases(), strategies.lists(samples.workloads(), min_size=1,
                                          max_size=6), strategies.floats(1, 4))
    def test_more_of_the_same_never_help(self, doc, run, deeper):
        ours = predictor(doc)
        more = [Workload(w.write_pct, w.block_kib, w.iodepth * deeper,
                         w.random_pct) for w in run]
        was, now, twice = (ours.predict(samples.load(its))
                           for its in (run, more, [*run, *run]))
        self.assertGreaterEqual(min(now, twice), was * (1 - 1e-6))

    @settings(max_examples=40, deadline=None)
    @given(_two_cases(), strategies.lists(strategies.lists(
        samples.workloads(), max_size=6), min_size=1, max_size=5))
    def test_numpy_says_what_the_standard_library_says(self, doc, runs):
        ours = predictor(doc)
        loads = [samples.load(run) for run in runs]
        np.testing.assert_allclose(
            ours.many(np.array([load.vector for load in loads])),
            [ours.predict(load) for load in loads], rtol=1e-9, atol=1e-9)

    def test_volumes_share_a_cache_that_holds_one_and_a_half(self):
        runs = [reads(1), *(samples.load([Workload(0, 4, 1)] * n)
                            for n in (2, 3))]
        ours = predictor(SHARED)
        self.assertEqual([0, 0.25, 0.5], [ours.p1_of(run) for run in runs])
        self.assertEqual([20, 70, 120], [ours.predict(run) for run in runs])
        self.assertEqual('200 (p1 1 - 1.5 / volumes)', dict(ours.lines())[
            'media random_read'])

    def test_a_person_reads_both_cases(self):
        lines = dict(predictor(PAPER).lines())
        self.assertEqual('12 t + 180 (p1 0.483)',
                         lines['media random_read, up to 30 clients'])
        self.assertEqual('12 t + 180 (p1 0.999)',
                         lines['media random_read, more than 30 clients'])
        self.assertEqual('0.4 t·s', lines['cache random_read'])
        lines = dict(predictor({
            **_WORK, 'file_set_gib': 160, 'cached_gib': {'random_read': 20},
            'stations': {'cache': {'random_read': {
                'us_cached': 5.0, 'us': 50.0, 'us_few': 9.0}}}}).lines())
        self.assertEqual(
            {'cache random_read, up to 20 GiB, up to 10 clients': '5',
             'cache random_read, up to 20 GiB, more than 10 clients': '5',
             'cache random_read, 160 GiB, up to 10 clients': '9',
             'cache random_read, 160 GiB, more than 10 clients': '50'},
            {name: text for name, text in lines.items()
             if name != 'stations'})


@ddt.ddt
class FileTest(testtools.TestCase):

    @ddt.data(
        ({'few_clients': {}}, 'p1_few of random_read for few clients and no '
         'few_clients'),
        ({'few_clients': {'random_read': -1}},
         'few_clients of random_read of a queueing model is -1'),
        ({'few_clients': [30]}, 'no few_clients'),
        ({'p1_few': {'random_read': 1.5}}, 'from 0 to 1'),
        ({'cached_volumes': {'random_read': -1}},
         'cached_volumes of random_read of a queueing model is -1'),
        ({'p1_few': {'trim': 0.5}}, 'no trim'),
        ({'p1': {'random_read': 0.3}},
         'more work of random_read for up to 30 clients than for more'),
        ({'stations': {'cache': {'random_write': {'us_few': 5.0}}}},
         'times of random_write for few clients and no few_clients'),
        ({'stations': {'cache': {'random_read': {
            'us_few': 5.0, 'us': 4.9}}}}, 'more work of random_read'))
    @ddt.unpack
    def test_a_bad_file_is_refused_by_a_sentence(self, change, words):
        exc = self.assertRaises(errors.FormatError, predictor,
                                {**PAPER, **change})
        self.assertIn(words, str(exc))
        self.assertTrue(str(exc).endswith('.'))
