# SPDX-License-Identifier: Apache-2.0
"""Every chart is an SVG element that names what it shows."""

from collections.abc import Callable

import ddt
import numpy as np
import testtools

from serifos.report import charts


def _points() -> str:
    return charts.points(
        [charts.Series([1, 2, 3], [1, 4, 9], 'o-', 'square'),
         charts.Series([1, 2, 3], [1, 8, 27], 'x', 'cube'),
         charts.Series([1, 2], [1, 2], label='count', shade=[1, 2])],
        band=([1, 3], [0, 1], [2, 30]), level=5.0,
        xscale=2.0, yscale='log', xlabel='side')


@ddt.ddt
class ChartsTest(testtools.TestCase):

    @ddt.data(
        (_points, ('square', 'cube', 'count', 'side')),
        (lambda: charts.grid(
            {title: [charts.Series([1, 2], [3, 4])] for title in 'abc'},
            xlabel='across', ylabel='up'), ('a', 'b', 'c', 'across', 'up')),
        (lambda: charts.boxes(
            [charts.Boxes('panel', {'one': [1, 2, 3], 'two': [4, 5]},
                          band=(1, 2))], title='of all'),
         ('panel', 'one', 'two', 'of all')),
        (lambda: charts.bars(['x', 'y'], {'a': [1.25, None], 'b': [3, 4]},
                             xlabel='ms'),
         ('x', 'y', 'a', 'b', '1.2', 'ms')),
        (lambda: charts.pareto(['depth', 'size'], [80, 20], [True, False],
                               xlabel='%'), ('depth', 'size', '%')),
        (lambda: charts.dendrogram(
            np.array([[0, 1, 2.5, 2]]), ['left', 'right'],
            [charts.BLUE, charts.RED]), ('left', 'right', charts.RED)))
    @ddt.unpack
    def test_a_chart_names_what_it_shows(
            self, draw: Callable[[], str], words: tuple[str, ...]) -> None:
        text = draw()
        self.assertTrue(text.startswith('<svg'), text[:80])
        self.assertNotIn('>nan<', text)
        for word in words:
            self.assertRegex(text, f'>{word}<|{word}[;"]')

    def test_the_same_chart_is_the_same_text(self) -> None:
        self.assertEqual(_points(), _points())
