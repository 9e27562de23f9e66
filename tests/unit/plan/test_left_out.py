# SPDX-License-Identifier: Apache-2.0
"""Pools that take no part in balancing."""

import testtools

from serifos.facts.cluster import Cluster
from serifos.plan import bfd
from serifos.plan import evacuate
from serifos.plan import relieve
from tests.fakes.settings import Limits
from tests.unit.plan import clusters

OUT = 'is left out of balancing by its serifos_balance'


class LeftOutTest(testtools.TestCase):

    VOLUMES = (clusters.volume('v', 'a', 64), clusters.volume('w', 'a', 64))

    def plan(self, *pools, planner=relieve):
        return clusters.planned(
            planner, Cluster(pools, self.VOLUMES),
            Limits(every_refusal=True))

    def test_no_volume_leaves_one(self):
        for planner in relieve, bfd:
            plan = self.plan(clusters.pool('a', balance=False),
                             clusters.pool('b'), planner=planner)
            self.assertEqual((), plan.moves)
            self.assertEqual({f'a {OUT}'},
                             {each.reason for each in plan.refused})

    def test_no_volume_comes_to_one(self):
        plan = self.plan(clusters.pool('a'),
                         clusters.pool('b', balance=False))
        self.assertEqual((), plan.moves)
        self.assertEqual({f'b {OUT}'},
                         {each.reason for each in plan.refused})
        plan = self.plan(clusters.pool('a'), clusters.pool('b'),
                         clusters.pool('c', balance=False))
        self.assertEqual({'b'}, {move.target for move in plan.moves})

    def test_none_is_filled_or_left_as_it_fills_up(self):
        found = Cluster(
            (clusters.pool('a', free_gib=1, growth_gib_day=5.0,
                           balance=False), clusters.pool('b')), self.VOLUMES)
        self.assertEqual((), clusters.planned(
            relieve, found, Limits(capacity_horizon_s=1e6)).moves)

    def test_a_person_may_still_evacuate_one(self):
        found = Cluster((clusters.pool('a', balance=False),
                         clusters.pool('b')), self.VOLUMES)
        self.assertEqual(2, len(evacuate.plan(
            found, clusters.models_of(found), Limits(), 'a').moves))
