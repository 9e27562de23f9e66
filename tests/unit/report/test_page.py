# SPDX-License-Identifier: Apache-2.0
"""A page is whole, safe, and says which package it lacks."""

import importlib
import re
import sys

import ddt
import testtools

from serifos import errors
from serifos.report import charts
from serifos.report import page
from serifos.report import table


def _drawn() -> str:
    return charts.points([charts.Series([1, 2, 3], [1, 4, 9], 'o-')],
                         xlabel='count')


@ddt.ddt
class PageTest(testtools.TestCase):

    def test_everything_is_inside_the_page(self) -> None:
        text = page.render('Title', 'Lead', [page.Section(
            'Heading', 'Text', [_drawn()],
            [table.Table(['name', 'µs'], [['a', 12390.4]], 'Caption')])])
        for part in ('Title', 'Lead', 'Heading', 'Text', '<svg', 'Caption',
                     'count', '<td class="number">12,390'):
            self.assertIn(part, text)
        self.assertNotRegex(text, r'(src|href)="(?!#|[a-z0-9]*-)')
        self.assertNotIn('<script', text)

    def test_ids_stay_apart_and_references_hit(self) -> None:
        drawing = _drawn()
        text = page.render('t', '', [page.Section('a', charts=[drawing]),
                                     page.Section('b', charts=[drawing])])
        ids = re.findall(r'\bid="([^"]+)"', text)
        self.assertEqual(len(ids), len(set(ids)))
        used = set(re.findall(r'(?:url\(|href=")#([^")]+)', text))
        self.assertNotEqual(set(), used)
        self.assertEqual(set(), used - set(ids))

    def test_text_is_escaped(self) -> None:
        text = page.render('<b>', '<i>', [page.Section(
            '<u>', '<s>', tables=[table.Table(['<q>'], [['<a>']])])])
        for tag in ('<b>', '<i>', '<u>', '<s>', '<q>', '<a>'):
            self.assertNotIn(tag, text)

    @ddt.data('matplotlib.figure', 'jinja2')
    def test_what_is_missing_is_named(self, module: str) -> None:
        real = importlib.import_module(module)
        self.addCleanup(sys.modules.update, {module: real})
        sys.modules[module] = None
        error = self.assertRaises(errors.ToolError, page.check_tools)
        self.assertIn('pip install serifos[report]', str(error))
