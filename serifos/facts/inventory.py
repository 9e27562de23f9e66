# SPDX-License-Identifier: Apache-2.0
"""Cinder's volumes, pools, services and types, as its API lists them.

What they mean for placing and moving is decided in ``plan``; a
:class:`.cluster.Cluster` joins them with telemetry.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import functools
import math
from typing import Protocol

from serifos.facts import names
from serifos.facts.servers import Attachment


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """A volume as Cinder lists it, hidden migration records included.

    :param pool: ``host@backend#pool``, with the cluster's name in place of
        the host's where it is in a cluster; None while it is not scheduled
    :param name_id: what its LV is named after where that is not its id
    :param status: ``available``, ``in-use``, ``maintenance``, ...
    :param migration_status: None, ``starting``, ``migrating``,
        ``completing``, ``success``, ``error``, ``deleting``, ``target:ID``
    :param snapshots: how many it has
    :param multiattach: whether several servers may attach it
    :param attachments: the server of each; empty for one to a host itself
    :param group_id: of its group or consistency group
    :param created_at: seconds of the epoch
    :param updated_at: when Cinder last wrote it, seconds of the epoch
    """

    id: str
    size_gib: float
    status: str
    pool: str | None = None
    name_id: str | None = None
    migration_status: str | None = None
    name: str | None = None
    description: str | None = None
    volume_type: str | None = None
    zone: str | None = None
    project_id: str | None = None
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)
    snapshots: int = 0
    group_id: str | None = None
    replication_status: str | None = None
    encrypted: bool = False
    multiattach: bool = False
    bootable: bool = False
    attachments: tuple[str, ...] = ()
    created_at: float | None = None
    updated_at: float | None = None

    @property
    def lv_id(self) -> str:
        """What follows ``volume-`` in the name of its logical volume."""
        return self.name_id or self.id

    @property
    def target_of(self) -> str | None:
        """The volume that is being copied to this hidden record."""
        kind, _, source = (self.migration_status or '').partition(':')
        return source if kind == 'target' else None


BACK_END = 'back-end'
"""Who consumes a QoS that does not say who, as for Cinder."""


@dataclasses.dataclass(frozen=True, slots=True)
class Type:
    """A volume type: its extra specs and those of its QoS.

    :param qos_consumer: ``front-end``, ``back-end`` or ``both``
    """

    name: str
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    qos: Mapping[str, str] = dataclasses.field(default_factory=dict)
    qos_consumer: str = BACK_END


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """A cinder-volume service; ``host`` is ``host@backend``.

    :param cluster: ``cluster@backend`` where it serves one, active-active
    :param backend_up: as its driver reports it, None where it does not
    :param updated_at: its last heartbeat, seconds of the epoch
    """

    binary: str
    host: str
    zone: str | None = None
    up: bool = True
    enabled: bool = True
    frozen: bool = False
    backend_up: bool | None = None
    updated_at: float | None = None
    cluster: str | None = None

    @property
    def usable(self) -> bool:
        """Whether Cinder's scheduler takes it into account."""
        return self.up and self.enabled and not self.frozen


@dataclasses.dataclass(frozen=True, slots=True)
class PoolStats:
    """A pool as ``get_pools?detail=True`` gives it; sizes in GiB.

    :param free_gib: what Cinder would still allocate, the reserve deducted;
        virtual where it is thin
    :param unwritten_gib: what can still be written, the reserve deducted
    :param used_gib: what is not free, whatever is reserved; None where that
        is not known
    :param model: its capability ``serifos_model``
    :param device: its capability ``serifos_device``
    """

    name: str
    total_gib: float
    free_gib: float
    backend_name: str | None = None
    model: str | None = None
    device: str | None = None
    thin: bool = False
    unwritten_gib: float = math.inf
    used_gib: float | None = None
    capabilities: Mapping[str, object] = dataclasses.field(
        default_factory=dict)

    @property
    def volume_group(self) -> str | None:
        """Its volume group, where Cinder's LVM driver serves it."""
        kind, *said = str(self.capabilities.get('location_info')).split(':')
        return said[1] if kind == 'LVMVolumeDriver' and len(said) > 1 else None


UNKNOWN = 'unknown'
"""The migration status of a volume whose own cannot be read."""


@dataclasses.dataclass(frozen=True, slots=True)
class Unread:
    """An item of Cinder's lists that cannot be read.

    :param what: ``volume``, ``pool``, ``service`` or ``volume type``
    :param why: a clause
    :param pool: of a volume; None where it has no pool or that is unknown
    :param migration_status: of a volume; :data:`UNKNOWN` where that or the
        pool cannot be read
    """

    what: str
    name: str
    why: str
    pool: str | None = None
    migration_status: str | None = None

    def sentence(self) -> str:
        at = f' on {self.pool}' if self.pool else ''
        return (f'The {self.what} {self.name}{at} is left out; its entry in '
                f'Cinder\'s list cannot be read: {self.why}.')


@dataclasses.dataclass(frozen=True)
class Inventory:
    """All lists, at one moment.

    :param unread: items left out of the others
    """

    pools: tuple[PoolStats, ...]
    services: tuple[Service, ...]
    records: tuple[Record, ...]
    types: tuple[Type, ...] = ()
    unread: tuple[Unread, ...] = ()

    @functools.cached_property
    def record_by_id(self) -> Mapping[str, Record]:
        return {record.id: record for record in self.records}

    @functools.cached_property
    def type_by_name(self) -> Mapping[str, Type]:
        return {kind.name: kind for kind in self.types}

    @functools.cached_property
    def clusters(self) -> frozenset[str]:
        """Each ``cluster@backend``."""
        return frozenset(service.cluster for service in self.services
                         if service.cluster)

    @functools.cached_property
    def service_by_host(self) -> Mapping[str, Service]:
        """The cinder-volume services, by their ``host@backend``.

        Of a cluster, by its name, a service that is usable, where there is
        one: any of them serves its pools.
        """
        its = sorted((service for service in self.services
                      if service.binary == 'cinder-volume'),
                     key=lambda service: service.usable)
        return {service.host: service for service in its} | {
            service.cluster: service for service in its if service.cluster}

    @functools.cached_property
    def lacks_types(self) -> bool:
        """Whether there is a volume type that cannot be read."""
        return any(unread.what == 'volume type' for unread in self.unread)

    def service_of(self, pool: str) -> Service | None:
        """The service of a pool, or one of its cluster."""
        return self.service_by_host.get(names.backend(pool))

    def within(self, zones: Collection[str]) -> Inventory:
        """Pools and volumes of these zones, or of no known one.

        :param zones: none for all
        """
        def there(pool: str | None) -> bool:
            service = self.service_of(pool or '')
            return not zones or service is None or service.zone in zones
        return dataclasses.replace(
            self, pools=tuple(each for each in self.pools
                              if there(each.name)),
            services=tuple(each for each in self.services
                           if not zones or each.zone in zones),
            records=tuple(each for each in self.records if there(each.pool)),
            unread=tuple(each for each in self.unread if there(each.pool)))


class Cloud(Protocol):
    """The port that Cinder's client and the simulated cloud implement.

    Every method raises CloudError where there is no answer, and its subclass
    ``cinder_errors.Refused`` where Cinder refuses.
    """

    def inventory(self) -> Inventory:
        """Everything, of all projects."""

    def under_way(self) -> Inventory:
        """The services, and the volumes that take part in a migration.

        Other volumes may be among them.
        """

    def volume(self, volume_id: str) -> Record | None:
        """One volume as it is now, its snapshots not counted; None if gone."""

    def snapshots_of(self, volume_id: str) -> int:
        """How many snapshots a volume has."""

    def volume_type(self, name: str) -> Type | None:
        """A volume type as it is now, its QoS not read; None if gone."""

    def halves(self, volume_id: str) -> tuple[Record, ...]:
        """The hidden records of a volume's migration.

        The new copy (``target:ID``), and the old one that is being deleted
        (``migration src for ID``).
        """

    def attachments_of(self, volume_id: str) -> tuple[Attachment, ...]:
        """The attachments of a volume, those that are not complete too."""

    def logical_volumes(self, pool: str) -> frozenset[str] | None:
        """The names of the logical volumes that a pool's driver lists.

        None where it lists none or cannot list them.
        """

    def migrate(self, volume_id: str, pool: str) -> None:
        """Asks for a migration that locks the volume, without force."""

    def complete(self, volume_id: str, copy_id: str) -> None:
        """Asks for the copy to become the volume, as Nova does."""

    def reset(self, volume_id: str, status: str | None = None) -> None:
        """Clears the migration status, and sets the status where given."""

    def delete_attachment(self, attachment_id: str) -> None:
        """Ends an attachment; the server keeps what it has connected."""

    def relabel(self, volume_id: str, named: Mapping[str, str],
                metadata: Mapping[str, str | None]) -> None:
        """Sets name and description, and items of metadata.

        :param named: ``name`` and ``description``, or one of them
        :param metadata: None for an item that is removed
        """

    def delete(self, volume_id: str) -> None:
        """Deletes a volume, or a hidden record of one."""

    def unmanage(self, volume_id: str) -> None:
        """Removes a record, not its logical volume."""
