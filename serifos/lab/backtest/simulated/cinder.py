# SPDX-License-Identifier: Apache-2.0
"""Cinder and a journal for a balancer in a simulated world.

The same ports as those of the real ones. All volumes are in use, and all
migrations succeed; the old copy is gone when it is wiped.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
from typing import Any
from typing import NoReturn

import numpy as np

from serifos.cloud import refused
from serifos import errors
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Record
from serifos.facts.inventory import Service
from serifos.facts.inventory import Type
from serifos.facts import journal
from serifos.facts import names
from serifos.facts.servers import Attachment
from serifos.facts import times
from serifos.lab.backtest.simulated import nova
from serifos.lab.backtest.simulated import stretch
from serifos.lab.backtest.simulated.world import World
from serifos.plan.plan import Plan

TYPE = 'backtest'
"""The volume type of all volumes."""

_COPY_OF = 'copy-of-'


class SimulatedCinder:
    """Cinder's part, as :class:`.inventory.Cloud` says.

    :param slo_us: of the type of all volumes, or None
    """

    def __init__(self, world: World,
                 slo_us: float | None = None) -> None:
        self._world = world
        self._types = (Type(TYPE, {} if slo_us is None else {
            names.SLO: f'{slo_us:g}'}),)
        self._number = {volume: i for i, volume
                        in enumerate(world.demand.volumes)}
        self._records: dict[int, Record] = {}
        world.changed = self._write
        for volume in np.flatnonzero(world.home != stretch.ABSENT).tolist():
            self._write(volume)

    def inventory(self) -> Inventory:
        world = self._world
        return Inventory(
            tuple(PoolStats(
                pool.name, pool.total_gib, world.free_gib(i),
                pool.backend_name, pool.model, pool.device,
                used_gib=pool.total_gib - world.free_gib(i))
                for i, pool in enumerate(world.pools)),
            tuple(Service('cinder-volume', host, zone, backend_up=True,
                          updated_at=world.now) for host, zone in {
                              names.backend(pool.name): pool.zone
                              for pool in world.pools}.items()),
            (*self._records.values(), *map(
                self._half, (*world.copies, *world.wipes))),
            self._types)

    def volume(self, volume_id: str) -> Record | None:
        return self._records.get(self._number.get(volume_id, -1))

    def snapshots_of(self, volume_id: str) -> int:
        return 0

    def volume_type(self, name: str) -> Type | None:
        return next((kind for kind in self._types if kind.name == name), None)

    def halves(self, volume_id: str) -> tuple[Record, ...]:
        number = self._number.get(volume_id)
        return (self._half(number),) if (
            number in self._world.copies or number in self._world.wipes
        ) else ()

    def attachments_of(self, volume_id: str) -> tuple[Attachment, ...]:
        if volume_id in self._number:
            return (nova.attachment(volume_id),)
        copied = volume_id.removeprefix(_COPY_OF)
        return (nova.attachment(copied, 'attaching', volume_id),) if (
            self._number.get(copied) in self._world.copies) else ()

    def logical_volumes(self, pool: str) -> frozenset[str] | None:
        return None

    def migrate(self, volume_id: str, pool: str) -> None:
        world, number = self._world, self._number.get(volume_id, -1)
        target = world.number.get(pool)
        if number not in self._records or target is None or (
                number in world.copies or number in world.wipes
                or world.home[number] == target
                or world.free_gib(target) < world.size_gib[number]):
            raise refused.Refused(
                f'Cinder refuses: volume {volume_id} cannot go to {pool}.')
        world.migrate(number, target)
        self._write(number)

    def complete(self, volume_id: str, copy_id: str) -> NoReturn:
        raise _never('complete')

    def reset(self, volume_id: str, status: str | None = None) -> NoReturn:
        raise _never('reset')

    def delete_attachment(self, attachment_id: str) -> NoReturn:
        raise _never('delete an attachment')

    def relabel(self, volume_id: str, named: Mapping[str, str],
                metadata: Mapping[str, str | None]) -> NoReturn:
        raise _never('relabel')

    def delete(self, volume_id: str) -> NoReturn:
        raise _never('delete')

    def unmanage(self, volume_id: str) -> NoReturn:
        raise _never('unmanage')

    def _write(self, number: int) -> None:
        """The record of a volume, as it is now."""
        world, home = self._world, int(self._world.home[number])
        if home == stretch.ABSENT:
            self._records.pop(number, None)
            return
        was = self._records.get(number)
        under_way = number in world.copies
        moved = was is not None and was.migration_status is not None
        self._records[number] = Record(
            world.demand.volumes[number], float(world.size_gib[number]),
            'in-use', world.pools[home].name, volume_type=TYPE,
            attachments=(nova.server_of(world.demand.volumes[number]),),
            migration_status='migrating' if under_way
            else 'success' if moved else None, updated_at=world.now)

    def _half(self, number: int) -> Record:
        """The hidden record of a copy, or of one that is wiped."""
        world, volume = self._world, self._world.demand.volumes[number]
        copy = world.copies.get(number) or world.wipes[number]
        found = Record(
            _COPY_OF + volume, float(world.size_gib[number]),
            'attaching', world.pools[copy.target].name, volume_type=TYPE,
            migration_status=f'target:{volume}', updated_at=copy.began)
        if number in world.copies:
            return found
        return dataclasses.replace(
            found, status='deleting', migration_status='deleting',
            description=f'migration src for {volume}')


def _never(what: str) -> errors.CloudError:
    return errors.CloudError(f'A simulated Cinder cannot {what}.')


@dataclasses.dataclass
class MemoryJournal:
    """A journal of one balancer that is never restarted."""

    world: World
    _entries: list[journal.Entry] = dataclasses.field(default_factory=list)

    def write(self, kind: str, **facts: Any) -> journal.Entry:
        entry = journal.Entry.checked(times.text(self.world.now,
                                                 'milliseconds'),
                                      kind, facts)
        self._entries.append(entry)
        return entry

    def entries(self) -> tuple[journal.Entry, ...]:
        return tuple(self._entries)

    def mark(self) -> None:
        """None: it is not kept."""


@dataclasses.dataclass
class MemoryPlans:
    """The plans of one balancer that nobody looks at: the last one."""

    _last: tuple[Plan, ...] = ()

    def keep(self, plan: Plan, now: float,
             say: Callable[[str], None]) -> Plan:
        self._last = (plan,)
        return plan

    def every(self, say: Callable[[str], None],
              expires_after: float = -math.inf,
              ids: Collection[str] | None = None) -> list[Plan]:
        return [plan for plan in self._last
                if plan.expires_at > expires_after
                and (ids is None or plan.id in ids)]

    def stored(self, plan_id: str) -> Plan:
        for plan in self.every(lambda _: None, ids=[plan_id]):
            return plan
        raise errors.InputError(f'There is no plan {plan_id}.')


def moved(entries: Sequence[journal.Entry]) -> list[tuple[float, float]]:
    """When each migration that succeeded was requested, and its GiB."""
    asked: dict[str, journal.Entry] = {}
    found = []
    for entry in entries:
        if entry.kind == 'request':
            asked[entry.facts['volume']] = entry
        elif entry.kind == 'outcome' and entry.facts['result'] == 'success':
            request: Mapping[str, Any] = asked[entry.facts['volume']].facts
            found.append((times.parse(asked[entry.facts['volume']].at),
                          request['size_gib']))
    return found
