# SPDX-License-Identifier: Apache-2.0

import dataclasses

import ddt
import testtools

from serifos.bench import mountinfo
from serifos.bench import remount

ROOT = mountinfo.Mount(27, 1, '254:0', '/', '/', ('rw', 'relatime'),
                       ('shared:1',), 'ext4', '/dev/vda1', ('rw',))
DATA = mountinfo.Mount(43, 27, '8:16', '/', '/mnt/x', ('rw', 'noatime'),
                       ('shared:30',), 'xfs', '/dev/sdb', ('rw', 'noquota'))
PLACE = remount.Place('/mnt/x', True, (ROOT, DATA), {}, (), '8:16')


def changed(mount=None, **its):
    """The place with other facts, of its mount or of itself."""
    mounts = (ROOT, dataclasses.replace(DATA, **mount or {}))
    return dataclasses.replace(PLACE, **{'mounts': mounts, **its})


def beside(**its):
    """The place with one more mount, a copy of its own but for these."""
    return changed(mounts=(ROOT, DATA, dataclasses.replace(
        DATA, **{'id': 60, **its})))


def elsewhere(*propagation):
    """The place, mounted in a namespace whose root propagates so."""
    return changed(elsewhere={'udevd (process 9)': (
        dataclasses.replace(ROOT, id=70, propagation=propagation),
        dataclasses.replace(DATA, id=71, parent=70))})


@ddt.ddt
class RefusalTest(testtools.TestCase):

    def test_a_plain_mount_is_not_refused(self):
        self.assertIsNone(remount.refusal(PLACE))

    @ddt.data(
        ('only root may', changed(is_root=False)),
        ('belongs to the running system', changed(directory='/')),
        ('belongs to the running system', changed(directory='/boot/efi')),
        ('belongs to the running system', changed(directory='/var')),
        ('belongs to the running system', changed(directory='/usr')),
        ('belongs to the running system', changed(directory='/var/lib/x')),
        ('not itself a mount point', changed(directory='/mnt')),
        ('it is a btrfs', changed({'kind': 'btrfs'})),
        ('it is a nfs4', changed({'kind': 'nfs4'}, device=None)),
        ('not its block device', changed(device=None)),
        ('not its block device', changed(device='8:17')),
        ('only /sub of its file system', changed({'root': '/sub'})),
        ('one over the other', dataclasses.replace(
            beside(number='8:17', source='/dev/sdc'), device='8:17')),
        ('/mnt/x/y is mounted below', beside(
            point='/mnt/x/y', parent=43, number='8:17')),
        ('is mounted on /mnt/z as well', beside(point='/mnt/z')),
        ('udevd (process 9) has it in a mount namespace', elsewhere()),
        ('udevd (process 9) has it in a mount namespace',
         elsewhere('shared:2')),
        ('less (process 8) has something open',
         changed(users=('less (process 8)',))),
        ('goes away with its mount', changed(autoclear=True)),
        ('the option idmapped', changed({'options': ('rw', 'idmapped')})),
        ('the option ro', changed({'super_options': ('ro',)})),
        ('the option usrquota',
         changed({'super_options': ('rw', 'usrquota')})),
        ('the option usrjquota=aquota.user', changed(
            {'super_options': ('rw', 'usrjquota=aquota.user')})),
        ('would not come back as it is', changed({'propagation': ()})),
        ('would not come back as it is', changed(
            {'propagation': ('shared:30', 'master:2')})))
    @ddt.unpack
    def test_refused(self, words, one):
        why = remount.refusal(one)
        self.assertIn(words, why)
        self.assertTrue(why.endswith('.'), why)

    @ddt.data(('shared:1',), ('master:1',), ('shared:5', 'master:1'))
    def test_namespaces_that_follow_ours_are_none_of_our_business(self, how):
        self.assertIsNone(remount.refusal(elsewhere(*how)))

    def test_names_that_only_begin_like_the_systems(self):
        for name in ('/boots', '/libs', '/usr2', '/mnt/usr'):
            one = changed({'point': name}, directory=name)
            self.assertIsNone(remount.refusal(one))
