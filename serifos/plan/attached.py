# SPDX-License-Identifier: Apache-2.0
"""Reasons why Nova would not copy a volume in use.

Nova refuses the copy of a server in another state than active, paused or
resized or with a task under way, after Cinder has accepted the migration:
then the reason is only in the log of cinder-volume. So it is asked first.
"""

from __future__ import annotations

from collections.abc import Iterable

from serifos.facts.refusals import Code
from serifos.facts.refusals import Reason
from serifos.facts.servers import Servers

COPIED = ('active', 'paused', 'resized')
"""States (``vm_state``) of a server whose volumes Nova copies."""


def why_not(server_ids: Iterable[str],
            known: Servers) -> Reason | None:
    """Why Nova would refuse to copy a volume, or None.

    :param server_ids: the servers that the volume is attached to
    """
    if known.problem is not None:
        return Code.NOVA_SILENT.of(problem=known.problem)
    return next(filter(None, (_of(name, known) for name in server_ids)), None)


def _of(server_id: str, known: Servers) -> Reason | None:
    server = known.by_id.get(server_id)
    if server is None:
        return Code.SERVER_UNKNOWN.of(server=server_id)
    shown = f'its server {server.name} ({server.id})'
    if server.vm_state is None:
        return Code.SERVER_UNCLEAR.of(unknown='state', server=shown)
    if server.vm_state not in COPIED:
        return Code.SERVER_STOPPED.of(server=shown, status=server.status)
    if server.task_state is not None:
        return Code.SERVER_BUSY.of(server=shown, task=server.task_state)
    if server.off is not None:
        return Code.SERVER_OFF.of(server=shown, status=server.status,
                                  power=server.off)
    if server.host is None:
        return Code.SERVER_UNCLEAR.of(unknown='host', server=shown)
    service = known.services.get(server.host)
    if service is None or not service.up:
        return Code.COMPUTE_DOWN.of(server=shown, host=server.host)
    return None
