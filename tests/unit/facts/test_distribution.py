# SPDX-License-Identifier: Apache-2.0
"""The distribution of response times in a dataset."""

import bisect
import collections
import json

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos import errors
from serifos.facts import distribution

_TIMES = strategies.lists(strategies.floats(0.01, 1e9), min_size=1,
                          max_size=60)


def of(times):
    return distribution.Distribution.of(
        collections.Counter(map(distribution.interval, times)))


@ddt.ddt
class DistributionTest(testtools.TestCase):

    @settings(max_examples=30, deadline=None)
    @given(_TIMES)
    def test_its_shares_are_those_of_the_times(self, times):
        found = of(times)
        times.sort()
        for end_us, share in zip(found.ends_us, found.shares):
            self.assertAlmostEqual(
                bisect.bisect_right(times, end_us) / len(times), share,
                places=4)
        self.assertEqual(1, found.shares[-1])
        self.assertAlmostEqual(1, sum(found.within))
        self.assertGreater(found.shares[0], 0)

    @settings(max_examples=30, deadline=None)
    @given(_TIMES)
    def test_it_comes_back_from_a_file(self, times):
        found = of(times)
        self.assertEqual(found, distribution.Distribution.from_json(
            json.loads(json.dumps(found.to_json()))))

    def test_four_times_are_a_doubling(self):
        found = of([8, 9, 16, 17])
        self.assertEqual(8, found.to_json()['from_us'])
        self.assertEqual((0.25, 0.5, 0.5, 0.5, 0.75, 1), found.shares)
        self.assertAlmostEqual(2 ** 0.25,
                               found.ends_us[1] / found.ends_us[0])

    def test_one_of_a_million_takes_no_room(self):
        found = distribution.Distribution.of({0: 1, 40: 10 ** 6, 120: 1})
        self.assertEqual((40, (1.0,)), (found.first, found.shares))

    def test_no_request_has_no_distribution(self):
        self.assertIsNone(distribution.Distribution.of({}))
        self.assertIsNone(distribution.Distribution.of({5: 0}))

    @ddt.data([0.5, 0.4, 1.0], [0.5], [0.5, 0.9])
    def test_what_is_not_cumulative_is_refused(self, shares):
        self.assertIn('never fall and end with 1', str(self.assertRaises(
            errors.FormatError, distribution.refuse_wrong, {
                'write_distribution': {'from_us': 8, 'shares': shares}})))

    def test_none_is_none(self):
        self.assertIsNone(distribution.of_seen(
            {'read_distribution': None}, 'read'))
        self.assertIsNone(distribution.of_seen({}, 'write'))
