# SPDX-License-Identifier: Apache-2.0
"""Volumes that explain the latency of a pool."""

import ddt
import testtools

from serifos.facts.cluster import Volume
from serifos.plan.explain import Part
from serifos.report import explanation


def parts(*shares):
    return [Part(Volume(f'v{number}', 'p', 1), share, share, None, 1000.0,
                 False, None, ()) for number, share in enumerate(shares)]


@ddt.ddt
class CausesTest(testtools.TestCase):

    @ddt.data(
        ((0.6, 0.2, 0.2), ['v0']), ((0.1, 0.9), ['v1']),
        ((0.1, 0.3, 0.4, 0.2), ['v2', 'v1']), ((0.5, 0.5), ['v0']),
        ((0.1, 0.2, 0.2, 0.2, 0.3), ['v4', 'v1']),
        ((0.1,) * 10, []), ((0.16,) * 6, []), ((), []))
    @ddt.unpack
    def test_few_with_half_of_the_load(self, shares, named):
        self.assertEqual(named, [
            part.volume.id for part in explanation.causes(parts(*shares))])
