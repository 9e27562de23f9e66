# SPDX-License-Identifier: Apache-2.0
"""What stands in the way, told from facts."""

from __future__ import annotations

import dataclasses

import ddt
import testtools

from serifos.balancer import findings
from serifos.facts import activity
from serifos.facts.cluster import Cluster
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Service
from serifos.facts import times
from tests.unit.balancer import cloud

NOW = cloud.NOW
GOOD = cloud.MODEL
A, B = 'stor1@ssd#ssd', 'stor2@ssd#ssd'


def pool(name=A, **others):
    return PoolStats(name, 400.0, 100.0, **others)


def listed(*pools, services=()):
    return Inventory(tuple(pools), tuple(services), ())


def service(seconds_ago=1.0, **others):
    return Service('cinder-volume', 'stor1@ssd',
                   updated_at=NOW - seconds_ago, **others)


def texts(found):
    return [finding.text for finding in found]


@ddt.ddt
class FindingsTest(testtools.TestCase):

    def assert_one(self, level, text, found):
        (only,) = found
        self.assertEqual(level, only.level, only.text)
        self.assertIn(text, only.text)

    def models(self, inventory, usable=None, broken=None, known=('good',)):
        used = findings.models_of(inventory, known)
        return list(findings.models(
            inventory, used, {'good': GOOD} if usable is None else usable,
            broken or {}))

    def test_all_is_well(self):
        inventory = listed(pool(model='good', device='d1'),
                           pool(B, model='good', device='d2'),
                           services=[service()])
        used = findings.models_of(inventory, ())
        seen = Cluster((), (), times.text(NOW - 60))
        self.assertEqual([], [
            *self.models(inventory),
            *findings.devices(inventory, used, {'good': GOOD}),
            *findings.services(inventory, NOW),
            *findings.observation(seen, NOW, 1800)])

    def test_a_pool_without_a_model(self):
        self.assert_one(
            findings.Level.WARNING, f'Pool {B} names no model',
            self.models(listed(pool(model='good'), pool(B))))

    def test_a_model_may_be_named_like_its_pool(self):
        self.assertEqual([], self.models(listed(pool()), known=(A,)))

    def test_a_name_that_cannot_be_one(self):
        self.assert_one(
            findings.Level.WARNING, 'change serifos_model',
            self.models(listed(pool(model='good'), pool(B, model='../x'))))

    def test_a_model_that_cannot_be_read(self):
        found = self.models(
            listed(pool(model='bad'), pool(B, model='bad')), {},
            {'bad': 'bad.json is not there.'})
        self.assertEqual([findings.Level.WARNING, findings.Level.FAILURE],
                         [finding.level for finding in found])
        self.assertIn('bad.json is not there. 2 pools name it.', texts(found))

    def test_a_model_that_errs(self):
        rough = dataclasses.replace(GOOD, quality={'mre': 0.42})
        self.assert_one(
            findings.Level.WARNING, 'not good enough to plan with: 42 % error',
            self.models(listed(pool(model='good')), {'good': rough}))

    def devices(self, *pools, **model):
        inventory = listed(*pools)
        used = findings.models_of(inventory, ())
        return list(findings.devices(inventory, used, {
            'good': dataclasses.replace(GOOD, **model), 'other': GOOD}))

    def test_hosts_cannot_share_a_disk(self):
        self.assert_one(
            findings.Level.FAILURE, 'Pools of stor1, stor2 have the same',
            self.devices(pool(model='good', device='sdb'),
                         pool(B, model='good', device='sdb')))

    def test_pools_of_a_disk_have_one_model(self):
        self.assert_one(
            findings.Level.WARNING, 'name the models good, other',
            self.devices(pool(model='good', device='sdb'),
                         pool('stor1@b#b', model='other', device='sdb')))

    @ddt.data((447.0, False, 0), (200.0, False, 1), (200.0, True, 0))
    @ddt.unpack
    def test_a_pool_larger_than_the_device_of_its_model(
            self, size, thin, number):
        found = self.devices(pool(model='good', thin=thin),
                             device={'size_gib': size})
        self.assertEqual(number, len(found), found)

    @ddt.data(
        ('INTEL SSDSC2BX40', None, 0), ('INTEL_SSDSC2BX400G4', None, 0),
        ('Samsung SSD 860', 'S1', 0), ('Samsung SSD 860', 'S9', 1),
        ('INTEL', None, 1), ('', None, 0), (None, None, 0))
    @ddt.unpack
    def test_a_model_of_a_device_that_is_not_there(
            self, name, serial, number):
        disks = {'stor1': [activity.Disk('INTEL_SSDSC2BX400G4', 'S1'),
                           activity.Disk('QEMU_HARDDISK')]}
        inventory = listed(pool(model='good'), pool(B, model='good'))
        found = list(findings.fits(
            inventory, findings.models_of(inventory, ()),
            {'good': dataclasses.replace(
                GOOD, device={'model': name, 'serial': serial})}, disks))
        self.assertEqual(number, len(found), found)
        if found:
            self.assertIn('its host has no such disk, but '
                          'INTEL_SSDSC2BX400G4, QEMU_HARDDISK',
                          found[0].text)

    def test_disks_that_could_not_be_compared_are_said(self):
        """Before, it looked as if all were well."""
        inventory = listed(pool(model='good'), pool(B, model='good'))
        found = findings.unchecked(
            inventory, findings.models_of(inventory, ()),
            {'good': dataclasses.replace(GOOD, device={'model': 'INTEL'})},
            {'stor1': [activity.Disk('INTEL')]})
        self.assert_one(findings.Level.NOTE, 'every disk of stor2, so', found)

    @ddt.data((-30, 'comes 30 s in the future'), (-2, None), (10, None),
              (7200, 'No service of Cinder has sent a heartbeat for 2 h'))
    @ddt.unpack
    def test_clocks(self, seconds_ago, said):
        found = findings.services(listed(services=[service(seconds_ago)]), NOW)
        if said is None:
            self.assertEqual([], list(found))
        else:
            self.assert_one(findings.Level.FAILURE, said, found)

    def test_a_service_that_is_down(self):
        self.assert_one(findings.Level.WARNING, 'stor1@ssd is down',
                        findings.services(
                            listed(services=[service(up=False)]), NOW))

    def test_a_cluster_is_down_with_the_last_of_its_services(self):
        its = [dataclasses.replace(service(up=False), host=host,
                                   cluster='c@ssd') for host in 'ab']
        self.assertIn('c@ssd is down', [*findings.services(
            listed(services=its), NOW)][0].text)
        its[1] = dataclasses.replace(its[1], up=True)
        self.assertEqual([], [*findings.services(listed(services=its), NOW)])

    @ddt.data((None, 'no observation yet'), (2000, '33.3 min old'),
              (-60, '60 s in the future'), (1700, None))
    @ddt.unpack
    def test_observation(self, age, said):
        seen = None if age is None else Cluster(
            (), (), times.text(NOW - age))
        found = list(findings.observation(seen, NOW, 1800))
        if said is None:
            self.assertEqual([], found)
        else:
            self.assert_one(findings.Level.FAILURE, said, found)
