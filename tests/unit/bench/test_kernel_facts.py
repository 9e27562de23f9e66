# SPDX-License-Identifier: Apache-2.0

import ddt

from serifos.bench import lsblk
from serifos.bench import storage
from tests.unit import case


@ddt.ddt
class CompletedTest(case.DirectoryCase):

    def completed(self, files, uses=(), **changes):
        for name, text in files.items():
            path = self.dir / 'dev/block' / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return storage.completed(
            lsblk.Node('/dev/x', 'disk', 100, number='8:16', **changes),
            dict(uses), dict(uses), self.dir)

    @ddt.data(
        ({'8:16/wwid': 'eui.0025\n'}, 'eui.0025'),
        ({'8:16/device/wwid': 'naa.6001\n'}, 'naa.6001'),
        ({'8:16/device/cluster_fsid': 'f\n', '8:16/device/pool_id': '2\n',
          '8:16/device/image_id': '10ab\n'}, 'f/2/10ab'),
        ({}, None))
    @ddt.unpack
    def test_the_name_of_its_storage(self, files, expected):
        self.assertEqual(expected, self.completed(files).wwid)

    @ddt.data(({'8:16/serial': 'V1\n'}, 'V1'), ({}, None),
              ({'8:16/device/vpd_pg80': '\0\0\0\4 S1 '}, 'S1'))
    @ddt.unpack
    def test_a_serial_number_without_udev(self, files, expected):
        self.assertEqual(expected, self.completed(files).serial)
        self.assertEqual('S0', self.completed(files, serial='S0').serial)

    def test_a_partition(self):
        found = self.completed({'8:16/start': '2048\n', 'diskseq': '9\n'})
        self.assertEqual((2 ** 20, '9'), (found.start, found.sequence))

    def test_its_users(self):
        found = self.completed(
            {}, {('device', 8, 16): {'/b'}}, mounts=('/a',))
        self.assertEqual((('/a', '/b'), ('/b',)),
                         (found.mounts, found.exports))

    def test_a_loop_device_that_does_not_tell_its_file(self):
        found = self.completed({'8:16/loop/backing_file': '/img\n'})
        self.assertEqual(lsblk.Backing(None, '/img'), found.backing)
