# SPDX-License-Identifier: Apache-2.0

import json

import testtools

from serifos.bench import lvm
from serifos import errors

GIB = 2 ** 30


def report(key, *rows):
    return json.dumps({'report': [{key: list(rows)}]})


class GroupTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        row = {'vg_name': 'cinder', 'vg_uuid': 'Abc-1',
               'vg_size': str(100 * GIB), 'vg_free': str(10 * GIB),
               'vg_extent_size': str(4 * 2 ** 20)}
        self.group = lvm.parse(report(
            'vg', {**row, 'pv_name': '/dev/sdb'},
            {**row, 'pv_name': '/dev/sdc'}))

    def test_one_row_for_each_physical_volume(self):
        self.assertEqual(('/dev/sdb', '/dev/sdc'),
                         self.group.physical_volumes)
        self.assertEqual('Abc-1', self.group.uuid)
        self.assertEqual('/dev/sdb, /dev/sdc', self.group.facts['holders'])

    def test_room_is_counted_in_extents(self):
        lvm.refuse_if_small(self.group, 10, GIB)
        for count, size in ((11, GIB), (10, GIB + 1)):
            self.assertIn('do not fit', str(self.assertRaises(
                errors.DeviceError, lvm.refuse_if_small, self.group, count,
                size)))


class OursTest(testtools.TestCase):

    def test_only_what_has_our_tag_and_our_name(self):
        self.assertEqual(['serifos-scratch-0'], lvm.ours(report(
            'lv', {'lv_name': 'serifos-scratch-0',
                   'lv_tags': 'x,serifos-scratch'},
            {'lv_name': 'volume-1', 'lv_tags': 'serifos-scratch'},
            {'lv_name': 'serifos-scratch-1', 'lv_tags': ''},
            {'lv_name': 'serifos-scratch-2', 'lv_tags': 'serifos-scratch2'},
            {'lv_name': 'volume-2', 'lv_tags': ''})))

    def test_commands_name_one_volume_of_the_group(self):
        self.assertEqual(['lvremove', '--yes', 'cinder/serifos-scratch-0'],
                         lvm.remove_command('cinder', 'serifos-scratch-0'))
        create = lvm.create_command('cinder', 1, GIB)
        self.assertEqual('cinder', create[-1])
        self.assertIn(f'{GIB}b', create)
        self.assertEqual('serifos-scratch',
                         create[create.index('--addtag') + 1])
