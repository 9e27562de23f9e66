# SPDX-License-Identifier: Apache-2.0
"""A Cinder and its telemetry without hardware, faults included.

The verbs are those of :mod:`serifos.volumes` and of
:class:`serifos.activity.Telemetry`; a volume's life in a migration is that
of Cinder 29: ``starting``, ``migrating`` with a hidden ``target:`` record,
then ``success`` with the old copy on its way out, or ``error``. Time is the
caller's clock; nothing happens between two questions.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from serifos import activity as act
from serifos import errors
from serifos import inventory as inv
from serifos.plan import movable
from serifos import volumes
from serifos import workload as wl

FAULTS = ('error', 'killed', 'no answer', 'lost', 'refused')
"""What a migration can come to.

``error``: the copy fails. ``killed``: the source dies in the copy.
``no answer``: it runs, but the request got no answer. ``lost``: neither
did the request arrive. ``refused``: Cinder says no.
"""

_IDLE = wl.Workload(0.0, 0.0, 0.0, iops=0.0, latency_us=0.0)


@dataclasses.dataclass(frozen=True)
class _Copy:
    """A migration under way."""

    target: str
    copied_at: float
    deleted_at: float
    fault: str | None

    @property
    def half(self) -> str:
        return f'copy-at-{self.target}'


class Cinder:
    """Volumes that migrate by the clock.

    :param clock: seconds of the epoch
    :param workloads: volume → what it does all the time
    :param gib_per_s: how fast a volume is copied, and wiped again
    """

    def __init__(self, pools: Iterable[inv.PoolStats],
                 records: Iterable[inv.Record], clock: Callable[[], float],
                 workloads: Mapping[str, wl.Workload] | None = None,
                 types: Iterable[inv.Type] = (),
                 gib_per_s: float = 0.1) -> None:
        self._pools = {pool.name: pool for pool in pools}
        self.services = {
            name.partition('#')[0]: inv.Service(
                'cinder-volume', name.partition('#')[0], zone='nova',
                backend_up=True) for name in self._pools}
        self._records = {record.id: record for record in records}
        self._clock, self._types = clock, tuple(types)
        self._workloads = dict(workloads or {})
        self._speed = gib_per_s
        self._copies: dict[str, _Copy] = {}
        self.faults: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        self.answers = True
        self.started: dict[str, float] = {}
        self.unseen: dict[str, str] = {}

    # The verbs of serifos.volumes

    def inventory(self) -> inv.Inventory:
        self._live()
        return inv.Inventory(
            tuple(self._stats(pool) for pool in self._pools.values()
                  if self._serves(pool.name)),
            tuple(self.services.values()), tuple(self._records.values()),
            self._types)

    def volume(self, volume_id: str) -> inv.Record | None:
        self._live()
        return self._records.get(volume_id)

    def halves(self, volume_id: str) -> tuple[inv.Record, ...]:
        self._live()
        return tuple(
            record for record in self._records.values()
            if volume_id in (record.target_of, movable.leftover_of(record)))

    def migrate(self, volume_id: str, pool: str) -> None:
        self._live()
        self.asked.append((volume_id, pool))
        fault = self.faults.get(volume_id)
        if fault == 'lost':
            raise errors.CloudError('Cinder does not answer: timed out.')
        record = self._records.get(volume_id)
        if record is None or fault == 'refused' or pool == record.pool or (
                not self._serves(pool)) or (
                movable.why_not(record, movable.Rules(True), 0.0)):
            raise volumes.Refused('Cinder says no: invalid volume.')
        self._begin(record, pool, fault)
        if fault == 'no answer':
            raise errors.CloudError('Cinder does not answer: timed out.')

    def reset(self, volume_id: str, status: str | None = None) -> None:
        self._live()
        self._copies.pop(volume_id, None)
        record = self._records[volume_id]
        self._change(volume_id, migration_status=None,
                     status=status or record.status)

    def delete(self, volume_id: str) -> None:
        self._live()
        record = self._records.get(volume_id)
        if record is not None and record.migration_status is not None:
            raise volumes.Refused('Cinder says no: it is being migrated.')
        self._records.pop(volume_id, None)

    # The verb of serifos.activity

    def observe(self, places: Sequence[act.Place],
                window_s: float) -> act.Observed:
        self._live()
        volumes_seen = {
            place.volume: act.Activity(
                self._workloads.get(place.volume, _IDLE), None, window_s, 40,
                self._quiet(place.volume))
            for place in places if place.pool not in self.unseen}
        return act.Observed(
            self._clock(), volumes_seen, {}, {
                place.volume: self.unseen[place.pool] for place in places
                if place.pool in self.unseen},
            dict(self.unseen), dict(self.started))

    # What a test does to it

    def serve(self, pool: str, **changes: object) -> None:
        """Changes the service of a pool: ``up=False``, say."""
        host = pool.partition('#')[0]
        self.services[host] = dataclasses.replace(
            self.services[host], **changes)

    def _serves(self, pool: str) -> bool:
        service = self.services[pool.partition('#')[0]]
        return service.up and service.enabled

    def _stats(self, pool: inv.PoolStats) -> inv.PoolStats:
        taken = sum(record.size_gib for record in self._records.values()
                    if record.pool == pool.name)
        return dataclasses.replace(
            pool, free_gib=pool.total_gib - taken, allocated_gib=taken)

    def _quiet(self, volume_id: str) -> float:
        record = self._records.get(volume_id)
        copying = record is not None and (
            volume_id in self._copies and
            self._copies[volume_id].fault != 'killed')
        busy = copying or volume_id in self._workloads
        return 0.0 if busy else 1e6

    def _change(self, volume_id: str, **changes: object) -> None:
        self._records[volume_id] = dataclasses.replace(
            self._records[volume_id],
            updated_at=movable.stamp(self._clock()), **changes)

    def _begin(self, record: inv.Record, pool: str,
               fault: str | None) -> None:
        takes = record.size_gib / self._speed
        copy = _Copy(pool, self._clock() + takes,
                     self._clock() + 2 * takes, fault)
        self._copies[record.id] = copy
        locked = 'maintenance' if record.status == 'available' else None
        self._change(record.id, migration_status='migrating',
                     status=locked or record.status)
        half = f'{copy.half}-of-{record.id}'
        self._records[half] = dataclasses.replace(
            record, id=half, pool=pool, migration_status=(
                f'target:{record.id}'),
            created_at=movable.stamp(self._clock()))

    def _live(self) -> None:
        """Lets happen what was due until now."""
        if not self.answers:
            raise errors.CloudError('Cinder does not answer: no route.')
        for volume_id, copy in list(self._copies.items()):
            if copy.fault != 'killed' and self._clock() >= copy.copied_at:
                self._copied(volume_id, copy)

    def _copied(self, volume_id: str, copy: _Copy) -> None:
        record = self._records[volume_id]
        half = f'{copy.half}-of-{volume_id}'
        status = ('available' if record.status == 'maintenance'
                  else record.status)
        if copy.fault == 'error':
            del self._records[half], self._copies[volume_id]
            self._change(volume_id, migration_status='error', status=status)
        elif record.pool != copy.target:
            self._change(half, pool=record.pool, status='deleting',
                         migration_status='deleting',
                         description=f'migration src for {volume_id}')
            self._change(volume_id, pool=copy.target, status=status,
                         migration_status='success')
        if self._clock() >= copy.deleted_at and volume_id in self._copies:
            del self._records[half], self._copies[volume_id]
