# SPDX-License-Identifier: Apache-2.0
"""Splits of a tree with linear leaves, against trying every one."""

import numpy as np
import testtools

from serifos.lab.regression import growth

_LEAST = 10


def _drawn(n=60):
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 100, (n, 5))
    x[:, 3], x[:, 4] = x[:, 3].round(-1), 7  # ties, and no information
    y = abs(x[:, 1] - 40) + x[:, 0] + rng.normal(0, 3, n)
    return x, y


def _left(x, y):
    """n times the deviation that a line leaves, and M5's factor."""
    rows = np.column_stack([np.ones(len(y)), x[:, :4]])
    left = y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
    n, p = rows.shape
    return n * left.std() * (n + p) / (n - p)


def _every_split(x, y, left):
    """(what is left, column, value) of each that has runs enough."""
    for column in range(x.shape[1]):
        for value in np.unique(x[:, column])[:-1]:
            side = x[:, column] <= value
            if min(side.sum(), (~side).sum()) >= _LEAST:
                yield (left(x[side], y[side]) + left(x[~side], y[~side]),
                       column, value)


class SplitsTest(testtools.TestCase):

    def assertBest(self, criterion, left):
        x, y = _drawn()
        least, column, value = min(_every_split(x, y, left))
        found = criterion(x, y, _LEAST, 0.0)
        self.assertEqual(column, found.column)
        self.assertEqual(value, x[:, column][
            x[:, column] <= found.at_most].max())
        self.assertAlmostEqual(left(x, y) - least, found.gain, places=2)
        return found

    def test_by_lines_is_the_best_of_every_split(self):
        found = self.assertBest(growth.by_lines, _left)
        self.assertEqual(1, found.column)
        self.assertAlmostEqual(40, found.at_most, delta=5)  # the bend

    def test_by_deviation_is_the_best_of_every_split(self):
        self.assertBest(growth.by_deviation, lambda _, y: len(y) * y.std())

    def test_a_line_has_no_split_by_lines(self):
        x, _ = _drawn()
        y = 3 + x @ [1, 2, 3, 4, 5]
        self.assertIsNone(growth.by_lines(x, y, _LEAST, 0.0))
        self.assertIsNotNone(growth.by_deviation(x, y, _LEAST, 0.0))

    def test_what_cannot_be_split(self):
        x, y = _drawn()
        for criterion in (growth.by_lines, growth.by_deviation):
            for rows, said, enough in (
                    (x[:2 * _LEAST - 1], y[:2 * _LEAST - 1], 0.0),
                    (x * 0 + 7, y, 0.0), (x, y * 0, 0.0), (x, y, 1e9)):
                self.assertIsNone(criterion(rows, said, _LEAST, enough))
