# SPDX-License-Identifier: Apache-2.0
"""Every chart is an SVG element that names what it shows."""

from collections.abc import Callable
from xml.etree import ElementTree

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.report import charts
from serifos.report import page


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
        for light, _ in page.COLOURS.values():
            self.assertNotIn(light, text)
        self.assertNotIn('#000000', text)


@ddt.ddt
class ScaleTest(testtools.TestCase):

    @ddt.data((11.8, [0, 5, 10]), (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
              (0.03, [0, 0.01, 0.02, 0.03]), (480.0, [0, 100, 200, 300, 400]))
    @ddt.unpack
    def test_ticks_are_plain(self, most, ticks):
        found = charts.Scale(most).ticks()
        self.assertEqual(len(ticks), len(found), found)
        for one, two in zip(ticks, found):
            self.assertAlmostEqual(one, two)

    @given(strategies.lists(strategies.one_of(
        strategies.none(), strategies.floats(0, 1e9)), max_size=5))
    @settings(deadline=None)
    def test_it_holds_its_values(self, values):
        scale = charts.Scale.to(values)
        for value in values:
            if value is not None:
                self.assertTrue(0 <= scale(value) <= 100)
        self.assertTrue(2 <= len(scale.ticks()) <= 12, scale)
        self.assertEqual(0, scale.ticks()[0])

    def test_the_last_tick_has_the_unit(self):
        self.assertIn('>10 ms<', charts.Scale(11.8).axis('ms'))
        self.assertIn('>5<', charts.Scale(11.8).axis('ms'))


class ElementsTest(testtools.TestCase):

    def test_names_cannot_break_out(self):
        evil = '"><script>alert(1)</script>'
        drawn = charts.captioned(charts.escaped(evil), charts.row(
            evil, charts.picture(evil, 20, charts.dot(3, 4, 'red', evil),
                                 charts.text(evil, 1, 2)), evil))
        self.assertNotIn('<script', drawn)
        tree = ElementTree.fromstring(drawn)
        self.assertEqual(evil, tree.find('.//svg').get('aria-label'))
        self.assertEqual(evil, tree.find('.//circle/title').text)

    def test_colours_are_told_by_name_and_are_in_the_sheet(self):
        self.assertIn('fill: var(--red)', charts.dot(1, 1, 'red'))
        for name, (light, dark) in page.COLOURS.items():
            self.assertIn(f'--{name}: {light};', page.SHEET)
            self.assertIn(f'--{name}: {dark};', page.SHEET)

    def test_colours_of_marks_can_be_seen_on_both_grounds(self):
        """Three to one at least, as WCAG 2.1 asks of graphics (1.4.11)."""
        for name in ('ink', 'soft', 'grey', 'blue', 'red', 'green', 'purple',
                     'brown'):
            for dark in False, True:
                ratio = _contrast(page.COLOURS[name][dark],
                                  page.COLOURS['ground'][dark])
                self.assertTrue(ratio >= 3, (name, dark, ratio))


def _contrast(one, two):
    """The contrast ratio of WCAG 2.1."""
    low, high = sorted(map(_luminance, (one, two)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return sum(weight * (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)
        for weight, part in zip((0.2126, 0.7152, 0.0722), parts))
