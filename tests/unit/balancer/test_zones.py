# SPDX-License-Identifier: Apache-2.0
"""A balancer of one zone of several."""

import dataclasses

import ddt

from serifos.facts.inventory import Unread
from tests.unit.balancer import cloud

FAR = 'far@ssd#ssd', 'farther@ssd#ssd'


@ddt.ddt
class ZonesTest(cloud.Case):
    """Two zones: a volume of the other one is being migrated."""

    def setUp(self):
        super().setUp()
        self.cinder = self.cloud(
            [*map(cloud.record, 'uv'),
             cloud.record('far', FAR[0], migration_status='migrating')],
            names=(cloud.A, cloud.B, cloud.C, *FAR))
        for pool in FAR:
            self.of(pool, zone='north')

    def of(self, pool, **changes):
        host = pool.partition('#')[0]
        self.cinder.services[host] = dataclasses.replace(
            self.cinder.services[host], **changes)

    def moved(self, *zones):
        self.settings = dataclasses.replace(
            self.settings, zones=frozenset(zones))
        self.balancer.round()
        return self.cinder.asked

    @ddt.data((), ('nova', 'north'), ('north',))
    def test_a_migration_of_its_zones_holds_it(self, zones):
        self.assertEqual([], self.moved(*zones))

    def test_that_of_another_zone_does_not(self):
        self.of(FAR[0], up=False)
        self.assertEqual(1, len(self.moved('nova')))

    def test_it_sees_nothing_else(self):
        self.moved('nova')
        seen = self.balancer.observer.observe().cluster
        self.assertEqual({'u', 'v'}, {each.id for each in seen.volumes})
        self.assertEqual({cloud.A, cloud.B, cloud.C},
                         {each.name for each in seen.pools})

    def test_what_is_of_no_known_zone_it_sees(self):
        found = dataclasses.replace(self.cinder.inventory(), unread=tuple(
            Unread('volume', name, 'its size is a text', pool)
            for name, pool in (('a', None), ('b', cloud.A), ('c', FAR[0])))
            ).within({'nova'})
        self.assertEqual(['a', 'b'], [each.name for each in found.unread])
