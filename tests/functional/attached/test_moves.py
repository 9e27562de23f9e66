# SPDX-License-Identifier: Apache-2.0
"""Volumes that a server uses move under its load, over Keystone."""

import contextlib
import threading

from tests.functional import machine
from tests.functional.testbed import balancer
from tests.functional.testbed import case
from tests.functional.testbed import marks
from tests.functional.testbed.nova import config
from tests.functional.testbed.nova import servers
from tests.functional.testbed.nova import tenants

HOT = tenants.TenantJob(write_pct=50, block_kib=16, iodepth=4)
LIGHT = tenants.TenantJob(write_pct=30, block_kib=4, iodepth=1, pause_us=5000)
FAST, SLOW = 1, 3

SECONDS = 10
"""Of each tenant, before and after the move."""

CHECKED = 2000
"""Blocks of the volume that are compared after it moved, by its tenant."""

CONSOLE_BYTES = 20_000


class AttachedTest(case.NovaTest):
    """A server whose two tenants keep the slowest host busy.

    ``volumes`` are theirs, by name.
    """

    def setUp(self):
        super().setUp()
        self.servers = servers.Servers(self.testbed)
        self.balancer = balancer.Balancer(
            self.testbed, config.auth('admin', 'admin'))
        self.balancer.forget()
        self.balancer.assume_models()
        self.volumes = {}

    def configure(self, **options):
        self.balancer.configure(min_gain=0.1, max_moves=1,
                                allow_attached=True, **options)

    def settle(self, name, volume, job):
        """Gives a tenant a volume, with a mark and a job."""
        marks.write(self.testbed, volume)
        tenants.assign(self.testbed, volume, job)
        self.volumes[name] = volume

    def data(self, name, job):
        """The id of a tenant's volume, on the slowest host."""
        volume = self.servers.volumes.create_volume(
            name, host=self.testbed.host(SLOW))
        self.addCleanup(self.testbed.delete_volume, volume)
        self.settle(name, volume, job)
        return volume

    def boot(self, root, *data):
        """Boots a server, attaches volumes, waits for what tenants tell."""
        self.marks = self.checksums()
        self.server = self.servers.boot('vm', root)
        self.addCleanup(self.servers.delete, self.server)
        self.console = tenants.Console(self.servers.console(self.server))
        self.addCleanup(self.keep_console)
        for volume in data:
            self.servers.attach(self.server, volume)
        self.wait_more()

    def keep_console(self):
        """The end of it, before it goes with the server."""
        said = self.console.said()[-CONSOLE_BYTES:]
        self.detail('console', [said.decode(errors='replace')])

    def checksums(self):
        return {volume: marks.checksum(self.testbed, volume)
                for volume in self.volumes.values()}

    def count(self):
        return {volume: len(self.console.seconds(volume))
                for volume in self.volumes.values()}

    def wait_more(self):
        """Until each tenant has told of so many more seconds."""
        for volume, count in self.count().items():
            self.console.wait_seconds(volume, count + SECONDS)

    def wait_checked(self, volume):
        def checked():
            return self.console.seconds(volume)[-1].checked

        until = checked() + CHECKED
        machine.wait_until(lambda: checked() >= until, 600)

    @contextlib.contextmanager
    def watched(self):
        """Collects the status of the server, every second."""
        seen, stop = set(), threading.Event()

        def watch():
            while not stop.wait(1):
                seen.add(self.servers.status(self.server))

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield seen
        finally:
            stop.set()
            thread.join()

    def run_balancer(self, *arguments):
        code, out, err = self.balancer.run(*arguments)
        self.assertEqual(0, code, out + err)

    def assert_moves(self, volume, *arguments):
        """serifos-balancer moves it; the server runs on, no block wrong."""
        before = self.count()
        with self.watched() as statuses:
            self.run_balancer(*arguments)
        after = self.count()
        self.wait_more()
        self.wait_checked(volume)
        self.show(before, after)

        self.assertEqual({'ACTIVE'}, statuses)
        self.assertEqual(
            ['request', 'accepted', 'success'],
            [entry.get('result', entry['kind'])
             for entry in self.balancer.journal()])
        move, = self.balancer.plan()['moves']
        self.assertEqual(
            (volume, self.testbed.host(SLOW).pool),
            (move['volume'], move['from']))
        found = self.testbed.api.volume(volume)
        self.assertEqual(
            ('in-use', 'success', move['to']),
            (found['status'], found['migration_status'],
             found['os-vol-host-attr:host']))
        self.assertEqual([], self.testbed.copies())
        self.assertEqual(self.marks, self.checksums())
        self.assertLess(self.console.said().count(b'server is up'), 2)
        attached = self.servers.attached(self.server)
        for each in self.volumes.values():
            last = self.console.seconds(each)[-1]
            self.assertEqual((0, 0), (last.wrong, last.errors))
            self.assertIn(each, attached)

    def show(self, before, after):
        """What each tenant saw before, in and after the move."""
        lines = []
        for name, volume in self.volumes.items():
            seconds = self.console.seconds(volume)
            first, last = before[volume], after[volume]
            for when, those in (('before', seconds[:first]),
                                ('during', seconds[first:last]),
                                ('after', seconds[last:])):
                seen = tenants.summary(those)
                lines.append(
                    f'{name:6}{when:7}{seen.iops:7.0f} /s'
                    f'{seen.mean_us / 1e3:8.1f} ms, p99 '
                    f'{seen.p99_us / 1e3:.0f}, max {seen.max_us / 1e3:.0f}')
        self.detail('what the tenants saw', lines)

    def test_a_data_volume_by_apply(self):
        self.configure()
        hot, light = self.data('hot', HOT), self.data('light', LIGHT)
        self.boot(self.servers.create_root(
            'root', self.testbed.host(FAST)), hot, light)
        self.run_balancer('run', '--once', '--window', '30')
        plan = self.balancer.plan()
        self.assert_moves(hot, 'apply', plan['id'], '--yes')

        self.servers.detach(self.server, hot)
        self.assertEqual(self.marks, self.checksums())
        machine.wait_until(
            lambda: f'{tenants.disk(hot)} is gone'.encode()
            in self.console.said())

    def test_a_root_volume_in_mode_auto(self):
        self.configure(mode='auto', batch=1)
        light = self.data('light', LIGHT)
        root = self.servers.create_root('root', self.testbed.host(SLOW))
        self.settle('root', root, HOT)
        self.boot(root, light)
        self.assert_moves(root, 'run', '--once', '--window', '30')
