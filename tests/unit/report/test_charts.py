# SPDX-License-Identifier: Apache-2.0
"""Every chart is an SVG element that names what it shows."""

from collections.abc import Callable

import ddt
import numpy as np
import testtools

from serifos.report import charts
from serifos.report import style


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
            [charts.BLUE, charts.RED]),
         ('left', 'right', r'var\(--red\)')))
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

    def test_it_is_an_image_with_a_label(self) -> None:
        self.assertRegex(
            _points(), '^<svg [^>]*role="img" aria-label="side, count"')

    def test_a_mark_has_its_values(self) -> None:
        text = _points()
        for title in 'square: 2, 4', 'cube: 3, 27', '1, 1; count 1':
            self.assertIn(f'<title>{title}</title>', text)
        self.assertIn('<title>x: a 1.25</title>', charts.bars(
            ['x', 'y'], {'a': [1.25, None]}))

    def test_few_values_are_dots_and_no_box(self) -> None:
        for number, dots in (charts.FEW - 1, charts.FEW - 1), (charts.FEW, 0):
            text = charts.boxes([charts.Boxes(
                '', {'one': [*range(1, number + 1)]})])
            self.assertEqual(dots, text.count('<title>'))
            self.assertEqual(dots == 0, 'var(--blue); stroke: var(--ink)'
                             in text)

    def test_logarithmic_ticks_are_plain(self) -> None:
        text = charts.points([charts.Series([1, 2], [0.4, 30])],
                             yscale='log')
        for tick in '0.5', '1', '20':
            self.assertIn(f'>{tick}</text>', text)
        self.assertIn('>1,000</text>', charts.points(
            [charts.Series([1, 2], [0.4, 3000])], yscale='log'))

    def test_colours_are_those_of_the_page(self) -> None:
        text = _points()
        self.assertIn('var(--', text)
        for light, _ in style.COLOURS.values():
            self.assertNotIn(light, text)
        self.assertNotIn('#000000', text)
