# SPDX-License-Identifier: Apache-2.0
"""A balancer of one zone of several."""

import dataclasses

import ddt

from serifos.facts.inventory import Unread
from serifos.files import documents
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


class EveryZoneTest(cloud.Case):
    """A balancer for each zone, and one that only observes all of them.

    Its files are those that cinder-scheduler reads.
    """

    def setUp(self):
        super().setUp()
        self.cinder = self.cloud(
            [*map(cloud.record, 'uv'), *(
                cloud.record(name, FAR[0]) for name in ('far', 'farther'))],
            {'u': cloud.busy(64), 'v': cloud.busy(32),
             'far': cloud.busy(64), 'farther': cloud.busy(32)},
            names=(cloud.A, cloud.B, cloud.C, *FAR))
        for pool in FAR:
            host = pool.partition('#')[0]
            self.cinder.services[host] = dataclasses.replace(
                self.cinder.services[host], zone='north')
        self.usual = self.settings

    def balancer_in(self, directory, *zones, auto=True):
        """One with a state directory of its own."""
        state_dir = self.dir / directory
        state_dir.mkdir(exist_ok=True)
        self.settings = dataclasses.replace(
            self.usual, state_dir=state_dir, zones=frozenset(zones),
            auto=auto)
        return self.made()

    def ranked_by(self):
        """Pool → GiB of volumes there, as the scheduler is told."""
        found = documents.read_pools(self.dir / 'all' / 'pools.json')
        return {name: pool.gib for name, pool in found.pool.items()}

    def test_zones_are_balanced_and_all_are_observed(self):
        zones = {'nova': {cloud.A, cloud.B, cloud.C}, 'north': {*FAR}}
        before = self.homes()
        for _ in range(4):
            self.now += 300
            for zone in zones:
                asked = len(self.cinder.asked)
                self.balancer_in(zone, zone).round()
                self.assertLessEqual(
                    {pool for _, pool in self.cinder.asked[asked:]},
                    zones[zone])
            asked = len(self.cinder.asked)
            self.assertIsNotNone(
                self.balancer_in('all', auto=False).round())
            self.assertEqual(asked, len(self.cinder.asked))
            self.assertNotIn('request', self.kinds())
        after = self.homes()
        moved = {before[name] for name in before if after[name] != before[
            name]}
        self.assertEqual({cloud.A, FAR[0]}, moved)
        self.assertEqual({pool: float(list(after.values()).count(pool))
                          for pool in (*zones['nova'], *FAR)},
                         self.ranked_by())

    def test_it_observes_while_zones_move_volumes(self):
        self.cinder.migrate('far', FAR[1])
        self.balancer_in('all', auto=False).round()
        self.assertEqual({cloud.A, cloud.B, cloud.C, *FAR},
                         set(self.ranked_by()))
        self.balancer_in('nova', 'nova').round()
        self.assertIn(self.cinder.asked[-1][0], 'uv')
