# SPDX-License-Identifier: Apache-2.0

import os
import pathlib

import ddt
import fixtures
from hypothesis import given
from hypothesis import strategies
import testtools

from serifos.bench import fio
from serifos.bench import target
from serifos import errors

MIB = 2 ** 20


@ddt.ddt
class TargetTest(testtools.TestCase):

    @given(strategies.integers(0, 100), strategies.integers(1, 64),
           strategies.integers(0, 10_000))
    def test_shares_are_equal_apart_and_inside(self, offset, count, room):
        whole = fio.Region('x', offset * MIB, count * MIB + room * 511)
        shares = target.shares(whole, count)
        self.assertEqual(count, len(shares))
        self.assertEqual(1, len({share.size for share in shares}))
        end = whole.offset
        for share in shares:
            self.assertGreaterEqual(share.offset, end)
            end = share.offset + share.size
        self.assertLessEqual(end, whole.offset + whole.size)
        # Less than 1 MiB a workload stays unused.
        self.assertLess(whole.size - count * shares[0].size, count * MIB)

    def test_too_small_for_so_many(self):
        self.assertIn('too small for 3', str(self.assertRaises(
            errors.DeviceError, target.shares,
            fio.Region('x', 0, 3 * MIB - 1), 3)))

    @ddt.data({'size_gib': 0}, {'size_gib': float('nan')},
              {'size_gib': -1}, {'lv_size_gib': float('inf')})
    def test_absurd_sizes(self, sizes):
        self.assertRaises(errors.InputError, target.TargetOptions, 1, **sizes)

    def test_a_name_without_a_slash_is_a_volume_group(self):
        self.assertIn('volume group no-such-group', str(self.assertRaises(
            errors.DeviceError, target.find, 'no-such-group',
            target.TargetOptions(1))))

    @ddt.data('exit 1', 'exit 0', 'echo no',
              """echo '{"blockdevices": [{}]}'""")
    def test_a_file_needs_no_lsblk(self, script):
        """Before, any device that lsblk reported oddly stopped it."""
        self.other_programs(lsblk=script)
        found = target.find(f'file:{self.place}/scratch',
                            target.TargetOptions(1, size_gib=0.01))
        self.assertEqual('unknown', found.facts['model'])

    def other_programs(self, **scripts):
        # Not /tmp, which may live in memory.
        self.place = pathlib.Path(self.useFixture(
            fixtures.TempDir(rootdir='/var/tmp')).path)
        for name, script in scripts.items():
            (self.place / name).write_text(f'#!/bin/sh\n{script}\n')
            (self.place / name).chmod(0o755)
        self.useFixture(fixtures.EnvironmentVariable(
            'PATH', f'{self.place}:{os.environ["PATH"]}'))

    @ddt.data(
        ('exit 1', 'unknown on unknown', 'file on unknown (unknown)'),
        ("echo '{\"filesystems\": [{\"source\": \"/dev/vda1\", "
         "\"fstype\": \"ext4\"}]}'", 'ext4 on /dev/vda1',
         'file on ext4 (/dev/vda1)'))
    @ddt.unpack
    def test_a_file_where_no_mount_is_known(self, findmnt, shown, model):
        self.other_programs(findmnt=findmnt,
                            lsblk="echo '{\"blockdevices\": []}'")
        found = target.find(f'file:{self.place}/scratch',
                            target.TargetOptions(1, size_gib=0.01))
        self.assertEqual(shown, found.facts['filesystem'])
        self.assertEqual(model, found.identity['model'])
