# SPDX-License-Identifier: Apache-2.0
"""Two busy volumes share a pool until one of them is moved, in use.

For a balancer in mode auto, and two pools of one volume_backend_name that
have models. Only volumes of the scenario's own type have to be movable.
"""

import time

from tempest.common import utils
from tempest.common import waiters
from tempest import config
from tempest.lib import decorators
from tempest.scenario import manager

CONF = config.CONF
DISKS = ('vdb', 'vdc')
MOVED_WITHIN_S = 1800
BUSY = 'sudo sh -c "while [ -e /tmp/busy ]; do cat /dev/%s; done"'


class MoveTest(manager.ScenarioTest):

    credentials = ['primary', 'admin']

    @classmethod
    def skip_checks(cls):
        super().skip_checks()
        if not CONF.service_available.cinder:
            raise cls.skipException('Cinder is not available')
        if not CONF.validation.run_validation:
            raise cls.skipException('No login to a server: run_validation')

    @classmethod
    def setup_clients(cls):
        super().setup_clients()
        cls.admin_volumes = cls.os_admin.volumes_client_latest

    def record(self, volume):
        return self.admin_volumes.show_volume(volume['id'])['volume']

    def pool(self, volume):
        return self.record(volume)['os-vol-host-attr:host']

    def make_volumes(self):
        """Two of them on one pool."""
        volume_type = self.create_volume_type(
            extra_specs={'serifos:balance': 'true'})['name']
        first, second = volumes = [
            self.create_volume(volume_type=volume_type) for _ in DISKS]
        pool = self.pool(first)
        if self.pool(second) != pool:
            self.admin_volumes.migrate_volume(second['id'], host=pool)
            waiters.wait_for_volume_migration(
                self.admin_volumes, second['id'], pool)
        return volumes

    def make_server(self, volumes):
        """A login to a server that has these volumes."""
        keypair = self.create_keypair()
        group = self.create_security_group()
        server = self.create_server(
            key_name=keypair['name'],
            security_groups=[{'name': group['name']}])
        login = self.get_remote_client(
            self.get_server_ip(server), server=server,
            private_key=keypair['private_key'])
        for volume, disk in zip(volumes, DISKS):
            self.nova_volume_attach(server, volume)
            login.exec_command(
                f'until [ -b /dev/{disk} ]; do sleep 1; done; '
                f'sudo dd if=/dev/urandom of=/dev/{disk} bs=1M count=256')
        return login

    def sums(self, login):
        """Of every byte, as the disks have it and not the memory."""
        login.exec_command(
            'sync; echo 3 | sudo tee /proc/sys/vm/drop_caches')
        return login.exec_command(
            f'sudo md5sum {" ".join(f"/dev/{disk}" for disk in DISKS)}')

    def wait_for_a_move(self, volumes, pool):
        until = time.monotonic() + MOVED_WITHIN_S
        while time.monotonic() < until:
            for record in map(self.record, volumes):
                if (record['os-vol-host-attr:host'] != pool
                        and record['migration_status'] == 'success'):
                    self.assertEqual('in-use', record['status'])
                    return
            time.sleep(CONF.volume.build_interval)
        self.fail(f'No volume has left {pool} for {MOVED_WITHIN_S} s')

    @decorators.attr(type='slow')
    @decorators.idempotent_id('6f0d3c1e-63a5-4c0e-9a8d-1f1c4f1f7b52')
    @utils.services('compute', 'volume')
    def test_one_of_two_busy_volumes_moves(self):
        volumes = self.make_volumes()
        pool = self.pool(volumes[0])
        login = self.make_server(volumes)
        before = self.sums(login)
        login.exec_command('touch /tmp/busy')
        for disk in DISKS:
            login.exec_command(f'{BUSY % disk} > /dev/null 2>&1 &')
        self.wait_for_a_move(volumes, pool)
        login.exec_command('rm /tmp/busy')
        self.assertEqual(before, self.sums(login))
