# SPDX-License-Identifier: Apache-2.0
"""Pools as cinder-scheduler judges them: ``pools.json`` in memory.

It is written beside each ``cluster.json``. Of each device it has the sum of
its volumes' Loads instead of the volumes, so that the scheduler reads all of
a large cloud at once.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import math
from typing import Any
from typing import NamedTuple

from serifos import errors
from serifos.facts import cluster
from serifos.facts import fields
from serifos.facts import times
from serifos.facts import workload
from serifos.facts.workload import Load
from serifos.facts.workload import Workload

POOLS_SCHEMA = 'serifos-pools/1'

NEW_S = 86400.0
"""Volumes that were created within so many seconds are listed one by one."""

Row = Sequence[float]
"""A Load's fields in the order of FEATURES; empty for none."""

Labelled = Mapping[str, Sequence[tuple[str, str]]]
"""Label → pool and id of each volume that has it."""


class DeviceSlo(NamedTuple):
    """The SLO of a volume, µs, and what it would see with one volume more.

    :param load: of the volume; of an idle one what all tenants see counts
    """

    volume: str
    max_latency_us: float
    seen_us: float
    load: Row = ()


class Device(NamedTuple):
    """The volumes of a device, added up, for one of its pools' models.

    :param model: whose latency and range hold here
    :param latency_us: what all tenants of the cloud would see there with one
        typical volume more; None where that was not predicted
    :param slos: those that are the first to be violated
    """

    name: str
    model: str
    latency_us: float | None = None
    load: Row = ()
    slos: Sequence[DeviceSlo] = ()


class PoolSums(NamedTuple):
    """A pool that is up, or shares its device with one that is.

    :param device: its key, by default its name
    :param model: the stem of its model's file, by default its name
    :param gib: the sizes of its volumes added up
    :param copies_gib: the same of the copies of migrations
    """

    name: str
    device: str
    model: str
    up: bool = True
    correction: float = 1.0
    gib: float = 0.0
    copies_gib: float = 0.0


class ListedVolume(NamedTuple):
    """A volume that is new, or that is being migrated.

    :param created_at: seconds of the epoch; None of one that is not new
    :param active: whether its load is part of its device's
    """

    id: str
    pool: str
    size_gib: float
    active: bool
    created_at: float | None = None
    volume_type: str | None = None
    max_latency_us: float | None = None
    project_id: str | None = None


class TypeMeans(NamedTuple):
    """The mean workload of a type's volumes, and that of its active ones."""

    name: str | None
    typical: Workload
    active: Workload | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Pools:
    """A ``serifos-pools/1`` document; a new object for every new file.

    :param observed_at: seconds of the epoch; None where it is not said
    :param floor: outstanding I/Os below which a volume is idle
    :param everyone: the sum over all volumes, wherever they are
    :param mean_gib: the mean size of a volume; 0 without any
    """

    observed_at: float | None = None
    floor: float = workload.ACTIVE_FLOOR
    everyone: Row = ()
    mean_gib: float = 0.0
    pools: Sequence[PoolSums] = ()
    devices: Sequence[Device] = ()
    types: Sequence[TypeMeans] = ()
    volumes: Sequence[ListedVolume] = ()
    same_pool: Labelled = dataclasses.field(default_factory=dict)
    different_pool: Labelled = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def pool(self) -> Mapping[str, PoolSums]:
        """The pools that are up, by their names."""
        return {pool.name: pool for pool in self.pools if pool.up}

    @functools.cached_property
    def home(self) -> Mapping[str, str]:
        """Pool → its device, of all of them."""
        return {pool.name: pool.device for pool in self.pools}

    @functools.cached_property
    def sharing(self) -> Mapping[str, Sequence[str]]:
        """Device → its pools that are up."""
        found: dict[str, list[str]] = {}
        for pool in self.pool.values():
            found.setdefault(pool.device, []).append(pool.name)
        return found

    @functools.cached_property
    def device(self) -> Mapping[str, Device]:
        """The devices, each by one of its models."""
        return {device.name: device for device in self.devices}

    @functools.cached_property
    def place(self) -> Mapping[tuple[str, str], Device]:
        """Device and model → its volumes, added up."""
        return {(device.name, device.model): device
                for device in self.devices}

    @functools.cached_property
    def correction(self) -> Mapping[tuple[str, str], float]:
        """Device and model → the greatest correction of its pools."""
        found: dict[tuple[str, str], float] = {}
        for pool in self.pool.values():
            key = pool.device, pool.model
            found[key] = max(pool.correction, found.get(key, 0.0))
        return found

    @functools.cached_property
    def type(self) -> Mapping[str | None, TypeMeans]:
        return {each.name: each for each in self.types}

    @functools.cached_property
    def volume(self) -> Mapping[str, ListedVolume]:
        return {volume.id: volume for volume in self.volumes}

    def to_json(self) -> dict[str, Any]:
        """A document that leaves out what is as by default."""
        return {
            'schema': POOLS_SCHEMA, 'observed_at': self.observed_at and (
                times.text(self.observed_at)),
            'active_floor': self.floor, 'features': workload.FEATURES,
            'everyone': self.everyone, 'mean_gib': self.mean_gib,
            'pools': [{key: value for key, value in _entry(pool).items()
                       if key == 'name' or value != pool.name}
                      for pool in self.pools],
            'devices': [_entry(device._replace(slos=tuple(
                map(_entry, device.slos)))) for device in self.devices],
            'types': [{name: dataclasses.asdict(value) if name != 'name'
                       else value for name, value in _entry(means).items()}
                      for means in self.types],
            'volumes': [_entry(volume) for volume in self.volumes],
            'same_pool': self.same_pool,
            'different_pool': self.different_pool}

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Pools:
        """A validated ``serifos-pools/1`` document as Pools.

        :raises FormatError: where its Loads are of another serifos, or a
            pool is on no device of it
        """
        if tuple(doc['features']) != workload.FEATURES:
            raise errors.FormatError(
                'it was written by another version of serifos; upgrade '
                'serifos-balancer and cinder-scheduler to the same one')
        at = doc.get('observed_at')
        found = cls(
            None if at is None else times.parse(at),
            doc['active_floor'], _row(doc['everyone']), doc['mean_gib'],
            [_pool(each['name'], each.get) for each in doc['pools']],
            [Device(each['name'], each['model'], each.get('latency_us'),
                    _row(each.get('load')),
                    [_slo(slo) for slo in each.get('slos', ())])
             for each in doc['devices']],
            [TypeMeans(each.get('name'), cluster.workload(each['typical']),
                       cluster.workload(each['active'])
                       if 'active' in each else None)
             for each in doc['types']],
            [ListedVolume(**{
                name: each[name] for name in ListedVolume._fields
                if name in each}) for each in doc['volumes']],
            *({label: [(pool, volume) for pool, volume in its]
               for label, its in doc[key].items()}
              for key in ('same_pool', 'different_pool')))
        for pool in found.pools:
            if pool.device not in found.device:
                raise errors.FormatError(
                    f'pool {fields.shown(pool.name)} is on a device that is '
                    'not among its devices')
        return found


def load(row: Row) -> Load:
    """The Load of a row."""
    return Load(*row) if row else Load()


def _pool(name: str, get: Callable[..., Any]) -> PoolSums:
    return PoolSums(
        name, get('device', name), get('model', name), get('up', True),
        get('correction', 1.0), get('gib', 0.0), get('copies_gib', 0.0))


def _slo(doc: Mapping[str, Any]) -> DeviceSlo:
    return DeviceSlo(doc['volume'], doc['max_latency_us'], doc['seen_us'],
                     _row(doc.get('load')))


def _row(said: Any) -> Row:
    """A row; the sum tells whether these are numbers."""
    row = said or ()
    try:
        fits = len(row) in (0, len(workload.FEATURES)) and math.isfinite(
            sum(row))
    except TypeError:
        fits = False
    if not fits:
        raise errors.FormatError(
            f'a load in it is {fields.shown(said)}, not '
            f'{len(workload.FEATURES)} numbers')
    return row


def _entry(one: Any) -> dict[str, Any]:
    """The members of a tuple that are not as by default."""
    return {name: value for name, value in zip(one._fields, one)
            if value is not None
            and value != one._field_defaults.get(name, one)}
