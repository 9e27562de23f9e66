# SPDX-License-Identifier: Apache-2.0

from serifos.bench import mountinfo
from tests.unit import case

MOUNT = '43 27 8:16 / /mnt/x rw - xfs /dev/sdb rw\n'


class UsersTest(case.DirectoryCase):

    def process(self, number, name='sleep', space='mnt:[1]', text=MOUNT):
        """A process as /proc has it, that has nothing of anybody's open."""
        process = self.dir / str(number)
        for folder in ('ns', 'fdinfo'):
            (process / folder).mkdir(parents=True)
        (process / 'comm').write_text(f'{name}\n')
        (process / 'ns/mnt').symlink_to(space)
        (process / 'mountinfo').write_text(text)
        (process / 'cwd').symlink_to('/')
        (process / 'maps').write_text(
            '7f0000-7f1000 r--p 00000000 fe:00 12 /usr/lib/x.so\n')
        (process / 'fdinfo/0').write_text('pos:\t0\nmnt_id:\t24\n')
        return process

    def openers(self):
        return mountinfo.openers('8:16', '/mnt/x', {43, 71}, self.dir)

    def test_nobody(self):
        self.process(7)
        self.process(8)
        (self.dir / 'uptime').write_text('1')
        self.assertEqual((), self.openers())

    def test_a_file_that_is_open_by_whatever_mount_of_it(self):
        for number, mount in ((7, 43), (10, 71), (9, 431)):
            process = self.process(number)
            (process / 'fdinfo/5').write_text(f'flags:\t1\nmnt_id:\t{mount}')
        self.assertEqual(('sleep (process 7)', 'sleep (process 10)'),
                         self.openers())

    def test_a_working_directory(self):
        for number, at in ((7, '/mnt/x'), (8, '/mnt/x/y'), (9, '/mnt/xy')):
            process = self.process(number)
            (process / 'cwd').unlink()
            (process / 'cwd').symlink_to(at)
        self.assertEqual(('sleep (process 7)', 'sleep (process 8)'),
                         self.openers())

    def test_a_file_that_is_mapped(self):
        process = self.process(7)
        (process / 'maps').write_text(
            '7f0000-7f1000 r--p 00000000 08:10 12 /mnt/x/lib.so\n')
        self.assertEqual(('sleep (process 7)',), self.openers())

    def test_each_other_namespace_once(self):
        self.process(3, 'init')
        (self.dir / 'self').symlink_to('3')
        self.process(5, 'udevd', 'mnt:[2]')
        self.process(6, 'udevd', 'mnt:[2]', '')
        self.process(40, 'bash', 'mnt:[4]', '')
        found = mountinfo.elsewhere(self.dir)
        self.assertEqual({'udevd (process 5)': 1, 'bash (process 40)': 0},
                         {who: len(its) for who, its in found.items()})
        self.assertEqual('/mnt/x', mountinfo.ours(self.dir)[0].point)

    def test_a_process_that_has_ended_meanwhile(self):
        (self.dir / '7').mkdir()
        (self.dir / 'self').symlink_to('8')
        self.process(8)
        self.assertEqual((), self.openers())
        self.assertEqual({}, mountinfo.elsewhere(self.dir))
