# SPDX-License-Identifier: Apache-2.0
"""Times as people and programs write them, and back."""

import ddt
import testtools

from serifos.facts import times


@ddt.ddt
class TimesTest(testtools.TestCase):

    @ddt.data((1_800_000_000.6, '2027-01-15T08:00:00Z'),
              (4e11, '9999-12-31T00:00:00Z'),
              (-1e30, '0001-01-01T00:00:00Z'))
    @ddt.unpack
    def test_text(self, at, text):
        self.assertEqual(text, times.text(at))

    def test_milliseconds(self):
        self.assertEqual('2027-01-15T08:00:00.600Z',
                         times.text(1_800_000_000.6, 'milliseconds'))

    @ddt.data('2027-01-15T08:00:00Z', '2027-01-15T08:00:00',
              '2027-01-15T09:00:00.000+01:00', '20270115T080000')
    def test_parse(self, text):
        self.assertEqual(1_800_000_000, times.parse(text))

    @ddt.data('', 'soon', None, 5, '2027-02-30', [])
    def test_what_is_no_time(self, text):
        exc = self.assertRaises(ValueError, times.parse, text)
        self.assertEqual('is not an ISO 8601 time', str(exc))

    def test_a_zone_that_is_needed(self):
        exc = self.assertRaises(ValueError, times.parse,
                                '2027-01-15T08:00:00', zone_needed=True)
        self.assertEqual('is a time without a zone', str(exc))
