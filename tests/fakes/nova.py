# SPDX-License-Identifier: Apache-2.0
"""A Nova in memory, behind the port :class:`serifos.facts.servers.Compute`."""

from __future__ import annotations

import dataclasses

from serifos.facts.servers import Action
from serifos.facts.servers import ComputeService
from serifos.facts.servers import Doings
from serifos.facts.servers import Server
from serifos.facts.servers import Servers


class Nova:
    """Servers that are active on one compute host.

    :param server_ids: the servers that there are
    """

    def __init__(self, *server_ids: str) -> None:
        self._servers = {name: Server(
            name, f'{name}-vm', 'ACTIVE', 'active', host='compute1',
            domain=f'instance-{name}', hypervisor='compute1.example')
            for name in server_ids}
        self._actions: list[tuple[str, Action]] = []
        self._service = ComputeService('compute1')
        self.problem: str | None = None
        self.shows_actions = True
        self.asked: list[str] = []

    def servers(self) -> Servers:
        self.asked.append('all')
        return self._answer(self._servers)

    def server(self, server_id: str) -> Servers:
        self.asked.append(server_id)
        return self._answer({name: server for name, server in
                             self._servers.items() if name == server_id})

    def doings(self, server_id: str, volume_id: str,
               since: float) -> Doings:
        actions = [action for name, action in self._actions
                   if name == server_id and action.began_at >= since]
        if server_id not in self._servers or not self.shows_actions:
            return Doings(problem='Nova shows no actions')
        return Doings((*actions,), f'attachment-{volume_id}', '/dev/vdb',
                      self.problem)

    def do(self, server_id: str, name: str, began_at: float,
           **others: object) -> None:
        """Nova records an action."""
        self._actions.append((server_id, Action(name, began_at, **others)))

    def delete(self, server_id: str) -> None:
        del self._servers[server_id]

    def change(self, server_id: str, **changes: str | None) -> None:
        """A tenant or Nova does something with a server."""
        self._servers[server_id] = dataclasses.replace(
            self._servers[server_id], **changes)

    def stop(self, server_id: str) -> None:
        self.change(server_id, status='SHUTOFF', vm_state='stopped')

    def serve(self, up: bool) -> None:
        """Whether nova-compute is up."""
        self._service = dataclasses.replace(self._service, up=up)

    def _answer(self, found: dict[str, Server]) -> Servers:
        if self.problem is not None:
            return Servers(problem=self.problem)
        return Servers(dict(found), {self._service.host: self._service})
