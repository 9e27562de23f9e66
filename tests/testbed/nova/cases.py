# SPDX-License-Identifier: Apache-2.0
"""What may go wrong while a volume in use moves, and how it is made."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import contextlib
import dataclasses

from tests.testbed import layout
from tests.testbed import network
from tests.testbed.nova.proof import Proof
from tests.testbed.nova.servers import FLAVOR
from tests.testbed.nova.servers import Servers
from tests.testbed.nova import services
from tests.testbed import rest
from tests.testbed import testbed

HOSTS, ROOTS = (1, 2), 3
"""Those between which the volume moves, that of the root volume."""


@dataclasses.dataclass(frozen=True)
class Scene:
    """A server whose volume moves from one of HOSTS to the other."""

    on: testbed.Testbed
    servers: Servers
    server: str
    volume: str
    source: int
    proof: Proof

    @property
    def target(self) -> int:
        return sum(HOSTS) - self.source

    @property
    def nova(self) -> services.Services:
        assert self.on.nova
        return self.on.nova

    def act(self, **action: object) -> str:
        """What Nova answers where this is asked of the server."""
        try:
            self.servers.ask('POST', f'/servers/{self.server}/action', action)
        except rest.Refused as refused:
            return str(refused).partition('action: ')[2]
        return '202'


@dataclasses.dataclass(frozen=True)
class Fault:
    """What happens; ``strike`` may return what was answered.

    :param repair: ends it, ``after`` seconds later
    """

    words: str
    strike: Callable[[Scene], str | None]
    repair: Callable[[Scene], None] | None = None
    after: float = 5
    stages: tuple[str, ...] = ('copying',)


def _delete(scene: Scene) -> str:
    scene.servers.ask('DELETE', f'/servers/{scene.server}')
    return '204'


def _resize(scene: Scene) -> str:
    scene.servers.have_flavor(
        {**FLAVOR, 'id': 'small', 'name': 'small', 'ram': 128})
    return scene.act(resize={'flavorRef': 'small'})


def _live_migrate(scene: Scene) -> str:
    return scene.act(**{'os-migrateLive': {
        'host': None, 'block_migration': 'auto'}})


ALL = ('copying', 'creating', 'reserved', 'completing')
SOME = ('copying', 'creating', 'completing')

FAULTS = {
    'server-stopped': Fault(
        'the server is stopped',
        lambda scene: scene.act(**{'os-stop': None}), stages=ALL),
    'server-hard-rebooted': Fault(
        'the server is rebooted, hard',
        lambda scene: scene.act(reboot={'type': 'HARD'}), stages=SOME),
    'nova-compute-killed': Fault(
        'nova-compute is killed, and starts again 5 s later',
        lambda scene: scene.nova.kill_nova_compute(),
        lambda scene: scene.nova.start_nova_compute(), stages=ALL),
    'nova-compute-restarted': Fault(
        'nova-compute is restarted, with 90 s to end',
        lambda scene: scene.nova.restart_nova_compute(), stages=ALL),
    'cinder-volume-killed': Fault(
        "the source's cinder-volume is killed, and starts again 5 s later",
        lambda scene: scene.on.kill_cinder_volume(scene.source),
        lambda scene: scene.on.start_cinder_volume(scene.source), stages=SOME),
    'rabbitmq-restarted': Fault(
        'RabbitMQ is restarted',
        lambda scene: scene.on.restart_rabbitmq(), stages=SOME),
    'database-restarted': Fault(
        'MariaDB is killed and starts again',
        lambda scene: scene.on.restart_database(), stages=SOME),
    'nova-api-down': Fault(
        'nova-api is down for 60 s',
        lambda scene: scene.nova.kill_nova_api(),
        lambda scene: scene.nova.start_nova_api(), 60,
        ('creating', 'copying', 'completing')),
    'source-host-rebooted': Fault(
        'the power of the source host fails, and it boots',
        lambda scene: scene.on.kill_guest(scene.source),
        lambda scene: scene.on.boot_guest(scene.source), 1, SOME),
    'compute-host-rebooted': Fault(
        'the power of the compute host fails, and it boots',
        lambda scene: scene.nova.kill_compute(),
        lambda scene: scene.nova.boot_compute(), 1, SOME),
    'server-deleted': Fault(
        'the server is deleted', _delete, stages=SOME),
    'target-host-dies': Fault(
        'the power of the target host fails, for 200 s',
        lambda scene: scene.on.kill_guest(scene.target),
        lambda scene: scene.on.boot_guest(scene.target), 200),
    'server-resized': Fault(
        'the server is to be resized, then to be live-migrated',
        lambda scene: f'{_resize(scene)}; {_live_migrate(scene)}'),
    'target-host-rebooted': Fault(
        'the power of the target host fails, and it boots',
        lambda scene: scene.on.kill_guest(scene.target),
        lambda scene: scene.on.boot_guest(scene.target), 1, SOME),
}


def cases() -> list[tuple[str, str]]:
    """(fault, stage) of all; those of the copying first."""
    found = [(name, stage) for name, fault in FAULTS.items()
             for stage in fault.stages]
    return sorted(found, key=lambda case: case[1] != 'copying')


def repair_all(scene: Scene) -> None:
    """Boots and starts what a fault left dead."""
    on, nova = scene.on, scene.nova
    dead = [name for name, alive in on.status()['processes'].items()
            if not alive]
    for host in on.hosts:
        if not on.guest(host.number).alive:
            on.boot_guest(host.number)
    if not nova.compute.alive:
        nova.boot_compute()
    if 'nova-api' in dead:
        nova.start_nova_api()
    if set(dead) - {'nova-api', 'compute', *(
            host.name for host in on.hosts)}:
        raise layout.TestbedError(f'{", ".join(dead)} died.')
    on.wait_backends()
    nova.wait_up()


def cure(scene: Scene, copies: Sequence[str]) -> None:
    """Ends a stuck migration by hand, and its server with it."""
    api, both = scene.on.api, (scene.volume, *copies)
    with contextlib.suppress(rest.Refused):
        _delete(scene)
    network.wait_for('the server is gone', lambda: not any(
        one['id'] == scene.server
        for one in scene.servers.ask('GET', '/servers')['servers']), 120)
    for one in api.ask('GET', '/attachments/detail?all_tenants=1')[
            'attachments']:
        if one['volume_id'] in both:
            # Cinder asks Nova whether its server still uses it.
            scene.servers.volumes.api.ask(
                'DELETE', f'/attachments/{one["id"]}')
    for each in both:
        api.reset_status(each, status='available', attach_status='detached',
                         migration_status='none')
    for each in copies:
        api.delete_volume(each)
