# SPDX-License-Identifier: Apache-2.0
"""The steps of a migration that Cinder has accepted, by the clock.

As in Cinder 29: ``starting``, ``migrating`` with a hidden ``target:``
record, ``completing``, then ``success`` with the old copy being wiped, or
``error``. Time is the caller's clock: what was due happens, at its time,
before each answer.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
import dataclasses
import functools
import heapq
import itertools

from serifos.facts import extra_specs
from serifos.facts import inventory
from serifos.facts import names
from serifos.facts.servers import Attachment
from serifos.facts.workload import Workload

STEP_S = 1.0
"""The time of each step that neither copies nor wipes."""

EXCHANGED = ('size_gib', 'name', 'description', 'metadata', 'bootable')
"""What a tenant sets of a volume and Cinder exchanges with its copy."""


def exchanged(was: inventory.Record, copy: inventory.Record
              ) -> tuple[inventory.Record, inventory.Record]:
    """A volume and its old copy, as ``finish_volume_migration`` leaves them.

    The statuses, the pools and the names of the logical volumes aside.
    """
    return (dataclasses.replace(
        was, volume_type=copy.volume_type,
        **{name: getattr(copy, name) for name in EXCHANGED}),
        dataclasses.replace(copy, **{
            **{name: getattr(was, name) for name in EXCHANGED},
            'description': f'migration src for {was.id}'}))


class Migrations:
    """Volumes, and the events that are scheduled for them.

    :param clock: seconds of the epoch
    :param gib_per_s: how fast a volume is copied, and a thick one wiped
    """

    def __init__(self, pools: Iterable[inventory.PoolStats],
                 records: Iterable[inventory.Record],
                 clock: Callable[[], float],
                 types: Iterable[inventory.Type], gib_per_s: float) -> None:
        self.pools = {pool.name: pool for pool in pools}
        self._records = {record.id: record for record in records}
        self._types = {kind.name: kind for kind in types}
        self._clock, self._now = clock, clock()
        self.gib_per_s = gib_per_s
        self._agenda: list[tuple[float, int, Callable[[], object]]] = []
        self._order = itertools.count()
        self._copies: dict[str, Workload] = {}
        self.swaps: dict[str, Attachment] = {}
        self._last_copied: dict[str, float] = {}
        self.lvs = {(record.pool or '', f'volume-{record.lv_id}')
                    for record in self._records.values()}

    def _begin(self, was: inventory.Record, pool: str,
               fault: str | None) -> None:
        """The API's part; the scheduler and cinder-volume follow."""
        self.change(was.id, migration_status='starting', status=(
            'maintenance' if was.status == 'available' else was.status))
        self._later(STEP_S, self._scheduled, was, pool, fault)

    def _scheduled(self, was: inventory.Record, pool: str,
                   fault: str | None) -> None:
        stats = self._stats(self.pools[pool])
        kind = self._types.get(was.volume_type or '')
        if fault == 'full' or stats.free_gib < was.size_gib or (
                kind and extra_specs.unmet(
                    kind.extra_specs, stats.capabilities) is not None):
            self.change(was.id, migration_status='error', status=was.status)
            return
        self.change(was.id, migration_status='migrating')
        half = None
        if was.status == 'in-use' or _host(pool) != _host(was.pool):
            half = f'copy-at-{pool}-of-{was.id}'
            self._records[half] = dataclasses.replace(
                was, id=half, pool=pool, status='available', attachments=(),
                name_id=None, migration_status=f'target:{was.id}',
                updated_at=self._now)
            self.lvs.add((pool, f'volume-{half}'))
        for each, write_pct in (was.id, 0.0), (half, 100.0):
            if each:
                self._copies[each] = self._copying(write_pct)
        takes_s = was.size_gib / self.gib_per_s
        if fault == 'killed':
            self._later(takes_s / 2, self._still, was.id, half)
        elif half is None:
            self._later(takes_s + self._wiping_s(was), self._copied_within,
                        was, pool, fault)
        else:
            self._later(takes_s, self._copied, was, half, fault)

    def _still(self, *ids: str | None) -> None:
        for each in filter(None, ids):
            self._copies.pop(each, None)
            self._last_copied[each] = self._now

    def _copied_within(self, was: inventory.Record, pool: str,
                       fault: str | None) -> None:
        """By the LVM driver itself, between two groups of one host."""
        self._still(was.id)
        done = {'migration_status': 'error'} if fault == 'error' else {
            'migration_status': 'success', 'pool': pool}
        if 'pool' in done:
            self.rename_lv((was.pool, f'volume-{was.lv_id}'),
                           (pool, f'volume-{was.lv_id}'))
        self.change(was.id, status=was.status, **done)

    def _copied(self, was: inventory.Record, half: str,
                fault: str | None) -> None:
        self._still(was.id, half)
        if fault == 'error':
            self.change(was.id, migration_status='error', status=was.status)
            self._wipe(half)
            return
        self.change(was.id, migration_status='completing')
        if fault != 'not renamed':
            self._later(STEP_S, self._completed, was, half, fault)

    def _completed(self, was: inventory.Record, half: str,
                   fault: str | None) -> None:
        """The target renames what is not in use, and the source swaps."""
        target = self._records[half].pool
        keeps = was.status == 'in-use' or fault == 'not renamable'
        if not keeps:
            self.rename_lv((target, f'volume-{half}'),
                           (target, f'volume-{was.id}'))
        if fault == 'half recorded':
            return
        self.change(half, name_id=was.name_id)
        self.change(was.id, name_id=half if keeps else None)
        if fault in ('renamed', 'not renamable'):
            return
        now, old = exchanged(self._records[was.id], self._records[half])
        self._records[was.id] = now
        self.change(was.id, pool=target, migration_status=None,
                    status='available')
        if fault == 'half swapped':
            return
        self._records[half] = old
        self.change(half, pool=was.pool, migration_status='deleting',
                    name_id=was.lv_id, status='deleting')
        self.change(was.id, migration_status='success', status=was.status)
        if fault == 'busy':
            self.change(half, status='error_deleting')
        else:
            self._wipe(half)

    def rename_lv(self, old: tuple[str | None, str],
                  new: tuple[str | None, str]) -> None:
        if old in self.lvs and new not in self.lvs:
            self.lvs -= {old}
            self.lvs |= {new}

    def _gone(self, volume_id: str, with_data: bool = True) -> None:
        record = self._records.pop(volume_id, None)
        if record and with_data:
            self.lvs -= {(record.pool, f'volume-{record.lv_id}')}

    def _wipe(self, volume_id: str) -> None:
        self.change(volume_id, status='deleting')
        self._later(self._wiping_s(self._records[volume_id]),
                    self._gone, volume_id)

    def _wiping_s(self, record: inventory.Record) -> float:
        pool = self.pools.get(record.pool or '')
        thin = pool is None or pool.thin
        return STEP_S if thin else record.size_gib / self.gib_per_s

    def _live(self) -> None:
        """Runs the events that are due."""
        while self._agenda and self._agenda[0][0] <= self._clock():
            self._now, _, happen = heapq.heappop(self._agenda)
            happen()
        self._now = self._clock()

    def _later(self, seconds: float, happen: Callable[..., object],
               *facts: object) -> None:
        heapq.heappush(self._agenda, (
            self._now + seconds, next(self._order),
            functools.partial(happen, *facts)))

    def change(self, volume_id: str, **changes: object) -> None:
        self._records[volume_id] = dataclasses.replace(
            self._records[volume_id],
            **{'updated_at': self._now, **changes})

    def _stats(self, pool: inventory.PoolStats) -> inventory.PoolStats:
        taken = sum(record.size_gib for record in self._records.values()
                    if record.pool == pool.name)
        return dataclasses.replace(
            pool, free_gib=pool.total_gib - taken)

    def _copying(self, write_pct: float) -> Workload:
        iops = self.gib_per_s * 1024
        return Workload(write_pct, 1024.0, 1.0, 0.0, iops, 1e6 / iops)


def _host(pool: str | None) -> str:
    return names.host(pool or '')
