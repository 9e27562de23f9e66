# SPDX-License-Identifier: Apache-2.0

import ddt
import numpy as np
import testtools

from serifos import errors
from serifos.lab.coverage import coverage

NAMES = ('a', 'b', 'c')


def blob(at, number=12, seed=0, spread=0.1):
    return np.random.default_rng(seed).normal(at, spread, (number, 3))


@ddt.ddt
class CoverageTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.sets = [
            np.vstack([blob((0, 0, 0)), blob((9, 0, 3), seed=1)]),
            np.vstack([blob((0, 0, 0), 5, 2), blob((0, 9, 9), 7, 3)])]

    def test_what_the_benchmark_does_not_come_near(self):
        found = coverage.coverage(self.sets, NAMES, reach=1)
        self.assertEqual([True] * 24 + [True] * 5 + [False] * 7,
                         found.covered.tolist())
        self.assertEqual(3, found.clusters.max() + 1)
        self.assertEqual((1, 5 / 12), (found.share(0), found.share(1)))
        self.assertEqual(2, len(found.tree))

    def test_what_is_in_a_cluster_but_far_is_not_covered(self):
        sets = [np.array([[x, y, 0.] for x in range(5) for y in range(5)]),
                np.array([[1.4, 1.6, 0], [9, 9, 0], [1, 7, 0]])]
        found = coverage.coverage(sets, NAMES, clusters=2)
        self.assertEqual([True, False, False],
                         found.by_distance[25:].tolist())
        self.assertEqual([True, False, False], found.covered[25:].tolist())
        self.assertTrue(found.by_cluster[25:].any())
        self.assertEqual(1, coverage.coverage(
            sets, NAMES, clusters=2, reach=99).by_distance.mean())

    def test_few_runs_have_no_reach(self):
        sets = [np.array([[x, y, 0.] for x in range(4) for y in range(4)]),
                np.array([[1.4, 1.6, 0], [9, 9, 0], [1, 7, 0]])]
        for few in (sets, [np.vstack([sets[0]] * 9), sets[1]]):
            found = coverage.coverage(few, NAMES, clusters=2)
            self.assertEqual((16, None), (found.different, found.reach))
            self.assertEqual(found.by_cluster.tolist(),
                             found.covered.tolist())
            self.assertEqual((False, True), (found.is_unsure(0),
                                             found.is_unsure(1)))
        self.assertFalse(coverage.coverage(
            sets, NAMES, clusters=2, reach=1).is_unsure(1))

    def test_repeats_do_not_shorten_the_reach(self):
        sets = [np.array([[x, y, 0.] for x in range(5) for y in range(5)]),
                np.array([[1.4, 1.6, 0]])]
        twice = [np.vstack([sets[0], sets[0]]), sets[1]]
        self.assertAlmostEqual(
            *(coverage.coverage(s, NAMES, clusters=2).reach
              for s in (sets, twice)), delta=0.05)

    def test_the_nearest_is_one_of_the_benchmark(self):
        found = coverage.coverage(self.sets, NAMES)
        self.assertEqual({0}, set(found.owners[found.nearest]))
        self.assertEqual([*range(24)], found.nearest[:24].tolist())
        self.assertEqual([0] * 24, found.distances[:24].tolist())
        self.assertTrue((found.distances[29:] > 1).all())

    def test_the_same_again_gives_the_same(self):
        one, two = (coverage.coverage(self.sets, NAMES, seed=4)
                    for _ in range(2))
        self.assertEqual(one.clusters.tolist(), two.clusters.tolist())
        self.assertEqual(one.components.tolist(), two.components.tolist())

    def test_units_play_no_role(self):
        scaled = [s * (1000, 1, 1e-3) + (5, 0, 0) for s in self.sets]
        self.assertEqual(
            coverage.coverage(self.sets, NAMES).covered.tolist(),
            coverage.coverage(scaled, NAMES).covered.tolist())

    def test_as_many_clusters_as_asked(self):
        found = coverage.coverage(self.sets, NAMES, clusters=5)
        self.assertEqual({*range(5)}, set(found.clusters))

    def test_what_does_not_vary_is_left_out(self):
        sets = [s * (1, 0, 1) for s in self.sets]
        found = coverage.coverage(sets, NAMES)
        self.assertEqual(('a', 'c'), found.names)
        self.assertTrue(np.isfinite(found.components).all())

    def test_components_are_independent_and_of_one_scale(self):
        rng = np.random.default_rng(1)
        sources = rng.uniform(-1, 1, (800, 2))
        mixed = sources @ np.array([[2.0, 1.0], [1.0, 3.0]])
        found = coverage.independent(mixed)
        self.assertTrue(np.allclose(found.std(axis=0), 1))
        match = np.abs(np.corrcoef(found.T, sources.T)[:2, 2:])
        self.assertTrue((match.max(axis=0) > 0.98).all(), match)

    @ddt.data((blob((0, 0, 0), 2), None, 'too few to cluster'),
              (np.ones((9, 3)), None, 'there are no clusters'),
              (blob((0, 0, 0), 9), 1, 'give 2 to 18'),
              (blob((0, 0, 0), 9), 19, 'give 2 to 18'))
    @ddt.unpack
    def test_too_little_to_tell_apart(self, rows, clusters, words):
        other = rows if clusters is None else rows + 1
        exc = self.assertRaises(
            errors.InputError, coverage.coverage, [rows, other], NAMES,
            clusters)
        self.assertIn(words, str(exc))

    def test_runs_that_are_all_the_same_but_one(self):
        rows = np.zeros((8, 3))
        found = coverage.coverage([rows, rows + 1], NAMES)
        self.assertEqual([True] * 8 + [False] * 8, found.covered.tolist())
