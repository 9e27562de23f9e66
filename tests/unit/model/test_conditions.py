# SPDX-License-Identifier: Apache-2.0

import testtools

from serifos import errors
from serifos.facts.dataset import Condition
from serifos.model import conditions


def of(*runs):
    return conditions.of([Condition(*run) for run in runs])


class ConditionsTest(testtools.TestCase):

    def test_both_vary(self):
        found = of((1.0, 'none'), (2.0, 'bfq'), (2.0, 'none'))
        self.assertEqual([[1, 1], [2, 0], [2, 1]], found.values.tolist())
        self.assertEqual(('bfq', 'none'), found.schedulers)

    def test_some_keep_their_numbers(self):
        found = of((1.0, 'none'), (2.0, 'bfq'), (2.0, 'none')).some([0, 2])
        self.assertEqual([[1, 1], [2, 1]], found.values.tolist())

    def test_what_is_alike_is_no_number(self):
        self.assertEqual([[1, 0], [2, 0]],
                         of((1.0, 'none'), (2.0, 'none')).values.tolist())
        found = of((1.0, 'none'), (1.0, 'bfq'))
        self.assertEqual([[0, 1], [0, 0]], found.values.tolist())

    def test_none_vary(self):
        for runs in ([], [()], [(1.0, 'none')] * 3,
                     [(1.0,), (2.0,), ()], [(1.0, 'none'), (1.0,)]):
            self.assertIsNone(of(*runs))

    def test_three_schedulers(self):
        exc = self.assertRaises(errors.InputError, of, (1, 'a'), (1, 'b'),
                                (1, 'c'))
        self.assertIn('3 I/O schedulers (a, b, c)', str(exc))
