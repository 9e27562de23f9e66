# SPDX-License-Identifier: Apache-2.0
"""The trees of a relation in words."""

import hypothesis
from hypothesis import strategies
import testtools

from serifos.lab.relative import relation


def asks(at_most, then, other, name='outstanding'):
    return {'input': name, 'at_most': at_most, 'then': then, 'else': other}


@strategies.composite
def grown(draw, least=30_000, greatest=40_000, depth=4):
    """A tree whose every question parts what there is, in thousandths."""
    if not depth or greatest - least < 2:
        return 1.0
    at_most = draw(strategies.integers(least + 1, greatest - 1))
    return asks(at_most / 1000, draw(grown(least, at_most, depth - 1)),
                draw(grown(at_most, greatest, depth - 1)))


class RulesTest(testtools.TestCase):

    def test_the_narrowest_conditions_and_their_leaves(self):
        tree = asks(32, asks(8, 1.0, 2.0), asks(50, 3.0, 4.0, 'write_pct'))
        self.assertEqual(
            [('outstanding <= 8', [1.0]),
             ('outstanding <= 32 and outstanding > 8', [2.0]),
             ('outstanding > 32 and write_pct <= 50', [3.0]),
             ('outstanding > 32 and write_pct > 50', [4.0])],
            [*relation.rules(tree)])
        self.assertEqual(
            [('outstanding <= 32', [1.0, 2.0]),
             ('outstanding > 32', [3.0, 4.0])],
            [(where, sorted(leaves))
             for where, leaves in relation.rules(tree, 1)])

    def test_thresholds_are_told_apart(self):
        tree = asks(32.012, 1.0, asks(32.0148, 2.0, 3.0))
        self.assertEqual(
            ['outstanding <= 32.012',
             'outstanding > 32.012 and outstanding <= 32.015',
             'outstanding > 32.015'],
            [where for where, _ in relation.rules(tree)])

    @hypothesis.given(grown())
    def test_no_two_leaves_have_the_same_words(self, tree):
        found = [where for where, _ in relation.rules(tree)]
        self.assertEqual(len([*relation.values(tree)]), len({*found}))
