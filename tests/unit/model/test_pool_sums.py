# SPDX-License-Identifier: Apache-2.0

import dataclasses
import json

import ddt

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts import pools
from serifos.facts import refusals
from serifos.facts import times
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.model import pool_sums
from tests.unit import case
from tests.unit.scheduler import files

NOW = 1_800_000_000.0
SSD = files.model('ssd')


def of(names, volumes=(), created_at=None, **models):
    return pool_sums.of(
        Cluster(tuple(names), tuple(volumes), times.text(NOW)),
        models or {'ssd': SSD}, 0.05, created_at or {})


@ddt.ddt
class PoolSumsTest(case.DirectoryCase):

    def test_pools_that_share_a_device_add(self):
        found = of([Pool('a', 'ssd', device='sdb'),
                    Pool('b', 'ssd', device='sdb', state='down'),
                    Pool('c', 'ssd', state='down')],
                   [files.volume('1', 'a', 16), files.volume('2', 'b', 32),
                    files.volume('3', 'c', 64)])
        device, = found.devices
        its = pools.load(device.load)
        self.assertEqual((2, 48), (its.count, its.sum_block_kib))
        self.assertEqual(112, pools.load(found.everyone).sum_block_kib)
        self.assertEqual({'a': 'device:sdb', 'b': 'device:sdb'}, found.home)
        self.assertEqual({'a'}, set(found.pool))

    def test_the_mean_of_the_active_volumes_of_a_type(self):
        active = files.volume('1', 'a', 16, volume_type='gold')
        other = dataclasses.replace(
            active, id='2', workload=Workload(50, 64, 8, iops=2000,
                                              latency_us=1000))
        idle = dataclasses.replace(
            active, id='3', workload=Workload(90, 4, 0.01))
        unseen = files.volume('4', 'a', None, volume_type='gold')
        found = of([Pool('a')], [active, other, idle, unseen])
        means, = found.types
        self.assertEqual(Workload(34, 25.6, 5), means.active)

    @ddt.data((3600, True), (pools.NEW_S + 1, False), (None, False))
    @ddt.unpack
    def test_new_volumes_are_listed(self, age_s, listed):
        found = of([Pool('a')], [files.volume('1', 'a')],
                   {'1': age_s and NOW - age_s})
        self.assertEqual(listed, '1' in found.volume)

    def test_a_volume_that_is_being_migrated_is_listed(self):
        found = of([Pool('a')], [files.volume(
            '1', 'a', movable=refusals.Code.MIGRATING.of(status='x'))])
        self.assertIsNone(found.volume['1'].created_at)

    def test_the_slos_that_are_first_to_be_violated(self):
        volumes = [dataclasses.replace(
            files.volume(f'{i}', 'a', 4 * i), max_latency_us=100.0 * (
                1 + i % 3)) for i in range(1, 20)]
        device, = of([Pool('a', 'ssd')], volumes).devices
        self.assertEqual(pool_sums.MOST_SLOS, len(device.slos))
        self.assertEqual({100.0}, {
            slo.max_latency_us for slo in device.slos[:6]})

    def test_pools_of_a_device_may_name_two_models(self):
        small = files.model('small', range={'block_kib': (1, 32),
                                            'count': (1, 9)})
        found = of([Pool('a', 'ssd', device='sdb'),
                    Pool('b', 'small', device='sdb')],
                   [files.volume('1', 'a', 64)], ssd=SSD, small=small)
        self.assertEqual([0, 1], [
            pools.load(found.place['device:sdb', name].load).outside
            for name in ('ssd', 'small')])
        self.assertEqual(1, pools.load(found.everyone).count)

    def test_without_its_model_a_device_has_no_latency(self):
        device, = of([Pool('a', 'none')], [
            files.volume('1', 'a', max_latency_us=9.0)]).devices
        self.assertIsNone(device.latency_us)
        self.assertEqual('1', device.slos[0].volume)

    def test_a_file_says_the_same(self):
        names = [Pool('a', 'ssd', device='sdb', correction=1.5,
                      copies_gib=3.0), Pool('b', 'none')]
        volumes = [files.volume('1', 'a', 16, volume_type='gold',
                                max_latency_us=500.0, project_id='p',
                                same_pool=('web',)),
                   files.volume('2', 'b', None, different_pool=('web',))]
        found = of(names, volumes, {'1': NOW, '2': NOW})
        path = self.dir / 'pools.json'
        documents.write_pools(path, found)
        again = documents.read_pools(path)
        for field in dataclasses.fields(pools.Pools):
            self.assertEqual(
                *(json.dumps(getattr(one, field.name), default=str)
                  for one in (found, again)), field.name)
