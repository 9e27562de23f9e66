# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from serifos.bench import mountinfo
from serifos import errors

LINES = '''\
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
43 27 8:16 / /srv/a\\040b rw,nodev,noatime shared:30 master:2 - ext4 /dev/sdb \
rw,stripe=4
44 27 8:17 /sub /srv/x rw - xfs /dev/sdb1 rw,noquota
'''


@ddt.ddt
class MountinfoTest(testtools.TestCase):

    def test_a_line_is_read(self):
        root, mount, part = mountinfo.parse_mounts(LINES)
        self.assertEqual(
            mountinfo.Mount(
                43, 27, '8:16', '/', '/srv/a b', ('rw', 'nodev', 'noatime'),
                ('shared:30', 'master:2'), 'ext4', '/dev/sdb',
                ('rw', 'stripe=4')), mount)
        self.assertEqual(('/sub', ()), (part.root, part.propagation))
        self.assertEqual('/', root.point)

    def test_options_are_given_once(self):
        self.assertEqual(('rw', 'nodev', 'noatime', 'stripe=4'),
                         mountinfo.parse_mounts(LINES)[1].given)

    def test_the_same_again_has_another_id_and_group(self):
        first, again, other = (
            mountinfo.parse_mounts(LINES.replace(*change))[1] for change in (
                ('43 27', '43 27'), ('43 27 8:16 / /srv/a\\040b rw,nodev,'
                                     'noatime shared:30',
                                     '91 27 8:16 / /srv/a\\040b rw,nodev,'
                                     'noatime shared:77'),
                ('noatime', 'relatime')))
        self.assertEqual(first.likeness, again.likeness)
        self.assertNotEqual(first.id, again.id)
        self.assertNotEqual(first.likeness, other.likeness)

    def test_the_last_mount_on_a_directory_is_on_top(self):
        over = mountinfo.parse_mounts(
            LINES + '50 44 8:18 / /srv/x rw - ext4 /dev/sdb2 rw\n')
        self.assertEqual(50, mountinfo.top(over, '/srv/x').id)
        self.assertIsNone(mountinfo.top(over, '/srv'))

    @ddt.data('27 1 254:0 / /', 'x 1 254:0 / / rw - ext4 /dev/vda1 rw',
              '27 1 loop / / rw shared:1 - ext4 /dev/vda1 rw',
              '27 1 254:0 / / rw shared:1 ext4 /dev/vda1 rw 1 2',
              '27 1 254:0 / / rw shared:1 a b - ext4 /dev/vda1')
    def test_what_is_no_line_is_named(self, line):
        exc = self.assertRaises(errors.ToolError, mountinfo.parse_mounts, line)
        self.assertIn(line, str(exc))
