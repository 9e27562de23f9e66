# SPDX-License-Identifier: Apache-2.0
"""Is what tenants say on a server's console understood?"""

import json
import pathlib

import fixtures
import testtools

from tests.functional.testbed import layout
from tests.functional.testbed.nova import tenants

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
