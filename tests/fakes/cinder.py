# SPDX-License-Identifier: Apache-2.0
"""A Cinder and its telemetry in memory, behind the same ports.

The verbs are those of :class:`serifos.facts.inventory.Cloud` and of
:class:`serifos.facts.activity.Telemetry`. What the API of Cinder 29 refuses
is refused here, what it takes up and fails at later fails later, and faults
come by script.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import Telemetry
from serifos.facts import cinder_errors
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Record
from serifos.facts.inventory import Service
from serifos.facts.inventory import Type
from serifos.facts import names
from serifos.facts.workload import Workload
from serifos.plan import eligibility
from tests.fakes import migrations
from tests.fakes import swaps

COMPLETING = ('not renamed', 'half recorded', 'renamed', 'not renamable',
              'half swapped')
"""Steps of completing a migration after which the source can die.

``not renamed``: the copy still has its own name. ``half recorded``: the target
has renamed it, and died too. ``renamed``: it has recorded that, too.
``not renamable``: it could not rename it, and recorded that. ``half
swapped``: the source has written the volume's record, and not the copy's.
"""

FAULTS = ('full', 'error', 'killed', 'busy', 'no answer', 'lost', 'late',
          'refused', 'denied', 'throttled', *COMPLETING, *swaps.SWAPS)
"""Faults of a migration, beside those of :mod:`.swaps`.

``full``: the scheduler finds no room. ``error``: the copy fails.
``killed``: the source dies in the copy. ``busy``: it succeeds, but the old
copy cannot be deleted. ``no answer``: it runs, but the request got no
answer. ``lost``: neither did the request arrive. ``late``: it arrives
after :data:`LATE_S`. ``refused``: Cinder refuses, as for a snapshot that was
taken meanwhile. ``denied``: the account lacks the right. ``throttled``: a
rate limit.
"""

LATE_S = 75.0
RETRY_AFTER_S = 7

_IDLE = Workload(0.0, 0.0, 0.0, iops=0.0, latency_us=0.0)
_LONG_S = 1e6
_NOT_REPLICATED = (None, 'disabled', 'not-capable')
_DELETABLE = ('available', 'error', 'error_restoring', 'error_extending',
              'error_managing')


class Cinder(swaps.Swaps, Telemetry):
    """Volumes that migrate by the clock, behind the ports.

    :param clock: seconds of the epoch
    :param workloads: volume → what it does all the time
    :param gib_per_s: how fast a volume is copied, and a thick one wiped
    """

    def __init__(self, pools: Iterable[PoolStats],
                 records: Iterable[Record], clock: Callable[[], float],
                 workloads: Mapping[str, Workload] | None = None,
                 types: Iterable[Type] = (),
                 gib_per_s: float = 0.1) -> None:
        super().__init__(pools, records, clock, types, gib_per_s)
        self.services = {
            names.backend(name): Service(
                'cinder-volume', names.backend(name), zone='nova',
                backend_up=True) for name in self.pools}
        self.workloads = dict(workloads or {})
        self.faults: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        self.observed_ago_s = 0.0  # how old the last readings are
        self.answers = True
        self.lists = True
        self.started: dict[str, float] = {}
        self.doubts: dict[str, str] = {}
        self.unseen: dict[str, str] = {}
        self.keys_deleted: list[str] = []

    # The verbs of serifos.cloud.client

    def inventory(self) -> Inventory:
        self._answer()
        return Inventory(
            tuple(self._stats(pool) for pool in self.pools.values()
                  if self._serves(pool.name)
                  and not self.services[names.backend(pool.name)].frozen),
            tuple(service if service.updated_at is not None else
                  dataclasses.replace(service, updated_at=self._clock())
                  for service in self.services.values()),
            tuple(self._records.values()),
            tuple(self._types.values()))

    def under_way(self) -> Inventory:
        found = self.inventory()
        return dataclasses.replace(found, pools=(), types=(), records=tuple(
            record for record in found.records if eligibility.migrating(record)
            or record.migration_status == 'deleting'
            or record.status in ('deleting', 'error_deleting')))

    def volume(self, volume_id: str) -> Record | None:
        self._answer()
        found = self._records.get(volume_id)
        return found and dataclasses.replace(found, snapshots=0)

    def snapshots_of(self, volume_id: str) -> int:
        self._answer()
        found = self._records.get(volume_id)
        return found.snapshots if found else 0

    def volume_type(self, name: str) -> Type | None:
        self._answer()
        return self._types.get(name)

    def halves(self, volume_id: str) -> tuple[Record, ...]:
        self._answer()
        return tuple(
            record for record in self._records.values()
            if volume_id in (record.target_of,
                             eligibility.leftover_of(record)))

    def migrate(self, volume_id: str, pool: str) -> None:
        self._answer()
        self.asked.append((volume_id, pool))
        fault = self.faults.get(volume_id)
        if fault == 'lost':
            raise errors.CloudError('Cinder does not answer: timed out.')
        if fault == 'late':
            self._later(LATE_S, self._late, volume_id, pool)
            raise errors.CloudError('Cinder does not answer: timed out.')
        if fault == 'denied':
            raise cinder_errors.Refused('Cinder denies access (Policy).', 403)
        if fault == 'throttled':
            raise cinder_errors.Refused(
                'Cinder takes no more requests for now.', 429,
                str(RETRY_AFTER_S))
        record = self._known(volume_id)
        if not self._serves(pool):
            raise cinder_errors.Refused(
                'Cinder refuses: Invalid host: No available service named '
                f"'{pool}'.")
        if fault == 'refused' or pool == record.pool or not _free(record):
            raise cinder_errors.Refused(
                f'Cinder refuses: Invalid volume: Volume {volume_id} status '
                'must be available or in-use, must not be migrating, have '
                'snapshots, be replicated, be part of a group and '
                'destination must be different.')
        self._begin(record, pool, fault)
        if fault == 'no answer':
            raise errors.CloudError('Cinder does not answer: timed out.')

    def reset(self, volume_id: str, status: str | None = None) -> None:
        """As Cinder's: it does not stop a copy that runs."""
        self._answer()
        record = self._known(volume_id)
        self.change(volume_id, migration_status=None,
                    status=status or record.status)

    def relabel(self, volume_id: str, named: Mapping[str, str],
                metadata: Mapping[str, str | None]) -> None:
        self._answer()
        record = self._known(volume_id)
        if self.faults.get(volume_id) == 'denied':
            raise cinder_errors.Refused('Cinder denies access (Policy).', 403)
        if record.status == 'maintenance':
            raise cinder_errors.Refused(
                'Cinder refuses: Invalid volume: The volume cannot be '
                'updated during maintenance.')
        its = {**record.metadata, **metadata}
        self.change(volume_id, **named, metadata={
            key: value for key, value in its.items() if value is not None})

    def extend(self, volume_id: str, size_gib: float) -> None:
        """A tenant's request, done at once; not of the port."""
        self._answer()
        if self._known(volume_id).status not in ('available', 'in-use'):
            raise cinder_errors.Refused('Cinder refuses: Invalid volume.')
        self.change(volume_id, size_gib=size_gib)

    def delete(self, volume_id: str) -> None:
        self._answer()
        if self._deletable(volume_id):
            if self._known(volume_id).encrypted:
                # As Cinder's API does, whoever else names the key.
                self.keys_deleted.append(volume_id)
            self._wipe(volume_id)

    def unmanage(self, volume_id: str) -> None:
        self._answer()
        if self._deletable(volume_id):
            if self._known(volume_id).encrypted:
                raise cinder_errors.Refused(
                    'Cinder refuses: Invalid input received: Unmanaging '
                    'encrypted volumes is not supported.')
            self.change(volume_id, status='unmanaging')
            self._later(migrations.STEP_S, self._gone, volume_id, False)

    def logical_volumes(self, pool: str) -> frozenset[str] | None:
        self._answer()
        if not self.lists:
            return None
        return frozenset(name for where, name in self.lvs if where == pool)

    def _deletable(self, volume_id: str) -> bool:
        record = self._records.get(volume_id)
        if record is None:
            return False
        if (record.status not in _DELETABLE or record.group_id
                or record.snapshots or eligibility.migrating(record)):
            raise cinder_errors.Refused(
                'Cinder refuses: Invalid volume: Volume status must be '
                'available or error and must not be migrating, attached, '
                'belong to a group, have snapshots.')
        return True

    # The verb of serifos.facts.activity

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        self._live()
        seen = [each for each in places if each.pool not in self.unseen
                and (each.pool, f'volume-{each.lv_id}') in self.lvs]
        return activity.Observed(
            self._clock() - self.observed_ago_s,
            {place.volume: activity.Activity(
                self._does(place.volume), window_s, 40,
                min(window_s, self._quiet(place.volume)),
                min(window_s, self._unwritten(place.volume)))
                for place in seen}, {},
            {place.volume: self.unseen.get(
                place.pool, f'there is no LV volume-{place.lv_id}')
             for place in places if place not in seen},
            {pool: why for pool, why in self.unseen.items()
             if pool in {*pools, *(place.pool for place in places)}},
            dict(self.started), doubts=dict(self.doubts))

    # What a test does to it

    def add(self, record: Record) -> None:
        """A tenant creates a volume."""
        self._records[record.id] = record
        self.lvs.add((record.pool or '', f'volume-{record.lv_id}'))

    def forget(self, volume_id: str) -> None:
        """The record and its logical volume are gone."""
        self._gone(volume_id)

    def serve(self, pool: str, **changes: object) -> None:
        """Changes the service of a pool, for example ``up=False``."""
        host = names.backend(pool)
        self.services[host] = dataclasses.replace(
            self.services[host], **changes)

    def _late(self, volume_id: str, pool: str) -> None:
        record = self._records.get(volume_id)
        if record is not None and _free(record):
            self._begin(record, pool, None)

    def _answer(self) -> None:
        self._live()
        if not self.answers:
            raise errors.CloudError('Cinder does not answer: no route.')

    def _known(self, volume_id: str) -> Record:
        try:
            return self._records[volume_id]
        except KeyError:
            raise cinder_errors.Refused(
                f'Cinder refuses: Volume {volume_id} could not be found.'
                ) from None

    def _serves(self, pool: str) -> bool:
        service = self.services.get(names.backend(pool))
        return service is not None and service.up and service.enabled

    def _does(self, volume_id: str) -> Workload:
        return self.workloads.get(
            volume_id, self._copies.get(volume_id, _IDLE))

    def _quiet(self, volume_id: str) -> float:
        return self._since(volume_id, self._does(volume_id) is not _IDLE)

    def _unwritten(self, volume_id: str) -> float:
        return self._since(volume_id, self._does(volume_id).write_pct > 0)

    def _since(self, volume_id: str, now: bool) -> float:
        return 0.0 if now else min(
            _LONG_S, self._clock() - self._last_copied.get(
                volume_id, -_LONG_S))


def _free(record: Record) -> bool:
    """Whether the API would begin a migration of this volume."""
    return (record.status in ('available', 'in-use')
            and not eligibility.migrating(record) and not record.snapshots
            and not record.group_id
            and record.replication_status in _NOT_REPLICATED)
