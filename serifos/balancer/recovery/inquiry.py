# SPDX-License-Identifier: Apache-2.0
"""What Cinder and Nova say of the volumes in use that Nova copies."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import contextlib
import dataclasses

from serifos.balancer.recovery.diagnosis import Swap
from serifos.balancer.recovery import evidence
from serifos.balancer.recovery import recover
from serifos.balancer.recovery import stuck
from serifos.balancer.recovery.swap import AT_WORK
from serifos import errors
from serifos.facts.inventory import Cloud
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.facts.journal import Entry
from serifos.facts.journal import Journal
from serifos.facts.servers import Compute
from serifos.facts import times

SKEW_S = 60.0
"""By which the clocks of Nova and Cinder may differ."""

_OURS_S = 300.0
"""The same of Nova's and ours."""

_NOTE_S = 240.0


def swaps(cinder: Cloud, nova: Compute, inventory: Inventory,
          entries: Sequence[Entry]) -> dict[str, Swap]:
    """Of each volume with a copy that Nova works on, by the volume's id.

    :param entries: the journal's, which name the recoveries that were begun
    """
    found = {}
    for volume, halves in stuck.suspects(inventory).items():
        copy = next((half for half in halves if half.target_of == volume
                     and half.status in AT_WORK), None)
        if copy is None:
            continue
        try:
            swap = _ask(cinder, nova, inventory.record_by_id[volume], copy)
        except errors.CloudError as exc:
            swap = Swap(copy, problem=str(exc).rstrip('.'))
        found[volume] = dataclasses.replace(
            recover.resumed(swap, volume, entries),
            down_at=_down_at(swap, entries))
    return found


def unasked(nova: Compute, inventory: Inventory,
            entries: Sequence[Entry]) -> frozenset[str]:
    """Volumes in use whose copy is made, and which Nova was not asked for.

    By what their servers' actions in Nova are since this balancer asked for
    the migration; of what others asked for that is not known.
    """
    asked = {entry.facts['volume']: times.parse(entry.at)
             for entry in entries if entry.kind == 'request'}
    return frozenset(
        volume for volume, halves in stuck.suspects(inventory).items()
        if volume in asked and any(
            half.target_of == volume and half.status == 'available'
            for half in halves)
        and _was_not_asked(nova, inventory.record_by_id[volume],
                           asked[volume]))


def note(swaps: Iterable[Swap], journal: Journal, now: float) -> None:
    """Writes down which nova-compute is down, at most every few minutes."""
    for swap in swaps:
        if swap.waits and now - swap.down_at > _NOTE_S:
            assert swap.service is not None
            with contextlib.suppress(errors.SerifosError):
                journal.write('compute', host=swap.service.host)


def _down_at(swap: Swap, entries: Iterable[Entry]) -> float:
    return max((times.parse(entry.at) for entry in entries
                if entry.kind == 'compute' and swap.service is not None
                and entry.facts['host'] == swap.service.host), default=0.0)


def _ask(cinder: Cloud, nova: Compute, record: Record,
         copy: Record) -> Swap:
    swap = Swap(copy, cinder.attachments_of(record.id),
                cinder.attachments_of(copy.id))
    server_id = swap.server_id
    if server_id is None:
        return swap
    servers = nova.server(server_id)
    if servers.absent is not None:
        return dataclasses.replace(swap, problem=(
            f'there is no Nova to ask: {servers.absent}'))
    # The volume is changed when its migration begins, and by its tenant at
    # any time; the created_at of a copy is that of its volume.
    doings = nova.doings(server_id, record.id, min(
        each.updated_at or 0.0 for each in (record, copy)) - SKEW_S)
    server = servers.by_id.get(server_id)
    return dataclasses.replace(
        swap, server=server, doings=doings, problem=servers.problem,
        service=servers.services.get((server.host if server else None) or ''))


def _was_not_asked(nova: Compute, record: Record,
                   since: float) -> bool:
    """Whether no server of it had such an action, and all have it still."""
    doings = [nova.doings(server, record.id, since - _OURS_S)
              for server in record.attachments]
    return bool(doings) and all(
        each.problem is None and each.attachment_id is not None
        and not any(action.name == evidence.SWAP for action in each.actions)
        for each in doings)
