# SPDX-License-Identifier: Apache-2.0
"""What Cinder loses as it ends a migration; the fake loses the same.

What the fake loses is compared with Cinder's database, after its own
``finish_volume_migration``.
"""

import fixtures
import testtools

from tests.unit.scheduler import cloud  # first: it skips without Cinder

from cinder import objects

from serifos.balancer.moving import changes
from serifos.facts import inventory as inv
from tests.fakes import migrations

BEFORE = {'size': 1, 'display_name': 'old', 'display_description': 'was',
          'bootable': False, 'metadata': {'kept': '1', 'removed': '2'}}
CHANGED = {'size': 2, 'display_name': 'new', 'display_description': 'is',
           'bootable': True, 'metadata': {'kept': '1', 'serifos:pin': 'yes'}}


def record(volume):
    """The fields of a volume that its tenant sets, as the API shows them."""
    return inv.Record(
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
