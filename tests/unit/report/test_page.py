# SPDX-License-Identifier: Apache-2.0
"""A page is whole, safe, and says which package it lacks."""

import html
import importlib
import json
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
                     'count', '<table class="n2">', '<td>12,390'):
            self.assertIn(part, text)
        self.assertNotRegex(text, r'(src|href)="(?!#|[a-z0-9]*-)')
        self.assertNotIn('<script', text)

    def test_columns_are_numbers_where_all_that_is_known_is(self) -> None:
        text = page.render('t', '', [page.Section('a', tables=[table.Table(
            'abcd', [['x', 1, '–', 2], ['y', '3 %', None, 'z']])])])
        self.assertIn('<table class="n2">', text)

    def test_only_its_own_script_runs(self) -> None:
        text = page.render('t', '', [], script='let a = "<b>";')
        self.assertIn('<script>let a = "<b>";</script>', text)
        self.assertIn("script-src 'sha256-", html.unescape(text))
        self.assertIn(page.policy('let a = "<b>";'), html.unescape(text))
        self.assertNotIn('script-src', page.render('t', '', []))

    def test_data_cannot_end_its_element(self) -> None:
        said = {'a': '</script><script>alert(1)</script><!--'}
        text = page.data('x', said)
        self.assertEqual(2, text.count('<'))
        self.assertEqual(said, json.loads(
            text[text.index('{'):text.rindex('<')]))

    def test_a_command_is_told_from_text(self) -> None:
        text = page.render('t', '', [page.Section('a', tables=[table.Table(
            'ab', [[page.Command('rm <x>'), 'rm <x>']])])])
        self.assertIn('<td><code>rm &lt;x&gt;</code>', text)
        self.assertEqual(1, text.count('<code>'))

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
