# SPDX-License-Identifier: Apache-2.0
"""A Nova in memory, behind the port :class:`serifos.facts.servers.Compute`."""

from __future__ import annotations

import dataclasses

from serifos.facts import servers as sv


class Nova:
    """Servers that are active on one compute host.

    :param server_ids: the servers that there are
    """

    def __init__(self, *server_ids: str) -> None:
        self._servers = {name: sv.Server(
            name, f'{name}-vm', 'ACTIVE', 'active', host='compute1')
            for name in server_ids}
        self._service = sv.ComputeService('compute1')
        self.problem: str | None = None
        self.asked: list[str] = []

    def servers(self) -> sv.Servers:
        self.asked.append('all')
        return self._answer(self._servers)

    def server(self, server_id: str) -> sv.Servers:
        self.asked.append(server_id)
        return self._answer({name: server for name, server in
                             self._servers.items() if name == server_id})

    def change(self, server_id: str, **changes: str | None) -> None:
        """A tenant or Nova does something with a server."""
        self._servers[server_id] = dataclasses.replace(
            self._servers[server_id], **changes)

    def stop(self, server_id: str) -> None:
        self.change(server_id, status='SHUTOFF', vm_state='stopped')

    def serve(self, up: bool) -> None:
        """Whether nova-compute is up."""
        self._service = dataclasses.replace(self._service, up=up)

    def _answer(self, found: dict[str, sv.Server]) -> sv.Servers:
        if self.problem is not None:
            return sv.Servers(problem=self.problem)
        return sv.Servers(dict(found), {self._service.host: self._service})
