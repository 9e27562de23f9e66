# SPDX-License-Identifier: Apache-2.0
"""Faults of a storage cluster, and what becomes of a volume."""

from __future__ import annotations

from tests.testbed import layout
from tests.testbed import marks
from tests.testbed import network
from tests.testbed import rest
from tests.testbed import testbed


def fill(on: testbed.Testbed, number: int) -> None:
    """No space is left in the host's volume group.

    The scheduler learns it from the next statistics, in 15 s at most.
    """
    on.guest(number).call(
        f'lvcreate -y -q -l 100%FREE -n fill {layout.BACKEND}')


def unfill(on: testbed.Testbed, number: int) -> None:
    on.guest(number).call(f'lvremove -y -q {layout.BACKEND}/fill')


def wait_copying(on: testbed.Testbed, volume: str,
                 seconds: float = 300) -> None:
    """Until the migration copies data, which dd does on the source."""
    source = on.host_of(volume).number
    network.wait_for(
        f'volume {volume} is being copied',
        lambda: on.on(source, 'pgrep -x dd')[0] == 0, seconds, every=0.3)


def recover_forgotten(on: testbed.Testbed, volume: str) -> None:
    """Recovers a volume by hand whose migration Cinder has forgotten."""
    copies = [copy['id'] for copy in on.copies()
              if copy['migration_status'] == f'target:{volume}']
    for each in [volume, *copies]:
        on.api.reset_status(each, status='available',
                            migration_status='none')
    for each in copies:
        on.api.delete_volume(each)
    network.wait_for(
        'the unfinished copy is deleted',
        lambda: not {each['id'] for each in on.api.volumes()} & {*copies},
        300, every=0.5)


class Story:
    """Each fault in turn, told as it goes, and what a volume then holds.

    The volume lives on the first host and is migrated to the second.
    """

    def __init__(self, on: testbed.Testbed, say: testbed.Say) -> None:
        self._on = on
        self._say = say
        self._volume = ''
        self._mark = ''

    def tell(self) -> None:
        self._volume = self._on.create_volume('fault', host=self._on.host(1))
        self._mark = marks.write(self._on, self._volume)
        self._say('A volume on node1, its last 16 MiB random: their checksum '
                  f'begins with {self._mark[:8]}.')
        for chapter in (self.stopped_service, self.full_target,
                        self.dead_destination, self.dead_source,
                        self.restarted_queue):
            self._say('')
            self._say(chapter.__doc__.split('\n')[0])
            chapter()
            self._look()
        self._on.api.delete_volume(self._volume)

    def stopped_service(self) -> None:
        """The destination's cinder-volume is stopped."""
        self._on.stop_cinder_volume(2)
        self._on.wait_backend_down(2)
        try:
            self._on.api.migrate(self._volume, self._on.host(2).pool)
        except rest.Refused as refused:
            self._say(f'Cinder refuses to migrate: {refused}')
        self._on.start_cinder_volume(2)

    def full_target(self) -> None:
        """The destination is full when the migration is asked for."""
        fill(self._on, 2)
        found = self._on.migrate(self._volume, 2)
        self._say(f"The migration ended with {found['migration_status']}.")
        unfill(self._on, 2)
        network.wait_for('the scheduler knows of the space',
                         lambda: self._free(2) >= 1, 300, every=1)

    def dead_destination(self) -> None:
        """The destination's power fails in the middle of the copy."""
        self._start_copy()
        self._on.kill_guest(2)
        found = self._on.wait_migrated(self._volume)
        self._say(f"The migration ended with {found['migration_status']}.")
        self._on.boot_guest(2)
        self._on.wait_no_copies()
        self._say('node2 is back, and nothing of the copy is left.')

    def dead_source(self) -> None:
        """The source's power fails in the middle of the copy."""
        self._start_copy()
        self._on.kill_guest(1)
        self._on.boot_guest(1)
        found = self._on.api.volume(self._volume)
        self._say(f"node1 is back; the volume is in {found['status']}, "
                  f"{found['migration_status']}, and stays so. To recover: "
                  'reset the status of volume and target, delete the target.')
        recover_forgotten(self._on, self._volume)

    def restarted_queue(self) -> None:
        """RabbitMQ restarts in the middle of the copy."""
        self._start_copy()
        self._on.restart_rabbitmq()
        found = self._on.wait_migrated(self._volume)
        self._on.wait_no_copies()
        self._say(f"The migration ended with {found['migration_status']}.")

    def _start_copy(self) -> None:
        self._on.api.migrate(self._volume, self._on.host(2).pool)
        wait_copying(self._on, self._volume)

    def _free(self, number: int) -> float:
        return self._on.api.pools()[self._on.host(number).pool][
            'free_capacity_gb']

    def _look(self) -> None:
        host = self._on.host_of(self._volume).name
        mark = marks.checksum(self._on, self._volume)
        self._say(f'The volume is on {host} and readable; its checksum begins '
                  f'with {mark[:8]}.')
        if mark != self._mark:
            raise layout.TestbedError('the data of the volume has changed.')
