# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from serifos import errors
from serifos.facts import fields


@ddt.ddt
class RefuseOutsideTest(testtools.TestCase):

    @ddt.data(0, 0.4, float('nan'), float('inf'), 1e6, 10 ** 400)
    def test_values_out_of_bounds(self, value):
        self.assertRaises(errors.InputError, fields.refuse_outside,
                          '--runtime', value, 0.5, 86400)

    @ddt.data(0.5, 60, 86400)
    def test_values_within(self, value):
        fields.refuse_outside('--runtime', value, 0.5, 86400)

    @ddt.data(
        (('--runtime', 0.2, 0.5, 86400, 's'),
         'A --runtime of 0.2 s cannot be used; give 0.5 to 86400 s.'),
        (('--seed', -1, 0),
         'A --seed of -1 cannot be used; give 0 or more.'))
    @ddt.unpack
    def test_the_message(self, arguments, text):
        self.assertEqual(text, str(self.assertRaises(
            errors.InputError, fields.refuse_outside, *arguments)))
