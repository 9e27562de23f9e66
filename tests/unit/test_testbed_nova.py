# SPDX-License-Identifier: Apache-2.0
"""What tenants say on a server's console, and what a soak says of moves."""

import json
import pathlib
import struct
import subprocess
import sys

import fixtures
import testtools

from tests.testbed import layout
from tests.testbed.nova import blocks
from tests.testbed.nova import soak
from tests.testbed.nova import tenants

VOLUME = '00d7abca-0b40-4edb-8ca5-ac9f4308e795'


def line(disk=VOLUME[:20], **figures):
    return json.dumps({
        'disk': disk, 'at': 1e9, 'seconds': 1.0, 'reads': 60, 'writes': 40,
        'checked': 60, 'errors': 0, 'wrong': 0, 'mean_us': 1000,
        'p99_us': 3000, 'max_us': 4000, **figures}).encode() + b'\r\n'


class TenantsTest(testtools.TestCase):

    def console(self, said=b''):
        path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'console.log')
        path.write_bytes(said)
        return path, tenants.Console(path)

    def test_a_console_tells_what_came_since_then(self):
        path, console = self.console(b'Booting ...\n' + line())
        with open(path, 'ab') as file:
            file.write(b'server is up after 9.1 s\r\n' + line(reads=7)
                       + line(disk='another') + line()[:30])
        found, = console.seconds(VOLUME)
        self.assertEqual(7, found.reads)

    def test_a_summary_weighs_by_requests(self):
        found = tenants.summary(tenants.parse(
            line() + line(seconds=3.0, reads=200, writes=100, mean_us=5000,
                          p99_us=9000, max_us=9500), VOLUME))
        self.assertEqual(
            tenants.TenantSummary(iops=100, write_pct=35, mean_us=4000,
                                  p99_us=9000, max_us=9500), found)

    def test_a_tenant_without_requests_has_none(self):
        idle = tenants.parse(line(reads=0, writes=0, mean_us=0), VOLUME)
        self.assertRaisesRegex(layout.TestbedError, 'no I/O',
                               tenants.summary, idle)


class BlocksTest(testtools.TestCase):
    """Blocks of 16 KiB as tenant.c stamps them, in a file."""

    SIZE, BEGIN = 16 << 10, 64 << 20

    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path, 'volume')
        with open(self.path, 'wb') as file:
            file.truncate(256 << 20)

    def write(self, number, stamped, times, skip=0):
        """The block of that number, stamped as another may be."""
        place = self.BEGIN + stamped * self.SIZE
        data = b''.join(struct.pack(
            '<QQ', (place * 0x9e3779b97f4a7c15 + i) % 2 ** 64, times)
            for i in range(0, self.SIZE // 8, 2))
        with open(self.path, 'r+b') as file:
            file.seek(self.BEGIN + number * self.SIZE + skip)
            file.write(data[skip:])

    def found(self):
        return blocks.parse(subprocess.run(
            ['bash', '-c', blocks.script(sys.executable, self.path, 16)],
            check=True, capture_output=True, text=True).stdout)

    def test_writes_are_counted(self):
        self.write(0, 0, 3)
        self.write(4095, 4095, 1)
        self.assertEqual(blocks.Blocks(2, 0, 4), self.found())

    def test_a_torn_block_and_one_of_another_place_are_bad(self):
        self.write(1, 1, 3)
        self.write(1, 1, 4, skip=4096)
        self.write(2, 3, 1)
        self.write(5, 5, 7)
        self.assertEqual(blocks.Blocks(3, 2, 7), self.found())


class SoakTest(testtools.TestCase):

    def test_a_summary_counts_what_failed(self):
        moved = [soak.Moved.of({
            'kind': 'outcome', 'volume': VOLUME, 'source': 'a@ssd#ssd',
            'target': 'b@ssd#ssd', 'result': result, 'reason': '',
            'seconds': seconds}) for result, seconds in (
                ('success', 60.0), ('error', 120.0), ('success', 30.0))]
        self.assertEqual([
            '3 of 4 moves in 5 min: 1 errors, 0 stuck, 2 findings of lost '
            'data or a server that stopped',
            'minutes of a move: mean 1.2, worst 2.0',
        ], soak.summary(moved, 4, 300, 0, 2))

    def test_without_a_move_it_says_so(self):
        self.assertIn('0 of 50 moves in 1 min: 0 errors, 1 stuck',
                      soak.summary([], 50, 60, 1, 0)[0])
