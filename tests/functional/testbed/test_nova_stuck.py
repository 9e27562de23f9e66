# SPDX-License-Identifier: Apache-2.0
"""nova-compute dies in the copy of a volume in use; its recovery."""

import time

from tests.functional.testbed import case
from tests.testbed import balancer
from tests.testbed import marks
from tests.testbed import network
from tests.testbed.nova import config
from tests.testbed.nova import servers
from tests.testbed.nova import tenants

JOB = tenants.TenantJob(write_pct=30, block_kib=4, iodepth=1, pause_us=5000)
FROM, TO, ROOT = 3, 2, 1

LIMIT_S = 120
"""What a migration of 1 GiB may take here; and Nova has to be still so long
before it counts as stuck."""

STILL_S = 35
"""For which the copy has to be without a request, and a bit."""

COPY_S = 300
LOOK = 'iscsiadm -m session -P 3'
"""How the commands begin that print a target."""


class StuckTest(case.NovaTest):

    def setUp(self):
        super().setUp()
        self.servers = servers.Servers(self.testbed)
        self.api = self.servers.volumes.api
        self.compute = self.testbed.nova.compute
        self.balancer = balancer.Balancer(
            self.testbed, config.auth('admin', 'admin'))
        self.balancer.forget()
        self.balancer.assume_models()
        self.balancer.configure(
            migration_timeout=LIMIT_S // 2,
            migration_timeout_per_gib=LIMIT_S // 2)
        self.said = []
        self.detail('what was done', self.said)

    def boot(self):
        """A server whose tenant uses ``volume``."""
        self.volume = self.servers.volumes.create_volume(
            'data', host=self.testbed.host(FROM))
        self.addCleanup(self.testbed.delete_volume, self.volume)
        self.mark = marks.write(self.testbed, self.volume)
        tenants.assign(self.testbed, self.volume, JOB)
        self.server = self.servers.boot('vm', self.servers.create_root(
            'root', self.testbed.host(ROOT)))
        self.addCleanup(self.servers.delete, self.server)
        self.console = tenants.Console(self.servers.console(self.server))
        self.servers.attach(self.server, self.volume)
        self.console.wait_seconds(self.volume, 5)

    def kill_in_the_copy(self):
        """When it began, s of the epoch; nova-compute runs again."""
        self.api.migrate(self.volume, self.testbed.host(TO).pool)
        self.copy = network.wait_for(
            'Nova copies the volume', lambda: next((
                copy['id'] for copy in self.testbed.copies()
                if copy['status'] == 'attaching'), None), 300, every=0.5)
        began = time.time()
        network.wait_for(
            'libvirt mirrors the volume',
            lambda: 'Copy' in self.compute.call(
                f'{self.blockjob()} --info 2>&1 || true'), 300, every=0.5)
        self.testbed.nova.kill_nova_compute()
        self.testbed.nova.start_nova_compute()
        return began

    def blockjob(self):
        domain = self.servers.show(self.server)[
            'OS-EXT-SRV-ATTR:instance_name']
        return f'virsh blockjob {domain} vdb'

    def recover(self, *arguments):
        code, out, err = self.balancer.run(
            'recover', self.volume, '--window', '40', *arguments)
        self.said += [f'recover {arguments}: {code}', out, err]
        return code, out

    def carry_out(self, said):
        """Each command for the compute host; the last target printed."""
        disk = ''
        for line in said.splitlines():
            if line.startswith('    ') and 'serifos-balancer' not in line:
                out = self.compute.call(
                    line.replace('DISK', disk.partition(' ')[0]), COPY_S)
                self.said += [line, out]
                disk = out.strip() if line.strip().startswith(LOOK) else disk
        return disk

    def stuck(self, began):
        """What recover prints once its time is over."""
        time.sleep(max(0, began + LIMIT_S + 20 - time.time()))
        code, said = self.recover()
        self.assertEqual(2, code)
        self.assertIn('is stuck: Nova has not ended its copy', said)
        self.assertIn('On compute,', said)
        return said

    def assert_recovered(self, disk):
        self.assertIn(self.volume, disk)
        self.assertNotIn(self.copy, disk)
        time.sleep(STILL_S)
        code, said = self.recover('--disk', disk, '--yes')
        self.assertEqual(0, code, said)

        found = self.api.volume(self.volume)
        self.assertEqual(
            ('in-use', None, self.testbed.host(FROM).pool),
            (found['status'], found['migration_status'],
             found['os-vol-host-attr:host']))
        self.assertNotIn(self.copy, [each['id'] for each in
                                     self.api.volumes()])
        count = len(self.console.seconds(self.volume))
        last = self.console.wait_seconds(self.volume, count + 5)[-1]
        self.assertEqual((0, 0), (last.wrong, last.errors))
        self.servers.detach(self.server, self.volume)
        self.assertEqual(self.mark, marks.checksum(
            self.testbed, self.volume))
        self.assertNotIn('volume-' + self.copy, self.compute.call(
            'iscsiadm -m session; iscsiadm -m node'))

    def test_nova_compute_dies_in_the_copy(self):
        self.boot()
        said = self.stuck(self.kill_in_the_copy())
        self.assert_recovered(self.carry_out(said))

    def test_it_dies_when_the_server_has_got_the_copy(self):
        self.boot()
        began = self.kill_in_the_copy()
        time.sleep(max(0, began + LIMIT_S - time.time()))
        # libvirt refuses it until the mirror is complete.
        pivot = f'{self.blockjob()} --pivot'
        network.wait_for('the server has got the copy', lambda:
                         self.compute.run(pivot)[0] == 0, COPY_S, every=2)
        said = self.stuck(began)
        look = next(line for line in said.splitlines()
                    if line.strip().startswith(LOOK))
        disk = self.compute.call(look)
        self.assertIn(self.copy, disk)

        code, said = self.recover('--disk', disk, '--yes')
        self.assertEqual(2, code)
        self.assertIn('do not delete it', said)
        self.assertIn(self.copy, [each['id'] for each in
                                  self.api.volumes()])
        self.assert_recovered(self.carry_out(said))
