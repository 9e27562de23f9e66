# SPDX-License-Identifier: Apache-2.0
"""Volumes at their caps, in observations by devices and by QEMU."""

import ddt
import testtools

from serifos.facts.caps import Caps
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Type
from serifos.facts import throttling
from serifos.facts.workload import Workload


def volume(name, iops=1000, latency_us=2000, pool='a', **more):
    return Volume(name, pool, 10, workload=Workload(
        25, 16, iops=iops, latency_us=latency_us), **more)


def capped(*volumes, in_qemu=False, cap=None, **known):
    cluster = Cluster((Pool('a'), Pool('b')), volumes)
    known = known or {'v': cap or Caps(1000.0)}
    return {each.id: each for each in throttling.capped(
        cluster, known, in_qemu).volumes}


@ddt.ddt
class WhoseTest(testtools.TestCase):

    @ddt.data(
        ('front-end', 'LVMVolumeDriver:a:vg:thin:0', True),
        ('both', 'LVMVolumeDriver:a:vg:thin:0', True),
        ('back-end', 'LVMVolumeDriver:a:vg:thin:0', False),
        ('back-end', None, True), ('front-end', None, True))
    @ddt.unpack
    def test_who_consumes_a_qos(self, consumer, location, found):
        """A volume group throttles nothing."""
        pool = PoolStats('a', 10, 10, capabilities={
            'location_info': location})
        inventory = Inventory((pool,), (), (), (
            Type('slow', {}, {'total_iops_sec_per_gb': '30'}, consumer),
            Type('fast')))
        self.assertEqual({'v': Caps(300.0)} if found else {},
                         throttling.caps(inventory, [
                             volume('v', volume_type='slow'),
                             volume('w', volume_type='fast'),
                             volume('x'), volume('y', volume_type='gone')]))


@ddt.ddt
class CappedTest(testtools.TestCase):

    @ddt.data((1000, True), (905, True), (890, False), (1090, True))
    @ddt.unpack
    def test_at_its_cap(self, iops, at_cap):
        found = capped(volume('v', iops), volume('w'))
        self.assertEqual([(at_cap, Caps(1000.0)), (False, None)], [
            (each.at_cap, each.caps) for each in found.values()])

    def test_what_exceeds_a_cap_shows_that_it_is_not_in_force(self):
        found = capped(volume('v', 1200))['v']
        self.assertEqual(volume('v', 1200), found)

    def test_a_burst_is_no_demand(self):
        found = capped(volume('v', 4000), cap=Caps(1000.0, bursts=True))
        self.assertEqual((1000, 2000, 2.0, True), (
            found['v'].workload.iops, found['v'].workload.latency_us,
            found['v'].workload.outstanding, found['v'].at_cap))

    def test_what_waits_in_qemu_is_not_on_the_device(self):
        """By the requests of the others on its pool."""
        found = capped(
            volume('v', latency_us=32000), volume('w', 3000, 400),
            volume('x', 1000, 800), volume('y', 10, 9e5, 'b'), in_qemu=True)
        seen = found['v'].workload
        self.assertAlmostEqual(0.5, seen.outstanding)
        self.assertEqual((1000, None, 25, 16), (
            seen.iops, seen.latency_us, seen.write_pct, seen.block_kib))
        self.assertEqual(volume('w', 3000, 400), found['w'])

    def test_alone_on_its_pool_by_all_others(self):
        found = capped(volume('v', latency_us=32000),
                       volume('y', 10, 700, 'b'), in_qemu=True)
        self.assertAlmostEqual(0.7, found['v'].workload.outstanding)

    def test_no_more_than_it_shows_itself(self):
        found = capped(volume('v', latency_us=300), volume('w'),
                       in_qemu=True)
        self.assertAlmostEqual(0.3, found['v'].workload.outstanding)

    def test_where_all_are_throttled_nothing_is_known(self):
        both = {'v': Caps(1000.0), 'w': Caps(1000.0)}
        found = capped(volume('v'), volume('w'), in_qemu=True, **both)
        self.assertEqual([(None, True)] * 2, [
            (each.workload, each.at_cap) for each in found.values()])

    def test_a_latency_of_the_device_stays(self):
        found = capped(volume('v', latency_us=32000), volume('w', 3000, 400))
        self.assertEqual(32000, found['v'].workload.latency_us)

    def test_an_unseen_volume_keeps_its_caps(self):
        unseen = Volume('v', 'a', 10)
        self.assertEqual(Caps(1000.0), capped(unseen)['v'].caps)
