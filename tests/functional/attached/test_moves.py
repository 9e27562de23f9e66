# SPDX-License-Identifier: Apache-2.0
"""Volumes that a server uses move under its load, over Keystone.

The balancer has the role serifos of the example policies alone: it applies a
plan by a password, and in mode auto it uses an application credential.
"""

import contextlib
import threading

from serifos import errors
from tests.functional import machine
from tests.functional.testbed import case
from tests.testbed import balancer
from tests.testbed.nova import accounts
from tests.testbed.nova import config
from tests.testbed.nova import migration
from tests.testbed.nova import tenancy
from tests.testbed.nova import tenants
from tests.unit.cmd import questions

HOT = tenants.TenantJob(write_pct=50, block_kib=16, iodepth=4)
LIGHT = tenants.TenantJob(write_pct=30, block_kib=4, iodepth=1, pause_us=5000)
SLOW = 3
"""The host where all volumes begin."""

SECONDS = 10
"""Of each tenant, before and after each move."""

CHECKED = 2000
"""Blocks of the volume that are compared after it moved, by its tenant."""

CONSOLE_BYTES = 20_000

PLANNED = 0, errors.UNEXPLAINED
"""Exit codes of a plan: a host of a busy machine is slower than assumed."""


class MovesTest(case.NovaTest):
    """A server whose tenants keep the slowest host busy."""

    def setUp(self):
        super().setUp()
        self.accounts = accounts.Accounts(self.testbed)
        self.user = self.accounts.user('serifos')
        self.log_in(self.user)
        self.balancer.forget()
        self.balancer.assume_models()
        self.tenancy = tenancy.Tenancy(self.testbed)
        self.addCleanup(self.tenancy.end)

    def log_in(self, account):
        self.balancer = balancer.Balancer(self.testbed, account)

    def configure(self, **options):
        self.balancer.configure(min_gain=0.1, max_moves=1,
                                allow_attached=True, **options)

    def begin(self, **jobs):
        for name, job in jobs.items():
            self.tenancy.add(name, self.testbed.host(SLOW), job)
        self.tenancy.begin(SECONDS)
        self.addCleanup(self.keep_console)

    def keep_console(self):
        """The end of it, before it goes with the server."""
        said = self.tenancy.console.said()[-CONSOLE_BYTES:]
        self.detail('console', [said.decode(errors='replace')])

    def wait_checked(self, volume):
        def checked():
            return self.tenancy.console.seconds(volume)[-1].checked

        until = checked() + CHECKED
        machine.wait_until(lambda: checked() >= until, 600)

    @contextlib.contextmanager
    def watched(self):
        """Collects the status of the server, every second."""
        seen, stop = set(), threading.Event()

        def watch():
            while not stop.wait(1):
                seen.add(self.tenancy.servers.status(self.tenancy.server))

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            yield seen
        finally:
            stop.set()
            thread.join()

    def run_balancer(self, *arguments, meanwhile=None, codes=(0,)):
        process = self.balancer.start(*arguments)
        self.addCleanup(process.kill)
        if meanwhile:
            meanwhile()
        out, err = process.communicate()
        self.assertIn(process.returncode, codes, out + err)
        return out + err

    def assert_moves(self, name, *arguments, result='success', **others):
        """serifos-balancer moves it; the server runs on, no block wrong."""
        volume = self.tenancy.volumes[name]
        before = self.tenancy.count()
        with self.watched() as statuses:
            said = self.run_balancer(*arguments, **others)
        after = self.tenancy.count()
        self.tenancy.wait_more(SECONDS)
        self.wait_checked(volume)
        self.show(name, before, after)

        self.assertEqual({'ACTIVE'}, statuses)
        self.assertEqual([], self.tenancy.faults())
        self.assertEqual([], self.testbed.copies())
        self.assertEqual(
            ['request', 'accepted', result],
            [entry.get('result', entry['kind'])
             for entry in self.balancer.journal()
             if entry['volume'] == volume and entry['kind'] != 'changed'])
        move, = self.balancer.plan()['moves']
        self.assertEqual(
            (volume, self.testbed.host(SLOW).pool),
            (move['volume'], move['from']))
        found = self.testbed.api.volume(volume)
        self.assertEqual(
            ('in-use', 'success', move['to']),
            (found['status'], found['migration_status'],
             found['os-vol-host-attr:host']))
        return said

    def change(self, volume):
        """Its tenant renames, pins and extends it as Nova copies it."""
        servers = self.tenancy.servers
        migration.Migration(
            self.testbed, servers, self.tenancy.server, volume
            ).wait_stage('reserved', lambda: False)
        api = servers.volumes.api
        api.ask('PUT', f'/volumes/{volume}', {'volume': {'name': 'mine'}})
        self.pin(volume, 'POST', metadata={'serifos:pin': 'yes'})
        api.ask('POST', f'/volumes/{volume}/action',
                {'os-extend': {'new_size': 2}})

    def labels(self, volume):
        found = self.testbed.api.volume(volume)
        return found['name'], found['size'], {
            key: value for key, value in found['metadata'].items()
            if key != 'attached_mode'}

    def assert_reapplied(self, volume, said):
        """What Cinder undid is told, and set again where rights allow."""
        self.assertIn("size 1 -> 2 GiB, name 'hot' -> 'mine', metadata "
                      "serifos:pin none -> 'yes'", said)
        self.assertEqual(('hot', 1, {}), self.labels(volume))
        self.assertIn('denies access', self.run_balancer(
            'reapply', volume, '--yes', codes=(5,)))
        self.log_in(config.auth('admin', 'admin'))
        self.configure()
        self.run_balancer('reapply', volume, '--yes')
        self.assertEqual(('mine', 1, {'serifos:pin': 'yes'}),
                         self.labels(volume))

    def show(self, moved, before, after):
        """What each tenant saw before, in and after the move."""
        lines = []
        for name, volume in self.tenancy.volumes.items():
            seconds = self.tenancy.console.seconds(volume)
            first, last = before[name], after[name]
            for when, those in (('before', seconds[:first]),
                                ('during', seconds[first:last]),
                                ('after', seconds[last:])):
                seen = tenants.summary(those)
                lines.append(
                    f'{name:6}{when:7}{seen.iops:7.0f} /s'
                    f'{seen.mean_us / 1e3:8.1f} ms, p99 '
                    f'{seen.p99_us / 1e3:.0f}, max {seen.max_us / 1e3:.0f}')
        self.detail(f'what the tenants saw as {moved} moved', lines)

    def pin(self, volume, method, *path, **body):
        self.tenancy.servers.volumes.api.ask(method, '/'.join(
            ('/volumes', volume, 'metadata', *path)), body or None)

    def look(self, plan):
        """Console and page show the cloud and a plan that was carried out."""
        slow = self.testbed.host(SLOW).name
        page = self.directory / 'cloud.html'
        for verb, says in (
                (('status',), 'auto'), (('top', '--once'), slow),
                (('explain', slow), f'{slow}: '),
                (('show', plan), 'carried out'), (('plans',), plan[:8]),
                (('history',), 'success'), (('report', '--out', page), ''),
                (('observe',), ''), (('undo', plan), slow)):
            code, out, err = self.balancer.run(*verb)
            self.detail(' '.join(map(str, verb)), [out, err])
            self.assertEqual(0, code, err)
            self.assertIn(says, out)
        self.assertIn(slow, page.read_text())
        self.assertEqual([], questions.unanswered(page.read_text()))

    def test_a_data_volume_by_apply_and_a_root_volume_in_mode_auto(self):
        self.configure()
        self.begin(root=HOT, hot=HOT, light=LIGHT)
        root, hot = (self.tenancy.volumes[name] for name in ('root', 'hot'))
        self.pin(root, 'POST', metadata={'serifos:pin': 'yes'})
        self.run_balancer('run', '--once', '--window', '30', codes=PLANNED)
        plan = self.balancer.plan()
        said = self.assert_moves(
            'hot', 'apply', plan['id'], '--yes', result='changes lost',
            codes=(1,), meanwhile=lambda: self.change(hot))
        self.assert_reapplied(hot, said)

        self.log_in(self.accounts.credential(self.user))
        self.configure(mode='auto', batch=1)
        self.pin(root, 'DELETE', 'serifos:pin')
        self.assert_moves('root', 'run', '--once', '--window', '30',
                          codes=PLANNED)
        self.look(self.balancer.plan()['id'])

        self.tenancy.servers.detach(self.tenancy.server, hot)
        machine.wait_until(
            lambda: f'{tenants.disk(hot)} is gone'.encode()
            in self.tenancy.console.said())
        self.assertEqual(['hot is not attached'], self.tenancy.faults())
