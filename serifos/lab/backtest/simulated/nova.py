# SPDX-License-Identifier: Apache-2.0
"""Nova for a balancer in a simulated world: each volume in use has a server.

The servers are active and their compute service is up, so that Nova refuses
to copy none of their volumes.
"""

from __future__ import annotations

from collections.abc import Iterable

from serifos.balancer.recovery import evidence
from serifos.facts.servers import Action
from serifos.facts.servers import Attachment
from serifos.facts.servers import ComputeService
from serifos.facts.servers import Doings
from serifos.facts.servers import Server
from serifos.facts.servers import Servers

_HOST = 'compute1'


def server_of(volume: str) -> str:
    """The server that a volume in use is attached to."""
    return f'server-of-{volume}'


def attachment(volume: str, status: str = 'attached',
               copy: str | None = None) -> Attachment:
    """That of a volume to its server, or that of its copy."""
    name = copy or volume
    return Attachment(f'attachment-of-{name}', name, status,
                      server_of(volume))


class SimulatedNova:
    """Nova's part, as :class:`.servers.Compute` says.

    :param volumes: those that are in use
    """

    def __init__(self, volumes: Iterable[str] = ()) -> None:
        self._services = {_HOST: ComputeService(_HOST)}
        self._known = Servers({
            name: Server(name, name, 'ACTIVE', 'active', host=_HOST)
            for name in map(server_of, volumes)}, self._services)

    def servers(self) -> Servers:
        return self._known

    def server(self, server_id: str) -> Servers:
        found = self._known.by_id.get(server_id)
        return Servers({} if found is None else {server_id: found},
                       self._services)

    def doings(self, server_id: str, volume_id: str,
               since: float) -> Doings:
        """A copy: nobody asks but of one that was requested."""
        return Doings((Action(evidence.SWAP, since),),
                      attachment(volume_id).id)
