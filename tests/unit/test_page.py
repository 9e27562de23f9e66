# SPDX-License-Identifier: Apache-2.0
"""A page is whole, safe, the same each time, and says what it lacks."""

from collections.abc import Callable
import importlib
import re
import sys

import ddt
import testtools

from serifos import errors
from serifos import page


def _drawn() -> str:
    drawing = page.figure(3, 2)
    axes = drawing.subplots()
    axes.plot([1, 2, 3], [1, 4, 9], 'o-')
    axes.set_xlabel('count')
    return page.svg(drawing)


@ddt.ddt
class PageTest(testtools.TestCase):

    def test_everything_is_inside_the_page(self) -> None:
        text = page.render('Title', 'Lead', [page.Section(
            'Heading', 'Text', [_drawn()],
            [page.Table(['name', 'µs'], [['a', 12390.4]], 'Caption')])])
        for part in ('Title', 'Lead', 'Heading', 'Text', '<svg', 'Caption',
                     'count', '12,390'):
            self.assertIn(part, text)
        self.assertNotRegex(text, r'(src|href)="(?!#|[a-z0-9]*-)')
        self.assertNotIn('<script', text)

    def test_ids_stay_apart_and_references_hit(self) -> None:
        drawing = _drawn()
        text = page.render('t', '', [page.Section('a', figures=[drawing]),
                                     page.Section('b', figures=[drawing])])
        ids = re.findall(r'\bid="([^"]+)"', text)
        self.assertEqual(len(ids), len(set(ids)))
        used = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
        self.assertNotEqual(set(), used)
        self.assertEqual(set(), used - set(ids))

    def test_the_same_figure_is_the_same_text(self) -> None:
        self.assertEqual(_drawn(), _drawn())

    def test_text_is_escaped(self) -> None:
        text = page.render('<b>', '<i>', [page.Section(
            '<u>', '<s>', tables=[page.Table(['<q>'], [['<a>']])])])
        for tag in ('<b>', '<i>', '<u>', '<s>', '<q>', '<a>'):
            self.assertNotIn(tag, text)

    @ddt.data((None, '–'), (12390.4, '12,390'), (5.951, '5.95'),
              (0.0821, '0.0821'), (16000, '16,000'), (-250.6, '-251'),
              ('relieve', 'relieve'), (True, 'True'))
    @ddt.unpack
    def test_cells(self, value: object, text: str) -> None:
        self.assertEqual(text, page.shown(value))

    @ddt.data((5, True), (0.2, True), (None, True), ('-12 %', True),
              ('+3.4 %', True), ('5.95 ms', True), ('1e-05', True),
              ('SSD1', False), ('5 moves left', False), ('', False))
    @ddt.unpack
    def test_numbers_are_set_right(self, value: object, right: bool) -> None:
        text = page.render('t', '', [page.Section('s', tables=[
            page.Table(['name', 'it'], [['a', value]])])])
        self.assertEqual(right, '<td class="number">' in text)

    @ddt.data(('matplotlib.figure', page.figure),
              ('jinja2', lambda: page.render('t', '', [])))
    @ddt.unpack
    def test_what_is_missing_is_named(
            self, module: str, make: Callable[[], object]) -> None:
        real = importlib.import_module(module)
        self.addCleanup(sys.modules.update, {module: real})
        sys.modules[module] = None
        error = self.assertRaises(errors.ToolError, make)
        self.assertIn('pip install serifos[report]', str(error))
