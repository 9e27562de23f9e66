# SPDX-License-Identifier: Apache-2.0
"""What a fault in an in-use migration leaves: server, volume and data."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.testbed import layout
from tests.testbed.nova import cases
from tests.testbed.nova.migration import Watch
from tests.testbed import rest

RUNNING = 1
"""Nova's number of the power state."""

REFUSED = 'does not work'

_POWER = 'OS-EXT-STS:power_state'


@dataclasses.dataclass(frozen=True)
class Leftover:
    """Of a scene; what is found is kept in ``row``, noted by ``watch``."""

    scene: cases.Scene
    row: dict[str, Any]
    watch: Watch

    def volume(self) -> str:
        """The pool that it is on."""
        found = self.scene.on.api.volume(self.scene.volume)
        self.row['volume'] = f'{found["status"]}, {found["migration_status"]}'
        return found['os-vol-host-attr:host']

    def look(self) -> cases.Scene | None:
        """The scene for a further trial, its volume detached.

        The server's blocks are read live; it is started or rebooted where it
        does not run. None where the server is of no more use.
        """
        row, scene, servers = self.row, self.scene, self.scene.servers
        row['data'] = scene.proof.data
        try:
            row['server'] = servers.status(scene.server)
        except rest.Refused:
            row['server'] = 'gone'
            self.volume()
            return None
        if row['server'] == 'SHUTOFF':
            scene.proof.check_at_rest()
            row['start'] = scene.act(**{'os-start': None})
            try:
                servers.wait(scene.server, 'ACTIVE', 120)
                row['server'] = 'SHUTOFF, ACTIVE once started'
            except layout.TestbedError as error:
                row['server'] = f'SHUTOFF, not started: {error}'
                return None
        elif row['server'] != 'ACTIVE':
            return None
        elif servers.show(scene.server)[_POWER] != RUNNING:
            row['server'] = ('does not run; rebooted, hard: '
                             f'{scene.act(reboot={"type": "HARD"})}')
            servers.wait(scene.server, 'ACTIVE', 300)
        scene.proof.check_live()
        if row['outcome'] == 'stuck':
            return None
        row['detach'] = self._detach()
        if row['detach'] == REFUSED:
            return None
        scene.proof.check_at_rest()
        return dataclasses.replace(
            scene, source=scene.on.host_of(scene.volume).number)

    def _detach(self) -> str:
        """Whether it works; a server whose disk is broken is rebooted."""
        servers, scene = self.scene.servers, self.scene
        try:
            servers.detach(scene.server, scene.volume)
            return 'works'
        except (layout.TestbedError, rest.Refused):
            self.watch.note('server', 'keeps the volume; it is rebooted, '
                            f'hard: {scene.act(reboot={"type": "HARD"})}')
        try:
            servers.wait(scene.server, 'ACTIVE', 300)
            scene.proof.check_live()
            servers.detach(scene.server, scene.volume)
            return 'works once the server is rebooted, hard'
        except (layout.TestbedError, rest.Refused) as error:
            self.watch.note('server', f'keeps the volume: {error}')
            return REFUSED
