# SPDX-License-Identifier: Apache-2.0
"""What Cinder loses as it ends a migration, and what keeps tenants off.

What the fake loses is compared with Cinder's database, after its own
``finish_volume_migration``.
"""

import pathlib

import fixtures
import testtools

from tests.unit.scheduler import cloud  # first: it skips without Cinder

from cinder import context
from cinder import exception
from cinder import objects
from cinder import policy
from cinder.volume import api

from serifos.balancer import changes
from serifos.facts.inventory import Record
from tests.fakes import migrations

POLICIES = pathlib.Path(__file__).parents[3].joinpath(
    'etc/serifos/examples/policy/cinder-while-copied.yaml')

BEFORE = {'size': 1, 'display_name': 'old', 'display_description': 'was',
          'bootable': False, 'metadata': {'kept': '1', 'removed': '2'}}
CHANGED = {'size': 2, 'display_name': 'new', 'display_description': 'is',
           'bootable': True, 'metadata': {'kept': '1', 'serifos:pin': 'yes'}}


def record(volume):
    """The fields of a volume that its tenant sets, as the API shows them."""
    return Record(
        volume.id, volume.size, volume.status, name=volume.display_name,
        description=volume.display_description, bootable=volume.bootable,
        metadata=dict(volume.metadata))


class MigratedRecordsTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        conf = self.useFixture(fixtures.TempDir()).join('cinder.conf')
        with open(conf, 'w'):
            pass
        self.cloud = self.useFixture(cloud.Cloud(conf))

    def volume(self, **facts):
        kind = objects.VolumeType.get_by_name_or_id(
            self.cloud.context, '__DEFAULT__')
        found = objects.Volume(self.cloud.context, **{
            'status': 'in-use', 'project_id': cloud.PROJECT,
            'host': 'a@ssd#ssd', 'volume_type_id': kind.id, **BEFORE,
            **facts})
        found.create()
        return found

    def read(self, volume):
        return record(objects.Volume.get_by_id(
            self.cloud.context, volume.id))

    def test_the_example_policies_keep_its_tenant_off(self):
        cloud.CONF.set_override('policy_file', str(POLICIES),
                                group='oslo_policy')
        policy.reset()
        self.addCleanup(policy.reset)
        volume, cinder = self.volume(), api.API()
        tenant = context.RequestContext(
            'user', cloud.PROJECT, roles=['member', 'reader'])
        verbs = [lambda: cinder.update(tenant, volume, {'display_name': 'n'}),
                 lambda: cinder.create_volume_metadata(
                     tenant, volume, {'a': 'b'}),
                 lambda: cinder.update_volume_metadata(
                     tenant, volume, {'a': 'c'}),
                 lambda: cinder.delete_volume_metadata(tenant, volume, 'a'),
                 lambda: tenant.authorize('volume:extend_attached_volume',
                                          target_obj=volume)]
        for verb in verbs:
            verb()
        for status in 'starting', 'migrating', 'completing':
            volume.migration_status = status
            for verb in verbs:
                self.assertRaises(exception.PolicyNotAuthorized, verb)
        volume.migration_status = 'success'
        for verb in verbs[:3]:
            verb()

    def test_what_a_tenant_changed_meanwhile(self):
        volume = self.volume()
        copy = self.volume(status='available', use_quota=False,
                           migration_status=f'target:{volume.id}')
        volume.update(CHANGED)
        volume.save()
        was, its = self.read(volume), self.read(copy)

        volume.finish_volume_migration(copy)
        now, old = migrations.exchanged(was, its)
        for real, fake in (volume, now), (copy, old):
            found = self.read(real)
            for name in migrations.EXCHANGED:
                self.assertEqual(getattr(found, name), getattr(fake, name),
                                 name)
        self.assertEqual(('old', 1, {'kept': '1', 'removed': '2'}),
                         (now.name, now.size_gib, now.metadata))
        # What the old copy tells of it, once the volume has lost it.
        found = changes.with_old_copy(
            {}, changes.held(its), self.read(copy))
        self.assertEqual(
            {'size_gib': [1, 2], 'name': ['old', 'new'],
             'bootable': [False, True], 'metadata:removed': ['2', None],
             'metadata:serifos:pin': [None, 'yes']},
            changes.undone(found, changes.held(self.read(volume))))
