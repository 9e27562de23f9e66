# SPDX-License-Identifier: Apache-2.0
"""Users of block devices, in a /proc and a /sys of the test's own."""

import os

from serifos.bench import in_use
from tests.unit import case

LINE = '43 27 {} / /mnt/{} rw - {} {} {}\n'


class MountsTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.process('self', 'mnt:[1]')

    def process(self, name, space, mounts=''):
        place = self.dir / 'proc' / name
        (place / 'ns').mkdir(parents=True)
        (place / 'ns/mnt').symlink_to(space)
        (place / 'comm').write_text('udevd\n')
        (place / 'mountinfo').write_text(mounts)

    def write(self, name, text):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def mounts(self, text=''):
        (self.dir / 'proc/self/mountinfo').write_text(text)
        return dict(in_use.mounted(self.dir / 'proc', self.dir / 'sys'))

    def test_here_and_in_another_namespace(self):
        ours = LINE.format('8:16', 'a', 'xfs', '/dev/sdb', 'rw')
        self.process('7', 'mnt:[2]', ours + LINE.format(
            '8:32', 'b', 'xfs', '/dev/sdc', 'rw'))
        self.assertEqual(
            {('device', 8, 16): {'/mnt/a'},
             ('device', 8, 32): {'/mnt/b of udevd (process 7)'}},
            self.mounts(ours))

    def test_by_the_name_of_a_device_too(self):
        """btrfs has a number of its own, and XFS its log elsewhere."""
        null = os.stat('/dev/null')
        for source, option in (('/dev/null', 'rw'),
                               ('/dev/no-such', 'rw,logdev=/dev/null')):
            self.assertEqual({'/mnt/a'}, self.mounts(LINE.format(
                '0:43', 'a', 'btrfs', source, option))[
                    'file', null.st_dev, null.st_ino])

    def test_what_nobody_sees_mounted(self):
        self.write('sys/class/block/sdb/dev', '8:16\n')
        for name in 'fs/ext4/sdb/x', 'fs/btrfs/uuid/devices/sdb/x':
            self.write(f'sys/{name}', '')
        self.assertEqual({('device', 8, 16): {'a file system (ext4)'}},
                         self.mounts())

    def test_swap(self):
        self.write('a b', '')
        self.write('proc/swaps', 'Filename\tType\n'
                   f'{self.dir}/a\\040b   file\t\t9\t0\t-2\n/gone file 9\n')
        info = (self.dir / 'a b').stat()
        self.assertEqual({('file', info.st_dev, info.st_ino): {'[SWAP]'}},
                         self.mounts())

    def test_what_is_given_to_other_machines(self):
        self.write('img', '')
        info = (self.dir / 'img').stat()
        for name in ('config/nvmet/subsystems/nqn/namespaces/1/device_path',
                     'config/target/core/fileio_0/x/udev_path',
                     'scst_tgt/devices/x/filename'):
            self.write(f'sys/kernel/{name}', f'{self.dir}/img\n[key]\n')
        self.write('sys/kernel/config/target/core/fileio_0/y/udev_path', '')
        (found,) = in_use.exports(self.dir / 'sys').items()
        self.assertEqual(('file', info.st_dev, info.st_ino), found[0])
        self.assertEqual(3, len(found[1]))
