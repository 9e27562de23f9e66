# SPDX-License-Identifier: Apache-2.0
"""Reasons why Nova would not copy a volume in use.

Nova refuses the copy of a server in another state than active, paused or
resized or with a task under way, after Cinder has accepted the migration:
then the reason is only in the log of cinder-volume. So it is asked first.
"""

from __future__ import annotations

from collections.abc import Iterable

from serifos.facts.reason import Code
from serifos.facts.reason import Reason
from serifos.facts.servers import Servers

COPIED = ('active', 'paused', 'resized')
"""States (``vm_state``) of a server whose volumes Nova copies."""


def why_not(server_ids: Iterable[str],
            known: Servers) -> Reason | None:
    """Why Nova would refuse to copy a volume, or None.

    :param server_ids: the servers that the volume is attached to
    """
    if known.problem is not None:
        return Reason(
            f'attached, and Nova could not be asked: {known.problem}',
            Code.NOVA_SILENT)
    return next(filter(None, (_of(name, known) for name in server_ids)), None)


def _of(server_id: str, known: Servers) -> Reason | None:
    server = known.by_id.get(server_id)
    if server is None:
        return Reason(
            f'Nova does not list its server {server_id}; it was deleted, '
            'or its cell does not answer. Where openstack server show '
            f'{server_id} finds none either, delete the attachment that '
            'is left of it, whose id is in openstack volume show: '
            'openstack --os-volume-api-version 3.27 volume attachment '
            'delete ATTACHMENT', Code.SERVER_UNKNOWN)
    said = f'its server {server.name} ({server.id})'
    if server.vm_state is None:
        return Reason(
            f'Nova does not know the state of {said}: its cell is down',
            Code.SERVER_UNCLEAR)
    if server.vm_state not in COPIED:
        return Reason(
            f'{said} is {server.status}; Nova copies volumes of servers '
            'that are ACTIVE, PAUSED or resized', Code.SERVER_STOPPED)
    if server.task_state is not None:
        return Reason(f'{said} has a task under way: {server.task_state}',
                      Code.SERVER_BUSY)
    if server.off is not None:
        return Reason(
            f'{said} is {server.status} and does not run: its power state '
            f'is {server.off}', Code.SERVER_OFF)
    if server.host is None:
        return Reason(f'Nova does not say on which host {said} is',
                      Code.SERVER_UNCLEAR)
    service = known.services.get(server.host)
    if service is None or not service.up:
        return Reason(
            f'the nova-compute of {said}, on {server.host}, is down',
            Code.COMPUTE_DOWN)
    return None
