# SPDX-License-Identifier: Apache-2.0
"""The verbs over Keystone, with the rights of the example policies."""

import re
import subprocess

from tests.functional import machine
from tests.functional.testbed import login_case
from tests.testbed import balancer
from tests.testbed import layout
from tests.testbed import marks
from tests.testbed.nova import servers

FAST, SLOW = 1, 3

READ_AND_CHANGE = """
from serifos.cmd.balancer import adapters
from serifos import conf
import sys
cinder = adapters.cinder(conf.load([sys.argv[1]]))
deleted, unmanaged = sys.argv[2:]
record = cinder.volume(deleted)
assert record.lv_id == deleted, record
assert f'volume-{deleted}' in cinder.logical_volumes(record.pool)
assert cinder.halves(deleted) == ()
cinder.complete(deleted, unmanaged)  # which asks for nothing: none migrates
for volume in deleted, unmanaged:
    cinder.reset(volume, 'error')
cinder.delete(deleted)
cinder.unmanage(unmanaged)
"""
"""What recover asks Cinder for and of it, on two volumes."""


class RightsTest(login_case.LoginCase):

    def test_who_may_move_volumes(self):
        """By an application credential, over tokens of 35 s."""
        where = servers.Servers(self.testbed)
        root = where.create_root('root', self.testbed.host(FAST))
        data = where.volumes.create_volume(
            'data', host=self.testbed.host(SLOW))
        self.addCleanup(self.testbed.delete_volume, data)
        marks.write(self.testbed, data)
        before = marks.checksum(self.testbed, data)
        server = where.boot('vm', root)
        self.addCleanup(where.delete, server)
        where.attach(server, data)
        free = self.volume('free', host=self.testbed.host(SLOW))
        pool = self.testbed.host(SLOW).pool
        user = self.accounts.user('serifos')
        login = {**self.accounts.credential(user),
                 'auth_url': self.serve_brief_tokens()}
        moving = 'evacuate', pool, '--window', '30', '--yes'

        reader = self.accounts.user('serifos_reader')
        code, out, err = self.run_as(reader, 'run', '--once',
                                     '--window', '30')
        self.assertEqual((0, ''), (code, _ours(err)), err)
        code, out, err = self.run_as(reader, *moving)
        self.assertEqual(1, code, err)
        self.assertRegex(out, 'denied: Cinder denies access .*migrate_volume')
        self.assertEqual(
            [pool, pool], [self.home(volume) for volume in (data, free)])

        code, out, err = self.run_as(
            login, *moving, nova='region_name = elsewhere')
        self.assertIn('the catalogue has no compute service', out)
        self.assertEqual(pool, self.home(data))
        self.assertNotEqual(pool, self.home(free))

        code, out, err = self.run_as(login, *moving)
        self.assertEqual(0, code, out + err)
        self.assertIn('1 of 1 moves are carried out', out)
        self.assertNotEqual(pool, self.home(data))
        self.assertEqual(before, marks.checksum(self.testbed, data))

        code, out, err = self.run_as(login, 'recover', data, '--window', '30')
        self.assertEqual(2, code, err)
        self.assertIn('is not being migrated', err)
        for verb in ('history', 'resume'):
            self.assertEqual(0, self.run_as(login, verb)[0])
        self.read_and_change(login)

    def read_and_change(self, login):
        """What recover needs, by the client that it uses."""
        deleted, unmanaged = (self.testbed.create_volume(
            name, host=self.testbed.host(FAST)) for name in 'du')
        program = balancer.Balancer(self.testbed, login)
        program.configure()
        process = self.testbed.in_network(
            [balancer.PYTHON, '-c', READ_AND_CHANGE, program.file, deleted,
             unmanaged], stderr=subprocess.PIPE, text=True, cwd=layout.ROOT)
        err = process.communicate(timeout=600)[1]
        self.assertEqual(0, process.returncode, err)
        machine.wait_until(lambda: not {deleted, unmanaged} & {
            volume['id'] for volume in self.testbed.api.volumes()}, 300)
        self.testbed.on(self.testbed.host(FAST).name,
                        f'lvremove -f {layout.BACKEND}/volume-{unmanaged}')

    def home(self, volume):
        return self.testbed.api.volume(volume)['os-vol-host-attr:host']


def _ours(err):
    """Its sentences, without the progress of telemetry."""
    return '\n'.join(re.findall('^serifos-balancer: .*$', err, re.M))
