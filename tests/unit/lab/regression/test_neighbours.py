# SPDX-License-Identifier: Apache-2.0

import importlib.util

import ddt
import numpy as np
import testtools

from serifos.lab.regression import cubist
from serifos.lab.regression import neighbours
from tests.unit.papers import golden

_SETS = golden.NEIGHBOURS['sets']

_WITH_CUBIST = testtools.skipIf(
    importlib.util.find_spec('cubist') is None
    or importlib.util.find_spec('sklearn') is None,
    'pip install cubist scikit-learn')


def _array(case, *names):
    return [np.array(case[name]) for name in names]


def _about(case, k):
    x, y, alone = _array(case, 'x', 'y', 'alone')
    return cubist.neighbours(x, y, y - alone, k)


def _differences(case, row):
    """The differences of corrections, as shares of the range."""
    its = neighbours.Neighbours.of({**_about(case, row['nearest']),
                                    'furthest': row['furthest']})
    fresh, before = _array(case, 'fresh', 'fresh_alone')
    found = its.all_corrected(fresh, before)
    single = [its.corrected(*one) for one in zip(fresh, before)]
    return np.maximum(abs(found - row['says']),
                      abs(single - found)) / np.ptp(case['y'])


@ddt.ddt
class OracleTest(testtools.TestCase):
    """Predictions of Cubist: see ``papers/neighbour_cases.py``."""

    def assert_alike(self, case):
        """Where more than 20 runs are equally far, Cubist drops some."""
        for row in case['says']:
            apart = _differences(case, row)
            self.assertLess(np.quantile(apart, 0.94), 1e-6)
            self.assertLess(apart.max(), 2e-3)

    @ddt.data(*_SETS)
    def test_neighbours_correct_as_cubists_do(self, name):
        self.assert_alike(_SETS[name])

    @ddt.data(*_SETS)
    def test_they_are_as_far_as_cubists_may_be(self, name):
        case = _SETS[name]
        found = _about(case, 1)['furthest']
        for row in case['says']:  # a tenth apart, as Cubist's own are
            self.assertAlmostEqual(row['furthest'], found, delta=0.11)

    @_WITH_CUBIST
    def test_cubist_still_says_so(self):
        from tests.unit.papers import neighbour_cases
        for case in neighbour_cases.cases()['sets'].values():
            self.assert_alike(case)


@ddt.ddt
class NeighboursTest(testtools.TestCase):

    @ddt.data((1, 12.0), (2, 12.0), (3, 10.0))
    @ddt.unpack
    def test_fewer_than_half_of_the_nearest_correct_nothing(self, k, says):
        its = neighbours.Neighbours(k, 0.5, (1.0,), (0.0, 99.0), (
            (0.0, 2.0), (0.6, 4.0), (0.9, 6.0)))
        self.assertEqual(says, its.corrected((0.0,), 10.0))
        self.assertEqual([says], its.all_corrected(
            np.zeros((1, 1)), np.array([10.0])).tolist())

    def test_no_two_runs_are_no_distance_apart(self):
        one = np.ones((1, 5))
        self.assertEqual(0.0, cubist.neighbours(
            one, one[0, :1], one[0, :1], 3)['furthest'])
