# SPDX-License-Identifier: Apache-2.0
"""An in-use migration as it goes: its stages, and what changes with time."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import threading
import time
from typing import Any

from serifos.facts import names
from tests.testbed import layout
from tests.testbed import network
from tests.testbed.nova.servers import Servers
from tests.testbed import rest
from tests.testbed import testbed

STAGES = {
    'creating': 'before the swap, while the copy is created',
    'reserved': 'before the swap, once Nova has reserved the copy',
    'copying': 'while it is copied',
    'completing': 'while it is completed',
}

COPYING_MIB = 200
"""Written to the copy of 1 GiB where it is ``copying``."""

STARTS_S = 600
"""Seconds within which each stage is reached."""

SLOW_S = 5
"""Seconds between looks at what a guest has to be asked for."""


class Migration:
    """The migration of a volume that a server uses."""

    def __init__(self, on: testbed.Testbed, servers: Servers, server: str,
                 volume: str) -> None:
        self._on = on
        self._servers = servers
        self._server, self._volume = server, volume

    def copies(self) -> list[dict]:
        """The records of its copies, new or old."""
        return [record for record in self._on.copies()
                if record['id'] != self._volume]

    @property
    def over(self) -> bool:
        """Whether the volume is at rest, and no copy is left."""
        with contextlib.suppress(rest.Refused):
            found = self._on.api.volume(self._volume)
            if found['migration_status'] not in (None, 'error', 'success'):
                return False
        return not self.copies()

    def wait_stage(self, stage: str, given_up: Callable[[], bool]) -> None:
        """Until it is there.

        :param given_up: whether it will not come any more
        """
        def reached() -> bool:
            if given_up():
                raise layout.TestbedError(
                    f'the migration was over before {stage}.')
            return self._reached(stage)

        network.wait_for(f'the migration is {stage}', reached, STARTS_S,
                         every=0.2)

    def _reached(self, stage: str) -> bool:
        if stage == 'completing':
            return (self._on.api.volume(self._volume)['migration_status']
                    == stage)
        copy = next(iter(self.copies()), None)
        if stage == 'creating' or copy is None:
            return copy is not None
        if stage == 'reserved':
            return copy['status'] in ('reserved', 'attaching')
        return self.written_mib(copy) >= COPYING_MIB

    def written_mib(self, record: dict) -> float:
        """MiB written to the logical volume of a record."""
        node = (record['os-vol-host-attr:host'] or '').partition('@')[0]
        if not node:
            return 0.0
        status, said = self._on.on(
            node, 'd=$(readlink -f /dev/ssd/volume-'
            f'{record["os-vol-mig-status-attr:name_id"] or record["id"]}) && '
            'cat /sys/block/${d#/dev/}/stat', 20)
        return int(said.split()[6]) / 2048 if status == 0 else 0.0

    @contextlib.contextmanager
    def watched(self) -> Iterator[Watch]:
        """Notes all that changes meanwhile."""
        watch = Watch({
            'records': self._records, 'attachments': self._attachments,
            'server': self._shown, 'services': self._services,
        }, {'block job': self._job, 'copy': self._progress})
        with watch.running():
            yield watch

    def _records(self) -> str:
        said = []
        for record in self._on.api.volumes():
            status = record['migration_status']
            if record['id'] == self._volume or status:
                kind = ('volume' if record['id'] == self._volume else
                        f'copy {record["id"][:8]}')
                name_id = record['os-vol-mig-status-attr:name_id']
                said.append(
                    f'{kind} {record["status"]} {(status or "-")[:15]} on '
                    f'{names.host(record["os-vol-host-attr:host"] or "?")}'
                    f', {len(record["attachments"])} attachments'
                    + (f', name_id {name_id[:8]}' if name_id else ''))
        return '; '.join(sorted(said, reverse=True))

    def _attachments(self) -> str:
        wanted = {self._volume, *(copy['id'] for copy in self.copies())}
        return '; '.join(sorted(
            f'{one["volume_id"][:8]} {one["status"]}'
            for one in self._on.api.ask(
                'GET', '/attachments/detail?all_tenants=1')['attachments']
            if one['volume_id'] in wanted))

    def _shown(self) -> str:
        try:
            found = self._servers.show(self._server)
        except rest.Refused as refused:
            if refused.status != 404:
                raise
            return 'gone'
        return (f'{found["status"]}, task '
                f'{found["OS-EXT-STS:task_state"] or "-"}, power state '
                f'{found["OS-EXT-STS:power_state"]}')

    def _services(self) -> str:
        found = self._on.api.ask('GET', '/os-services')['services']
        found += self._servers.ask('GET', '/os-services')['services']
        down = [f'{one["binary"]} {one["host"]}' for one in found
                if one['state'] != 'up']
        return f'down: {", ".join(down)}' if down else 'all up'

    def _job(self) -> str:
        """libvirt's own; one that follows the writes is at 99 % or 100 %."""
        assert self._on.nova
        return ' '.join(self._on.nova.compute.call(
            'for d in $(virsh list --name); do\n'
            '  for t in $(virsh domblklist $d | awk "NR>2{print \\$1}"); do\n'
            '    virsh blockjob $d $t --info 2>&1 | grep Copy | '
            'sed "s/^/$t: /"\n'
            '  done\ndone; true', 20).split()).replace('[ 99 %]', '[100 %]')

    def _progress(self) -> str:
        return '; '.join(f'{self.written_mib(copy):.0f} MiB written'
                         for copy in self.copies())

    def actions(self) -> list[str]:
        """Nova's record of what was asked of the server, with its end."""
        with contextlib.suppress(OSError, rest.Refused):
            path = f'/servers/{self._server}/os-instance-actions'
            return [_action(self._servers.ask(
                'GET', f'{path}/{one["request_id"]}')['instanceAction'])
                for one in self._servers.ask('GET', path)['instanceActions']]
        return []


def _action(said: dict) -> str:
    events = ', '.join(
        f'{event["event"]} {event["start_time"]} to {event["finish_time"]} '
        f'{event["result"]}' for event in said.get('events') or ())
    return (f'{said["action"]} at {said["start_time"]}, message '
            f'{said["message"]}: {events}')


class Watch:
    """What some questions were answered, each time that it has changed.

    ``lines`` are (seconds, question, answer).
    """

    def __init__(self, often: dict[str, Callable[[], str]],
                 seldom: dict[str, Callable[[], str]]) -> None:
        self.lines: list[tuple[float, str, str]] = []
        self.last: dict[str, str] = {}
        self.changed: dict[str, float] = {}
        self._often, self._seldom = often, seldom
        self._began = time.monotonic()

    @property
    def now(self) -> float:
        return time.monotonic() - self._began

    def note(self, what: str, said: Any) -> None:
        self.lines.append((round(self.now, 1), what, str(said)))

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        stop = threading.Event()
        threads = [threading.Thread(
            target=self._watch, args=(questions, every, stop), daemon=True)
            for questions, every in ((self._often, 1),
                                     (self._seldom, SLOW_S))]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)

    def _watch(self, questions: dict[str, Callable[[], str]], every: float,
               stop: threading.Event) -> None:
        while True:
            for what, ask in questions.items():
                try:
                    said = ask()
                except (OSError, layout.TestbedError, KeyError) as error:
                    said = f'no answer: {type(error).__name__}'
                if said != self.last.get(what):
                    self.last[what] = said
                    self.changed[what] = self.now
                    self.note(what, said)
            if stop.wait(every):
                return
