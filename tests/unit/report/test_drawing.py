# SPDX-License-Identifier: Apache-2.0
"""Drawings say what they show, and keep what they hold inside."""

from xml.etree import ElementTree

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.report import drawing
from serifos.report import style


@ddt.ddt
class ScaleTest(testtools.TestCase):

    @ddt.data((11.8, [0, 5, 10]), (1.0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
              (0.03, [0, 0.01, 0.02, 0.03]), (480.0, [0, 100, 200, 300, 400]))
    @ddt.unpack
    def test_ticks_are_plain(self, most, ticks):
        found = drawing.Scale(most).ticks()
        self.assertEqual(len(ticks), len(found), found)
        for one, two in zip(ticks, found):
            self.assertAlmostEqual(one, two)

    @given(strategies.lists(strategies.one_of(
        strategies.none(), strategies.floats(0, 1e9)), max_size=5))
    @settings(deadline=None)
    def test_it_holds_its_values(self, values):
        scale = drawing.Scale.to(values)
        for value in values:
            if value is not None:
                self.assertTrue(0 <= scale(value) <= 100)
        self.assertTrue(2 <= len(scale.ticks()) <= 12, scale)
        self.assertEqual(0, scale.ticks()[0])

    def test_the_last_tick_has_the_unit(self):
        self.assertIn('>10 ms<', drawing.Scale(11.8).axis('ms'))
        self.assertIn('>5<', drawing.Scale(11.8).axis('ms'))


class ElementsTest(testtools.TestCase):

    def test_names_cannot_break_out(self):
        evil = '"><script>alert(1)</script>'
        drawn = drawing.figure(drawing.escaped(evil), drawing.row(
            evil, drawing.picture(evil, 20, drawing.dot(3, 4, 'red', evil),
                                  drawing.text(evil, 1, 2)), evil))
        self.assertNotIn('<script', drawn)
        tree = ElementTree.fromstring(drawn)
        self.assertEqual(evil, tree.find('.//svg').get('aria-label'))
        self.assertEqual(evil, tree.find('.//circle/title').text)

    def test_colours_are_told_by_name_and_are_in_the_sheet(self):
        self.assertIn('fill: var(--red)', drawing.dot(1, 1, 'red'))
        for name, (light, dark) in style.COLOURS.items():
            self.assertIn(f'--{name}: {light};', style.SHEET)
            self.assertIn(f'--{name}: {dark};', style.SHEET)

    def test_colours_of_marks_can_be_seen_on_both_grounds(self):
        """Three to one at least, as WCAG 2.1 asks of graphics (1.4.11)."""
        for name in ('ink', 'soft', 'grey', 'blue', 'red', 'green', 'purple',
                     'brown'):
            for dark in False, True:
                ratio = _contrast(style.COLOURS[name][dark],
                                  style.COLOURS['ground'][dark])
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
