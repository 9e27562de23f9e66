# SPDX-License-Identifier: Apache-2.0

import dataclasses

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from serifos.bench import lsblk
from serifos.bench import storage

SDB = lsblk.Node('/dev/sdb', 'disk', 100, 'LUN', 'beaf11', '0x6001405',
                 number='8:16')
PARTS = strategies.tuples(strategies.integers(0, 9), strategies.one_of(
    strategies.none(), strategies.integers(1, 9)))


def sdc(**changes):
    """Another path of the LUN."""
    return dataclasses.replace(SDB, path='/dev/sdc', number='8:32', **changes)


def loop(minor, *, inode=7, offset=0, limit=None):
    return lsblk.Node(
        f'/dev/loop{minor}', 'loop', 100, number=f'7:{minor}',
        backing=lsblk.Backing(('file', 1, inode), '/x', offset, limit))


def shared(*tree):
    one, other = storage.every(tree)[:2]
    assert (one.shared(other) is None) == (other.shared(one) is None)
    return one.shared(other)


@ddt.ddt
class SharedTest(testtools.TestCase):

    @ddt.data(
        ({}, 'both have the WWN 6001405'),
        ({'wwn': None, 'wwid': 'naa.6001405'}, 'both have the WWN 6001405'),
        ({'wwn': None}, 'both have the serial number beaf11'),
        ({'wwn': None, 'model': None}, 'both have the serial number beaf11'),
        ({'wwn': '0x0000', 'serial': None}, None),
        # Namespaces of one device, and LUNs of some targets:
        ({'wwn': '0x6001406'}, None),
        ({'wwn': None, 'model': 'other'}, None),
        ({'wwn': None, 'serial': 'S2'}, None))
    @ddt.unpack
    def test_two_disks(self, changes, expected):
        self.assertEqual(expected, shared(SDB, sdc(**changes)))

    @ddt.data(
        ({}, True), ({'wwn': None}, True),
        ({'wwn': None, 'serial': 'S2'}, True),
        ({'wwn': None, 'serial': None}, False),
        ({'wwn': None, 'serial': None, 'unread': 'its size is -1'}, False))
    @ddt.unpack
    def test_what_cannot_be_compared(self, changes, expected):
        one, other = storage.every([SDB, sdc(**changes)])
        self.assertEqual(expected, one.is_comparable(other))

    def test_loop_devices(self):
        self.assertEqual('/x is behind both', shared(loop(0), loop(1)))
        self.assertIsNone(shared(loop(0), loop(1, inode=8)))
        self.assertIsNone(shared(loop(0), SDB))
        self.assertIsNone(shared(loop(0, limit=9), loop(1, offset=9)))

    @given(PARTS, PARTS)
    def test_parts_of_a_file(self, one, other):
        (a, length), (b, another) = one, other
        bytes_ = [set(range(begin, begin + (size or 99)))
                  for begin, size in ((a, length), (b, another))]
        found, second = storage.every([
            loop(0, offset=a, limit=length), loop(1, offset=b, limit=another)])
        self.assertEqual(bool(bytes_[0] & bytes_[1]),
                         found.shared(second) is not None)
        if length and another:
            self.assertEqual(bytes_[0] >= bytes_[1], found.covers(second))

    def test_a_loop_device_of_a_disk(self):
        on = dataclasses.replace(loop(0), backing=lsblk.Backing(
            ('device', 8, 16), '/dev/sdb', 50))
        disk, second, its = storage.every([SDB, sdc(), on])
        self.assertTrue(its.stands_on(disk))
        self.assertEqual('both have the WWN 6001405', its.shared(second))

    def test_partitions_by_two_paths(self):
        def parts(disk, minor):
            return dataclasses.replace(disk, children=tuple(
                lsblk.Node(f'{disk.path}{n}', 'part', 50, start=50 * (n - 1),
                           number=f'8:{minor + n}') for n in (1, 2)))
        found = {one.node.path: one for one in storage.every(
            [parts(SDB, 16), parts(sdc(), 32)])}
        of = found['/dev/sdb1']
        self.assertEqual(
            {'/dev/sdb': '/dev/sdb1 is on it',
             '/dev/sdc': 'both have the WWN 6001405',
             '/dev/sdc1': 'both have the WWN 6001405'},
            {path: why for path, one in found.items()
             if one is not of and (why := of.shared(one))})
        self.assertTrue(of.is_beside(found['/dev/sdc2']))

    def test_a_device_of_two_disks_shares_with_both(self):
        array = lsblk.Node('/dev/md0', 'raid1', 100, number='9:0')
        tree = [dataclasses.replace(SDB, children=(array,)),
                dataclasses.replace(sdc(wwn='0x7', serial='S2'),
                                    children=(array,))]
        found = {one.node.path: one for one in storage.every(tree)}
        self.assertEqual(3, len(found))
        for disk in '/dev/sdb', '/dev/sdc':
            self.assertTrue(found['/dev/md0'].shared(found[disk]))
        self.assertIsNone(found['/dev/sdb'].shared(found['/dev/sdc']))

    def test_volumes_of_a_group_have_nothing_in_common(self):
        """Nor what stands on them; where they lie is not known."""
        volumes = [lsblk.Node(f'/dev/dm-{n}', 'lvm', 9, number=f'253:{n}')
                   for n in (0, 1)]
        on = dataclasses.replace(loop(0), backing=lsblk.Backing(
            ('device', 253, 0), '/dev/dm-0'))
        found = {one.node.path: one for one in storage.every([
            dataclasses.replace(SDB, children=tuple(volumes)), sdc(), on])}
        first, second = found['/dev/dm-0'], found['/dev/dm-1']
        for one in first, found['/dev/loop0']:
            self.assertIsNone(one.shared(second))
            self.assertTrue(one.is_beside(second))
            self.assertTrue(one.shared(found['/dev/sdc']))

    @ddt.data(('mpath', False), ('raid1', True))
    @ddt.unpack
    def test_where_parts_lie_on_what_is_behind(self, kind, expected):
        """An array does not say where it has its bytes."""
        above = lsblk.Node('/dev/x', kind, 100, number='9:0')
        first, second = (dataclasses.replace(one, backing=lsblk.Backing(
            ('device', 9, 0), '/dev/x', one.backing.offset, 9))
            for one in (loop(0), loop(1, offset=9)))
        found = {one.node.path: one for one in storage.every(
            [dataclasses.replace(SDB, children=(above,)), first, second])}
        self.assertEqual(expected, found['/dev/loop0'].shared(
            found['/dev/loop1']) is not None)

    def test_a_device_that_is_made_of_itself(self):
        ring = dataclasses.replace(SDB, children=(
            sdc(children=(SDB,), wwn='0x7'),))
        self.assertEqual(2, len(storage.every([ring])))
