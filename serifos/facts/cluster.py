# SPDX-License-Identifier: Apache-2.0
"""One observation of pools and volumes: ``cluster.json`` in memory.

Nothing here changes in place: ``cluster.without(volume)`` and
``cluster.place(volume, pool)`` return the cluster as it would then be.
"""

from __future__ import annotations

import collections
from collections.abc import Mapping
import dataclasses
import functools
from typing import Any

from serifos import errors
from serifos.facts.caps import Caps
from serifos.facts import fields
from serifos.facts import journal
from serifos.facts import refusals
from serifos.facts.workload import Workload

CLUSTER_SCHEMA = 'serifos-cluster/1'

TOUCHED = 'touched by a stuck migration'
"""The state of a pool, only in plans: neither source nor target."""

UNSEEN = 'without fresh telemetry'
"""The state of a pool of unknown load: neither source nor target."""


@dataclasses.dataclass(frozen=True, slots=True)
class Volume:
    """A Cinder volume; ``movable`` is True or the reason why it is not.

    ``workload`` is its mean over a window, None where it is unknown.
    ``attached`` says that it is in use, so that Nova copies it;
    ``qemu_latency_us`` is its mean as QEMU sees it, where that is known.
    ``caps`` are those of its QoS, as far as they are in force; ``at_cap`` says
    that it does what they let it do. ``name`` is what its owner calls it, any
    text at all; ``server`` names the servers that use it. ``copy_mib_s`` is
    the rate at which its migration writes its copy, None where none is seen.
    ``same_pool`` and ``different_pool`` are labels: volumes that have one in
    common are to share a pool, or to be on different devices. ``min_gain``
    is the fraction that its move has to gain, None for what others have to.
    """

    id: str
    pool: str
    size_gib: float
    volume_type: str | None = None
    required_backend_name: str | None = None
    max_latency_us: float | None = None
    movable: bool | str = True
    workload: Workload | None = None
    attached: bool = False
    qemu_latency_us: float | None = None
    caps: Caps | None = None
    at_cap: bool = False
    name: str | None = None
    project_id: str | None = None
    server: str | None = None
    copy_mib_s: float | None = None
    same_pool: tuple[str, ...] = ()
    different_pool: tuple[str, ...] = ()
    min_gain: float | None = None
    correction: float = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """A Cinder pool, ``host@backend#pool``.

    ``model`` is the stem of a file in the models directory. ``free_gib`` is
    what a migration would find here. ``device`` names what several pools
    share: their Loads add. ``refuses`` names the volume types whose extra
    specs it does not meet. ``copies_gib`` is what the copies of migrations
    take here, half-made ones and old ones; they are no volumes.
    ``correction`` is what the model's predictions for it are multiplied by.
    ``used_gib`` is what is written to it, or set aside for thick volumes;
    None where that is not known; ``growth_gib_day`` is by how much that grew
    in a day of the last ones, migrations aside. ``drifting`` is a clause that
    says how far it is from its model, for hours, else None. ``unexplained`` is
    a clause that says what its tenants see where that lies outside of its
    model's 90 % interval, else None. ``balance`` says
    whether it takes part in balancing; ``max_fill`` is the part of it that may
    be used, None for as much as of others; ``hot_ratio`` is how far it is
    above the mean when it is hot, None for as far as others.
    ``space_unknown`` is a clause that says why its free space is not known,
    and counts as none; else None.
    """

    name: str
    model: str | None = None
    total_gib: float = 0.0
    free_gib: float = 0.0
    zone: str | None = None
    backend_name: str | None = None
    state: str = 'up'
    device: str | None = None
    refuses: tuple[str, ...] = ()
    copies_gib: float = 0.0
    correction: float = 1.0
    used_gib: float | None = None
    growth_gib_day: float | None = None
    drifting: str | None = None
    unexplained: str | None = None
    balance: bool = True
    max_fill: float | None = None
    hot_ratio: float | None = None
    space_unknown: str | None = None

    @property
    def drift_sentence(self) -> str:
        """That it drifts, and what to do."""
        return (f'Pool {self.name} drifts from its model {self.model}: '
                f'{self.drifting}. No volume is moved to it; look at the '
                'device, and make a new model of it with serifos-model '
                'build.')

    def room_gib(self, max_fill: float) -> float:
        """GiB that a plan may fill, below 0 where it is too full already.

        :param max_fill: the part of ``total_gib`` that may be used then,
            unless the pool says another
        """
        max_fill = max_fill if self.max_fill is None else self.max_fill
        if max_fill >= 1:
            return self.free_gib
        used_gib = (self.total_gib - self.free_gib if self.used_gib is None
                    else self.used_gib)
        return min(self.free_gib, max_fill * self.total_gib - used_gib)

    def with_free(self, more_gib: float) -> Pool:
        """The pool with so much more free space."""
        return dataclasses.replace(
            self, free_gib=self.free_gib + more_gib,
            used_gib=None if self.used_gib is None
            else self.used_gib - more_gib)

    @property
    def device_key(self) -> str:
        """The device whose Load decides this pool's latency."""
        return self.name if self.device is None else f'device:{self.device}'


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Pools and the volumes on them, at one moment.

    ``mark`` says how far the balancer's journal went then.
    """

    pools: tuple[Pool, ...]
    volumes: tuple[Volume, ...]
    observed_at: str | None = None
    mark: journal.Mark | None = None

    def __post_init__(self) -> None:
        for kind, names in (
                ('pool', [p.name for p in self.pools]),
                ('volume', [v.id for v in self.volumes])):
            if len(set(names)) != len(names):
                (twice, _), = collections.Counter(names).most_common(1)
                raise errors.InputError(
                    f'The cluster lists {kind} {twice} twice; each {kind} '
                    'may be listed once.')

    @functools.cached_property
    def shared_names(self) -> frozenset[str]:
        """The names that several of its volumes have."""
        number = collections.Counter(
            volume.name for volume in self.volumes if volume.name)
        return frozenset(name for name, many in number.items() if many > 1)

    @functools.cached_property
    def _pool_by_name(self) -> dict[str, Pool]:
        return {pool.name: pool for pool in self.pools}

    @functools.cached_property
    def _volume_by_id(self) -> dict[str, Volume]:
        return {volume.id: volume for volume in self.volumes}

    def pool(self, name: str) -> Pool:
        """:raises InputError: where there is no such pool"""
        return _found(self._pool_by_name, 'pool', name)

    def evacuable(self, name: str) -> Pool:
        """A pool that can be emptied.

        :raises InputError: where there is no such pool, it is down, or a
            stuck migration touches it
        """
        found = self.pool(name)
        if found.state == TOUCHED:
            raise errors.InputError(
                f'{name} is {found.state}; end that first, see '
                'serifos-balancer observe.')
        if found.state == 'down':
            raise errors.InputError(
                f'{name} is down, so nothing can be copied off it; evacuate '
                'it when its service is up.')
        return found

    def volume(self, volume_id: str) -> Volume:
        """:raises InputError: where there is no such volume"""
        return _found(self._volume_by_id, 'volume', volume_id)

    def without(self, volume: Volume) -> Cluster:
        """The cluster with one volume gone and its space free again."""
        return dataclasses.replace(
            self, pools=self._resized(volume.pool, volume.size_gib),
            volumes=tuple(v for v in self.volumes if v.id != volume.id))

    def place(self, volume: Volume, pool: str) -> Cluster:
        """The cluster with one more volume, on ``pool``."""
        return dataclasses.replace(
            self, pools=self._resized(pool, -volume.size_gib),
            volumes=(*self.volumes,
                     dataclasses.replace(volume, pool=pool)))

    def filled(self, pool: str, gib: float) -> Cluster:
        """The cluster with so much less space in ``pool``."""
        return dataclasses.replace(self, pools=self._resized(pool, -gib))

    def _resized(self, name: str, by_gib: float) -> tuple[Pool, ...]:
        return tuple(p.with_free(by_gib) if p.name == name else p
                     for p in self.pools)

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Cluster:
        """A validated ``serifos-cluster/1`` document as a Cluster."""
        mark = doc.get('journal')
        return cls(
            pools=tuple(_pool(pool) for pool in doc['pools']),
            volumes=tuple(volume(each) for each in doc['volumes']),
            observed_at=doc.get('observed_at'),
            mark=None if mark is None else journal.Mark.from_json(
                fields.Field(mark)))

    def to_json(self) -> dict[str, Any]:
        return {'schema': CLUSTER_SCHEMA, 'observed_at': self.observed_at,
                **({} if self.mark is None else {
                    'journal': self.mark.to_json()}),
                'pools': [fields.document(pool) for pool in self.pools],
                'volumes': [_document(volume) for volume in self.volumes]}


def _document(volume: Volume) -> dict[str, Any]:
    doc = fields.document(volume)
    for name in 'workload', 'caps':
        if doc[name] is not None:
            doc[name] = fields.document(doc[name])
    code = refusals.code(volume.movable)
    if code is not None:
        doc['movable_code'] = code
    return doc


def _found(items: Mapping[str, Any], kind: str, name: str) -> Any:
    if name not in items:
        raise errors.InputError(f'The cluster has no {kind} {name}.')
    return items[name]


def _pool(doc: Mapping[str, Any]) -> Pool:
    return _known(Pool, {**doc, 'refuses': tuple(doc.get('refuses') or ())})


def volume(doc: Mapping[str, Any]) -> Volume:
    """A validated volume of a ``serifos-cluster/1`` document."""
    seen, caps = doc.get('workload'), doc.get('caps')
    return _known(Volume, {
        **doc, 'movable': refusals.Reason.read(
            doc.get('movable'), doc.get('movable_code')),
        'workload': None if seen is None else workload(seen),
        'caps': None if caps is None else _known(Caps, caps),
        'same_pool': tuple(doc.get('same_pool') or ()),
        'different_pool': tuple(doc.get('different_pool') or ())})


def workload(doc: Mapping[str, Any]) -> Workload:
    """A workload of a JSON file; unknown keys are ignored."""
    return _known(Workload, doc)


def _known(kind: Any, doc: Mapping[str, Any]) -> Any:
    # A missing optional key and a null one both mean its default.
    return kind(*[default if (value := doc.get(name)) is None else value
                  for name, default in _defaults(kind)])


@functools.cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    """The names of its fields, in order; None for those without a default."""
    return tuple(
        (field.name, None if field.default is dataclasses.MISSING
         else field.default) for field in dataclasses.fields(kind))
