# SPDX-License-Identifier: Apache-2.0
"""Diagnose the migrations under way, and copies left behind.

Cinder and Nova are asked about volumes in use, which Nova copies.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses

from serifos.balancer import join
from serifos.balancer.outcome import Timeouts
from serifos.balancer.recovery import copies
from serifos.balancer.recovery.diagnosis import Diagnosis
from serifos.balancer.recovery.diagnosis import Swap
from serifos.balancer.recovery import evidence
from serifos.balancer.recovery import recover
from serifos.balancer.recovery import stuck
from serifos.balancer.recovery import swap
from serifos.balancer.recovery.swap import AT_WORK
from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import Telemetry
from serifos.facts.inventory import Cloud
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import Record
from serifos.facts import journal
from serifos.facts.journal import Entry
from serifos.facts.journal import Journal
from serifos.facts.servers import Compute
from serifos.facts import times

_MOST_ASKED = 50
"""Backends whose logical volumes are listed for one volume, at most."""


@dataclasses.dataclass(frozen=True)
class Diagnoser:
    """Diagnoses by Cinder, Nova, the journal and activity.

    :param window_s: the window of an observation
    """

    cinder: Cloud
    telemetry: Telemetry
    journal: Journal
    nova: Compute
    window_s: float
    timeouts: Timeouts

    def diagnoses(self, inventory: Inventory,
                  watched: activity.Observed,
                  now: float) -> Iterator[Diagnosis]:
        """Diagnose the migrations under way, and copies left behind.

Cinder and Nova are asked about volumes in use, which Nova copies.
"""
        entries = journal.corrected(self.journal.entries(), now)
        swaps = swaps_of(self.cinder, self.nova, inventory, entries)
        note(swaps.values(), self.journal, now)
        for diagnosis in stuck.diagnoses(
                inventory, watched, now, swaps,
                unasked(self.nova, inventory, entries),
                self.timeouts.limit_s):
            yield self._confirmed(diagnosis, inventory, watched)

    def _confirmed(self, diagnosis: Diagnosis, inventory: Inventory,
                   watched: activity.Observed) -> Diagnosis:
        """One that counts as forgotten, by the logical volumes there are."""
        if not diagnosis.forgotten:
            return diagnosis
        groups = copies.volume_groups(inventory)
        pools = self._pools(diagnosis, groups) & {*groups}
        try:
            names = {pool: self.cinder.logical_volumes(pool)
                     for pool in sorted(pools)}
        except errors.CloudError as exc:
            return dataclasses.replace(diagnosis, forgotten=False, why=(
                'Cinder does not list the logical volumes of '
                f'{" and ".join(sorted(pools))}: {exc}'.rstrip('.')))
        return recover.remembered(
            stuck.confirm(diagnosis, names, groups, watched),
            self.journal.entries())

    def _pools(self, diagnosis: Diagnosis,
               groups: Collection[str]) -> set[str]:
        """The pools that may have its logical volumes.

        Where it is on its target already its old one may be on any other,
        unless the journal has the request.
        """
        asked = [entry.facts['source'] for entry in self.journal.entries()
                 if entry.kind == 'request'
                 and entry.facts['volume'] == diagnosis.record.id]
        if not asked and len(groups) <= _MOST_ASKED and any(
                half.target_of and half.pool == diagnosis.record.pool
                for half in diagnosis.halves):
            return {*groups}
        return {*asked[-1:], *(end.pool for end in diagnosis.ends if end.pool)}

    def watch(self, inventory: Inventory,
              observed: activity.Observed) -> activity.Observed:
        """Activity over a window long enough for the diagnoses."""
        found = stuck.suspects(inventory)
        if not found:
            return observed
        ends = {*found, *(half.id for halves in found.values()
                          for half in halves)}
        return self.telemetry.observe(
            [place for place in join.places(inventory)
             if place.volume in ends],
            max(self.window_s, stuck.WATCH_S))

    def proven(self, found: Diagnosis, inventory: Inventory,
               disk: str | None, keep: bool) -> Diagnosis:
        """One that is stuck, by what was found on the compute host."""
        ends = {end.id for end in found.ends}
        recent = self.telemetry.observe(
            [place for place in join.places(inventory)
             if place.volume in ends], swap.LOOK_S)
        return self._confirmed(swap.proven(found, recent, disk, keep),
                               inventory, recent)


_OURS_S = 300.0
"""By which the clocks of Nova and ours may differ."""

_NOTE_S = 240.0


def swaps_of(cinder: Cloud, nova: Compute, inventory: Inventory,
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
    for each in swaps:
        if each.waits and now - each.down_at > _NOTE_S:
            assert each.service is not None
            with contextlib.suppress(errors.SerifosError):
                journal.write('compute', host=each.service.host)


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
        each.updated_at or 0.0 for each in (record, copy)) - evidence.SKEW_S)
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
