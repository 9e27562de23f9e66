# SPDX-License-Identifier: Apache-2.0
"""Migrations broken off in each state of their completion.

The destination renames the copy's logical volume and writes both records;
then the source swaps these. Each state in between is made for good here: the
destination's lvrename waits, or the database does, until the source's
cinder-volume has been killed.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import subprocess

from tests.testbed import control
from tests.testbed import layout
from tests.testbed import network
from tests.testbed import testbed
from tests.testbed import volumes

RPC_S = 60
"""How long a call of Cinder's waits for its answer, and lives in a queue."""

_LVRENAME = """\
#!/bin/sh
touch /run/lvrename.called
while [ -e /run/lvrename.before ]; do sleep 0.1; done
[ ! -e /run/lvrename.fails ] || exit 5
lvm lvrename "$@"
code=$?
touch /run/lvrename.done
while [ -e /run/lvrename.after ]; do sleep 0.1; done
exit $code
"""


class Completing:
    """Breaks a migration between two hosts off in a given state."""

    def __init__(self, on: testbed.Testbed, source: int,
                 target: int) -> None:
        self._on = on
        self._source, self._target = source, target

    def not_renamed(self, volume: str) -> None:
        """Both die before the copy is renamed."""
        with self._held('before'):
            self._migrate(volume, 'called')
            self._on.kill_cinder_volume(self._source)
            self._on.kill_cinder_volume(self._target)
        self._restart(self._source, self._target)

    def half_recorded(self, volume: str) -> None:
        """Both die when the copy is renamed, and no record says so."""
        with self._held('after'):
            self._migrate(volume, 'done')
            self._on.kill_cinder_volume(self._source)
            self._on.kill_cinder_volume(self._target)
        self._restart(self._source, self._target)

    def renamed(self, volume: str) -> None:
        """The source dies; its call is carried out by the destination."""
        with self._held('after'):
            self._migrate(volume, 'done')
            self._on.kill_cinder_volume(self._source)
        self._restart(self._source)

    def power_fails(self, volume: str) -> None:
        """As renamed, but it is the source's whole host that dies."""
        with self._held('after'):
            self._migrate(volume, 'done')
            self._on.kill_guest(self._source)
        self._on.boot_guest(self._source)

    def not_renamable(self, volume: str) -> None:
        """As renamed, but the copy keeps its name, and lends it."""
        with self._held('before', 'fails'):
            self._migrate(volume, 'called')
            self._on.kill_cinder_volume(self._source)
        self._restart(self._source)

    def half_swapped(self, volume: str) -> None:
        """The source dies between its writes of the two records."""
        with self._slow_swap():
            self._migrate(volume)
            network.wait_for(
                'the volume is on its target',
                lambda: self._on.host_of(volume).number == self._target,
                volumes.MIGRATION_S, every=0.1)
            self._on.kill_cinder_volume(self._source)
        self._restart(self._source)

    def _migrate(self, volume: str, until: str | None = None) -> None:
        self._on.api.migrate(volume, self._on.host(self._target).pool)
        if until:
            network.wait_for(
                f'lvrename is {until}', lambda: self._on.on(
                    self._target, f'test -e /run/lvrename.{until}')[0] == 0,
                volumes.MIGRATION_S, every=0.2)

    def _restart(self, *numbers: int) -> None:
        for number in numbers:
            self._on.start_cinder_volume(number, wait=False)
        self._on.wait_backends()

    @contextlib.contextmanager
    def _held(self, *marks: str) -> Iterator[None]:
        guest = self._on.guest(self._target)
        guest.call('rm -f /run/lvrename.* /usr/sbin/lvrename\n'
                   f"cat > /usr/sbin/lvrename <<'END'\n{_LVRENAME}END\n"
                   'chmod 755 /usr/sbin/lvrename\n' + ''.join(
                       f'touch /run/lvrename.{mark}\n' for mark in marks))
        try:
            yield
        finally:
            guest.call('rm -f /run/lvrename.before /run/lvrename.after\n'
                       'sleep 1; rm -f /run/lvrename.*; rm /usr/sbin/lvrename'
                       '; ln -s lvm /usr/sbin/lvrename')

    @contextlib.contextmanager
    def _slow_swap(self) -> Iterator[None]:
        """An update that calls a record the old copy takes ten minutes."""
        self._sql('CREATE OR REPLACE TRIGGER slow BEFORE UPDATE ON volumes '
                  "FOR EACH ROW IF NEW.migration_status = 'deleting' THEN "
                  'DO SLEEP(600); END IF')
        try:
            yield
        finally:
            self._sql("SELECT id INTO @id FROM information_schema.processlist"
                      " WHERE state = 'User sleep' LIMIT 1// KILL @id")
            self._sql('DROP TRIGGER slow')

    def _sql(self, statement: str) -> None:
        done = self._on.in_network(
            ['mariadb', '--no-defaults', '--user=cinder',
             '--password=cinder', f'--host={layout.CONTROL}',
             f'--port={control.DATABASE_PORT}', '--delimiter=//', 'cinder',
             '-e', statement],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said, _ = done.communicate(timeout=60)
        if done.returncode:
            raise layout.TestbedError(f'MariaDB: {said.strip()}')


STATES: dict[str, Callable[[Completing, str], None]] = {
    'not-renamed': Completing.not_renamed,
    'half-recorded': Completing.half_recorded,
    'renamed': Completing.renamed,
    'not-renamable': Completing.not_renamable,
    'half-swapped': Completing.half_swapped,
}


def tell(on: testbed.Testbed, say: testbed.Say) -> None:
    """Makes each of the states, and says what is left in it."""
    for name, break_off in STATES.items():
        volume = on.create_volume(name, host=on.host(1))
        say('')
        say(f'{name}: {(break_off.__doc__ or "").strip()}')
        break_off(Completing(on, 1, 2), volume)
        for record in on.api.volumes():
            if volume in (record['id'], str(
                    record['migration_status']).removeprefix('target:')):
                say(f"{record['id']} is {record['status']}, "
                    f"{record['migration_status']} on "
                    f"{record['os-vol-host-attr:host']}, name_id "
                    f"{record['os-vol-mig-status-attr:name_id']}")
        for number in 1, 2:
            names = on.guest(number).call(
                f'lvs --noheadings -o lv_name {layout.BACKEND}').split()
            say(f'node{number} has {" ".join(names)}')
        say('To recover it, 15 minutes later: serifos-balancer recover '
            f'{volume}')
