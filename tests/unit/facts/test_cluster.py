# SPDX-License-Identifier: Apache-2.0

import testtools

from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.workload import Workload

_DOC = {
    'schema': 'serifos-cluster/1', 'observed_at': '2026-11-20T12:00:00Z',
    'pools': [{'name': 'a@ssd#ssd', 'model': 'm', 'total_gib': 100,
               'free_gib': 40},
              {'name': 'b@ssd#ssd', 'free_gib': 10, 'device': 'sdb',
               'of_the_future': 1}],
    'volumes': [{'id': 'v', 'pool': 'a@ssd#ssd', 'size_gib': 60,
                 'volume_type': None, 'movable': 'has snapshots',
                 'workload': {'write_pct': 30, 'block_kib': 16,
                              'iops': None, 'iodepth': None}}]}


class ClusterTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.cluster = Cluster.from_json(_DOC)
        self.volume = self.cluster.volume('v')

    def test_a_volume_that_is_named_twice_is_told_at_once(self):
        # 3.6 s for 20,000 volumes where every one was counted by itself.
        volumes = [{'id': f'{n}', 'pool': 'a', 'size_gib': 1}
                   for n in range(20000)]
        exc = self.assertRaises(
            errors.InputError, Cluster.from_json,
            {'pools': [], 'volumes': [*volumes, volumes[-1]]})
        self.assertIn('volume 19999 twice', str(exc))

    def test_missing_and_null_keys_mean_their_defaults(self):
        self.assertEqual(Workload(30, 16), self.volume.workload)
        self.assertIsNone(self.volume.volume_type)
        self.assertEqual('has snapshots', self.volume.movable)
        self.assertEqual('up', self.cluster.pool('a@ssd#ssd').state)

    def test_what_older_releases_wrote_is_left_unread(self):
        older = {'name_id': 'n', 'metadata': {'k': 'v'},
                 'busiest': {'write_pct': 30, 'block_kib': 16}}
        volume, = _DOC['volumes']
        self.assertEqual(self.cluster, Cluster.from_json(
            {**_DOC, 'volumes': [{**volume, **older}]}))

    def test_it_survives_the_way_through_json(self):
        self.assertEqual(
            self.cluster, Cluster.from_json(self.cluster.to_json()))

    def test_moving_a_volume_leaves_the_old_cluster_as_it_was(self):
        moved = self.cluster.without(self.volume).place(
            self.volume, 'b@ssd#ssd')
        self.assertEqual('b@ssd#ssd', moved.volume('v').pool)
        self.assertEqual([100, -50], [p.free_gib for p in moved.pools])
        self.assertEqual([40, 10], [p.free_gib for p in self.cluster.pools])

    def test_pools_share_a_device_only_where_they_say_so(self):
        self.assertEqual(['a@ssd#ssd', 'device:sdb'],
                         [p.device_key for p in self.cluster.pools])

    def test_a_name_may_stand_once(self):
        doc = {**_DOC, 'pools': _DOC['pools'] + _DOC['pools'][:1]}
        exc = self.assertRaises(
            errors.InputError, Cluster.from_json, doc)
        self.assertIn('lists pool a@ssd#ssd twice', str(exc))
