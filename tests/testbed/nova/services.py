# SPDX-License-Identifier: Apache-2.0
"""Keystone, Placement, Nova and a Cinder behind Keystone, as processes."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import signal
import sys

from tests.testbed import cinder
from tests.testbed import guest
from tests.testbed import layout
from tests.testbed import network
from tests.testbed.nova import config
from tests.testbed.nova import identity
from tests.testbed.nova import schemas
from tests.testbed import records
from tests.testbed import rest

READY_S = 240
"""Seconds until the compute host is known to all."""

SERVICE_S = 300
"""To start or stop nova-compute; a busy machine forks slowly in a guest."""

_HERE = __file__.rpartition('/')[0]


class Services:
    """These services, and the guest that is their compute host."""

    def __init__(self, where: layout.Layout,
                 started: records.Records) -> None:
        self._layout = where
        self._records = started
        self._network = network.Network(where.network)
        self.identity = identity.Identity(self._network)
        self.compute = guest.Guest(layout.COMPUTE, where, started)

    def configure(self) -> None:
        where = self._layout
        (where.control / 'nova' / 'lock').mkdir(parents=True, exist_ok=True)
        identity.write_keys(where)
        nova = config.nova(where)
        for name, said in (('keystone', config.keystone(where)),
                           ('placement', config.placement()),
                           ('nova', nova),
                           ('cinder-keystone', config.CINDER_API)):
            (where.control / f'{name}.conf').write_text(cinder.render(said))
        node = where.node(layout.COMPUTE)
        for name in ('nova', 'instances'):
            (node / name).mkdir(parents=True, exist_ok=True)
        (node / 'nova-compute.conf').write_text(
            cinder.render(nova, config.compute(where)))

    def start(self) -> None:
        """Starts all but the compute host, once the database answers."""
        made = schemas.Schemas(self._layout)
        filled = made.create()
        if not filled:
            made.migrate()
        self._serve('keystone', 'keystone.wsgi.api', config.KEYSTONE_PORT, {
            'OS_KEYSTONE_CONFIG_FILES':
                str(self._layout.control / 'keystone.conf')})
        if not filled:
            self._wait('keystone', config.KEYSTONE_PORT)
            self.identity.register()
            made.keep()
        control = str(self._layout.control)
        self._serve('placement', 'placement.wsgi.api', config.PLACEMENT_PORT,
                    {'OS_PLACEMENT_CONFIG_DIR': control})
        self.start_nova_api()
        for name in ('nova-conductor', 'nova-scheduler'):
            self._start(name, self._layout.venv / 'bin' / name,
                        '--config-file', f'{control}/nova.conf')
        self._start('empty-neutron', sys.executable,
                    f'{_HERE}/empty_neutron.py', layout.CONTROL,
                    config.NEUTRON_PORT)

    def start_nova_api(self) -> None:
        control = str(self._layout.control)
        # Nova takes the first for its paste file.
        self._serve('nova-api', 'nova.wsgi.osapi_compute', config.NOVA_PORT, {
            'OS_NOVA_CONFIG_DIR': control, 'OS_NOVA_CONFIG_FILES':
                f'{self._layout.venv}/etc/nova/api-paste.ini;nova.conf'})

    def kill_nova_api(self) -> None:
        self._records.stop('nova-api', number=signal.SIGKILL)

    def start_cinder_api(self) -> None:
        """Once Cinder's database has its schema."""
        control = self._layout.control
        self._start('cinder-api-keystone',
                    self._layout.venv / 'bin' / 'cinder-api',
                    '--config-file', control / 'cinder.conf',
                    '--config-file', control / 'cinder-keystone.conf')

    def start_compute(self) -> None:
        """Once Keystone and Placement answer, which it asks as it starts."""
        self._wait('keystone', config.KEYSTONE_PORT)
        self._wait('placement', config.PLACEMENT_PORT)
        self.start_nova_compute()

    def start_nova_compute(self) -> None:
        """Ends the one that runs."""
        self.compute.call('service nova-compute start', SERVICE_S)

    def stop_nova_compute(self, seconds: int = 10) -> None:
        """It has so many seconds to end what it does."""
        self.compute.call(f'service nova-compute stop {seconds}', SERVICE_S)

    def kill_nova_compute(self) -> None:
        """By SIGKILL; libvirtd and the servers go on."""
        self.compute.call('service nova-compute kill')

    def restart_nova_compute(self) -> None:
        """As systemd would."""
        self.stop_nova_compute(90)
        self.start_nova_compute()

    def kill_compute(self) -> None:
        """A power failure of the compute host."""
        self.compute.kill()

    def boot_compute(self) -> None:
        """Boots a compute host that was killed, and starts nova-compute."""
        self.compute.boot()
        self.compute.wait_up()
        self.start_nova_compute()

    def wait_up(self) -> None:
        """Until servers may be asked for."""
        self._wait('nova-api', config.NOVA_PORT)
        self._wait('cinder-api-keystone', config.CINDER_PORT)
        network.wait_for('nova-compute is up and found', self._found,
                         READY_S, every=0.5)

    def _found(self) -> bool:
        # The hypervisor is listed once its host is mapped to its cell.
        with contextlib.suppress(OSError, rest.Refused):
            hypervisors = self.identity.ask(
                'GET', config.NOVA_PORT, '/v2.1/os-hypervisors',
                version='compute 2.90')['hypervisors']
            return [one['state'] for one in hypervisors] == ['up']
        return False

    def _serve(self, name: str, module: str, port: int,
               environment: Mapping[str, str]) -> None:
        # A test that starts it again runs in the project's environment.
        self._start(name, self._layout.venv / 'bin' / 'python',
                    f'{_HERE}/serve.py', module, layout.CONTROL, port,
                    environment=environment)

    def _start(self, name: str, *argv: object,
               environment: Mapping[str, str] | None = None) -> None:
        self._records.start(
            name, [*self._network.prefix, *argv],
            self._layout.control / f'{name}.log',
            {'PYTHONWARNINGS': 'ignore', **(environment or {})})

    def _wait(self, name: str, port: int) -> None:
        log = self._layout.control / f'{name}.log'

        def answers() -> bool:
            if not self._records.alive(name):
                raise layout.TestbedError(
                    f'{name} ended as it started; see {log}.')
            return self._network.answers(layout.CONTROL, port)

        network.wait_for(f'{name} answers (see {log})', answers, READY_S)
