# SPDX-License-Identifier: Apache-2.0
"""Operations on volumes that wait for their outcome.

Cinder itself answers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

from serifos.facts import names
from tests.testbed import layout
from tests.testbed import network
from tests.testbed import rest

MIGRATION_S = 1200.0
"""Seconds that one of 1 GiB may take: 110 to 150 on a machine that is not
disturbed, most of it the processor's."""

_SLACK_GIB = 0.5
"""Less than any volume: for figures that Cinder rounds."""


class Volumes:
    """The volumes of these hosts, by the REST API ``api``."""

    def __init__(self, api: rest.Rest,
                 hosts: Sequence[layout.Host]) -> None:
        self.api = api
        self.hosts = tuple(hosts)

    def host(self, number: int) -> layout.Host:
        for host in self.hosts:
            if host.number == number:
                return host
        raise layout.TestbedError(
            f'there is no host {number}, only 1 to {len(self.hosts)}.')

    def create_volume(self, name: str, **options) -> str:
        """As rest.Rest.create_volume, and waits for it: the volume's id."""
        volume = self.api.create_volume(name, **options)
        self.wait_available(volume)
        return volume

    def wait_room(self, seconds: float = 120) -> None:
        """Until the scheduler knows all the room that no volume takes.

        What was deleted, or filled or killed and is so no more, it learns of
        when that host's cinder-volume tells its statistics the next time.
        What Cinder counts as allocated is not asked for: after a failed
        migration that is too much until cinder-volume is restarted.
        """
        def known() -> bool:
            volumes, pools = self.api.volumes(), self.api.pools()
            return {host.pool for host in self.hosts} <= {*pools} and all(
                float(pool['free_capacity_gb'])
                > float(pool['total_capacity_gb']) - _SLACK_GIB - sum(
                    volume['size'] for volume in volumes
                    if volume['os-vol-host-attr:host'] == name)
                for name, pool in pools.items())

        self._wait('statistics without what is gone', known, seconds,
                   every=0.5)

    def wait_available(self, volume: str, seconds: float = 120) -> dict:
        """The volume, once it is available and does not migrate."""
        return self._wait_volume(volume, (None, 'success', 'error'), seconds)

    def wait_migrated(self, volume: str,
                      seconds: float = MIGRATION_S) -> dict:
        """The volume, once its migration ended, in whichever way.

        While Cinder completes one, the volume reads as available and of no
        migration for a moment.
        """
        return self._wait_volume(volume, ('success', 'error'), seconds)

    def _wait_volume(self, volume: str, ends: Sequence[str | None],
                     seconds: float) -> dict:
        def settled() -> dict | None:
            found = self.api.volume(volume)
            if found['status'].startswith('error'):
                raise layout.TestbedError(
                    f"volume {found['name']} is in {found['status']}.")
            ended = found['migration_status'] in ends
            return found if found['status'] == 'available' and ended else None

        return self._wait(f'volume {volume} is available', settled, seconds)

    def delete_volume(self, volume: str, seconds: float = 120) -> None:
        """Waits until it has gone."""
        self.delete_volumes([volume], seconds)

    def delete_volumes(self, which: Iterable[str],
                       seconds: float = 120) -> None:
        """All at once; waits until they have gone."""
        going = {*which}
        for volume in going:
            self.api.delete_volume(volume)
        self._wait(
            f"volumes {', '.join(going)} are deleted",
            lambda: not going & {each['id'] for each in self.api.volumes()},
            seconds)

    def migrate(self, volume: str, number: int,
                seconds: float = MIGRATION_S) -> dict:
        """Migrates to the host; the volume, once the old copy has gone.

        Its migration_status is ``success``, or ``error`` where it stayed.
        """
        self.api.migrate(volume, self.host(number).pool)
        found = self.wait_migrated(volume, seconds)
        self.wait_no_copies(seconds)
        return found

    def wait_no_copies(self, seconds: float = MIGRATION_S) -> None:
        """Until no second record of a migration is left."""
        self._wait('the old copy is deleted', lambda: not self.copies(),
                   seconds, every=0.5)

    def copies(self) -> list[dict]:
        """Records that a migration made: its target, or its old source."""
        return [volume for volume in self.api.volumes()
                if (volume['migration_status'] or '').startswith('target:')
                or volume['migration_status'] == 'deleting']

    def host_of(self, volume: str) -> layout.Host:
        """Where the volume lives now."""
        pool = self.api.volume(volume)['os-vol-host-attr:host']
        return self.host(number(names.host(pool)))

    def device_of(self, volume: str) -> str:
        """The path of the volume's LV on its host."""
        found = self.api.volume(volume)
        name = found.get('os-vol-mig-status-attr:name_id') or volume
        return f'/dev/{layout.BACKEND}/volume-{name}'

    def _wait(self, what: str, ready: Callable[[], Any], seconds: float,
              every: float = 0.3) -> Any:
        """As network.wait_for; also while Cinder does not answer.

        What it needs may be coming back just now: what it refuses is raised,
        what it fails at (5xx) is asked again.
        """
        def quietly() -> Any:
            try:
                return ready()
            except OSError:
                return None
            except rest.Refused as refused:
                if refused.status < 500:
                    raise
                return None

        return network.wait_for(what, quietly, seconds, every)


def number(node: int | str) -> int:
    return int(str(node).removeprefix('node'))
