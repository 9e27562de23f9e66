# SPDX-License-Identifier: Apache-2.0
"""``cluster.json`` and the models, indexed by pool and device."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import heapq
import operator
from typing import NamedTuple

from serifos import errors
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.workload import Load
from serifos.facts.workload import Mean
from serifos.facts.workload import Workload
from serifos.model.model import Model
from serifos.scheduler import cluster_reader
from serifos.scheduler import predict

MOST_SLOS = 8
"""SLOs of a device that a prediction looks at."""

ELSEWHERE = ''
"""Stands for the device of volumes whose pool is on none that is known."""

Labelled = Mapping[str, list[Volume]]
"""Label → the volumes that have it."""

_WORK_A_LINE = 150
"""Multiplications that take as long as reading a line."""


class ModelledDevice(NamedTuple):
    """A device, and the model that predicts its latency."""

    device: str
    model: str


@dataclasses.dataclass(frozen=True, eq=False)
class Snapshot:
    """``cluster.json``; a new object for every new file.

    A pool that is not up is treated as if it were not in the file; where it
    shares its device with one that is up, its volumes are a load of that.

    :param floor: outstanding I/Os below which a volume is idle
    :param taken_at: of the observation, seconds of the epoch
    :param devices: pool → its device, of the pools whose load is known
    :param sharing: device → those of its pools
    :param homes: pool → its device, of those and of pools that share it
    :param places: the devices and models of those pools → what corrects
        predictions there, the greatest of its pools
    :param volumes: by their ids, all of them
    :param residents: device, or ELSEWHERE → the volumes that live there
    :param with_slo: device → its volumes with an SLO, the strictest first
    :param gib: pool → the sizes of its volumes added up, GiB
    :param copies_gib: the same of the copies of migrations, where not 0
    :param mean_gib: the mean size of a volume, GiB; 0 without any
    :param seen: volume type → the mean of its active volumes' workloads
    :param same: of the labels of volumes that are to share a pool
    :param different: of those of volumes that are to be kept apart
    :param typical: volume type → that of all its volumes whose workload is
        known, which stands in for that of the others
    """

    floor: float
    taken_at: float
    devices: Mapping[str, str]
    sharing: Mapping[str, tuple[str, ...]]
    homes: Mapping[str, str]
    places: Mapping[ModelledDevice, float]
    volumes: Mapping[str, Volume]
    residents: Mapping[str, list[Volume]]
    with_slo: Mapping[str, list[Volume]]
    gib: Mapping[str, float]
    copies_gib: Mapping[str, float]
    mean_gib: float
    seen: Mapping[str, Workload]
    typical: Mapping[str | None, Workload]
    same: Labelled = dataclasses.field(default_factory=dict)
    different: Labelled = dataclasses.field(default_factory=dict)

    def place(self, pool: str, model: str) -> ModelledDevice | None:
        """The device of a pool, where its load is known."""
        device = self.devices.get(pool)
        return None if device is None else ModelledDevice(device, model)

    def device(self, pool: str) -> str:
        """The device of a pool; its own name where that is not known."""
        return self.homes.get(pool, pool)

    def workload(self, volume: Volume) -> Workload | None:
        """What a volume does, or a typical one of its type."""
        return volume.workload or self.typical.get(volume.volume_type)

    def active(self, volume: Volume) -> bool:
        its = self.workload(volume)
        return its is not None and its.is_active(self.floor)


def indexed(pools: Iterable[Pool], volumes: Iterable[Volume],
            floor: float, taken_at: float) -> cluster_reader.Steps[Snapshot]:
    """A Snapshot, in steps.

    :raises InputError: where a pool or a volume is named twice
    """
    devices: dict[str, str] = {}
    sharing: dict[str, tuple[str, ...]] = {}
    homes: dict[str, str] = {}
    places: dict[ModelledDevice, float] = {}
    copies: dict[str, float] = {}
    names: set[str] = set()
    for pool in pools:
        _once('pool', pool.name, names)
        names.add(pool.name)
        if pool.copies_gib:
            copies[pool.name] = pool.copies_gib
        if pool.state == 'up':
            device = devices[pool.name] = pool.device_key
            sharing[device] = (*sharing.get(device, ()), pool.name)
            place = ModelledDevice(device, pool.model or pool.name)
            places[place] = max(pool.correction, places.get(place, 0.0))
        homes[pool.name] = pool.device_key
        yield 1
    homes = {pool: device for pool, device in homes.items()
             if device in sharing}
    by_id: dict[str, Volume] = {}
    residents: dict[str, list[Volume]] = {}
    with_slo: dict[str, list[Volume]] = {}
    gib = dict.fromkeys(devices, 0.0)
    seen: dict[str, Mean] = {}
    typical: dict[str | None, Mean] = {}
    same: dict[str, list[Volume]] = {}
    different: dict[str, list[Volume]] = {}
    for volume in volumes:
        _once('volume', volume.id, by_id)
        by_id[volume.id] = volume
        gib[volume.pool] = gib.get(volume.pool, 0.0) + volume.size_gib
        its = homes.get(volume.pool, ELSEWHERE)
        residents.setdefault(its, []).append(volume)
        if its and volume.max_latency_us is not None:
            with_slo.setdefault(its, []).append(volume)
        for label in volume.same_pool:
            same.setdefault(label, []).append(volume)
        for label in volume.different_pool:
            different.setdefault(label, []).append(volume)
        name, workload = volume.volume_type, volume.workload
        if workload is not None:
            typical.setdefault(name, Mean()).add(workload)
            if name is not None and workload.is_active(floor):
                seen.setdefault(name, Mean()).add(workload)
        yield 1
    for several in with_slo.values():
        several.sort(key=lambda each: (each.max_latency_us or 0.0, each.id))
        yield 1
    total = sum(volume.size_gib for volume in by_id.values())
    return Snapshot(
        floor, taken_at, devices, sharing, homes, places, by_id,
        residents, with_slo, gib, copies,
        total / len(by_id) if by_id else 0.0,
        {name: mean.workload.settled for name, mean in seen.items()},
        {name: mean.workload for name, mean in typical.items()},
        same, different)


def _once(kind: str, name: str, names: Iterable[str]) -> None:
    if name in names:
        raise errors.InputError(
            f'cluster.json names {kind} {name} twice; each {kind} must be '
            'named once.')


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """A snapshot, the models, and their predictions.

    :param models: by the stems of their files
    :param broken: stem → why its file is not a model of latency
    :param loads: the Load of each place that the snapshot names and there
        is a model for
    :param everyone: the sum of the Loads of all volumes, wherever they are
    :param SLOs: of each place those that are the first to be violated
    :param usual: the prediction of each with one usual newcomer
    """

    snapshot: Snapshot
    models: Mapping[str, Model]
    broken: Mapping[str, str]
    loads: Mapping[ModelledDevice, Load]
    everyone: Load
    slos: Mapping[ModelledDevice, Sequence[predict.Slo]]
    usual: Mapping[ModelledDevice, predict.Prediction | None]

    def load(self, place: ModelledDevice) -> Load:
        """The Load of a device for one of the models."""
        found = self.loads.get(place)
        return (_load(self.snapshot, self.models[place.model], place.device)
                if found is None else found)

    def slos_of(self, place: ModelledDevice) -> Sequence[predict.Slo]:
        """The SLOs on a device that one of the models predicts for."""
        found = self.slos.get(place)
        return _slos(
            self.snapshot, self.models[place.model], place.device,
            self.load(place), self.everyone) if found is None else found


def _load(snapshot: Snapshot, model: Model, device: str) -> Load:
    return model.load((snapshot.workload(volume) for volume
                       in snapshot.residents.get(device, ())),
                      snapshot.floor)


def predicted(snapshot: Snapshot, models: Mapping[str, Model],
              broken: Mapping[str, str],
              usual: Workload) -> cluster_reader.Steps[View]:
    """A View, in steps.

    :param usual: the newcomer whose latency is predicted everywhere, so
        that others can be estimated by it
    """
    loads: dict[ModelledDevice, Load] = {}
    slos: dict[ModelledDevice, Sequence[predict.Slo]] = {}
    found: dict[ModelledDevice, predict.Prediction | None] = {}
    everyone, counted = Load(), set[str]()
    for place in snapshot.places:
        model = models.get(place.model)
        if model is not None:
            loads[place] = _load(snapshot, model, place.device)
            if place.device not in counted:
                counted.add(place.device)
                everyone += loads[place]
            yield 1 + len(snapshot.residents.get(place.device, ()))
    for device in snapshot.residents.keys() - counted:
        for volume in snapshot.residents[device]:
            its = snapshot.workload(volume)
            everyone += Load.of(its, floor=snapshot.floor)
            yield 1
    own = {stem: model.load([usual], snapshot.floor)
           for stem, model in models.items()}
    for place, now in loads.items():
        model, newcomer = models[place.model], own[place.model]
        then = now + newcomer
        several = slos[place] = _slos(
            snapshot, model, place.device, then, everyone + newcomer)
        found[place] = predict.prediction(
            model, then, everyone + newcomer, newcomer, several,
            snapshot.places[place])
        yield (1 + len(snapshot.with_slo.get(place.device, ()))
               + int(model.work(then)) // _WORK_A_LINE)
    return View(snapshot, models, broken, loads, everyone, slos, found)


def _slos(snapshot: Snapshot, model: Model, device: str,
          load: Load, everyone: Load) -> Sequence[predict.Slo]:
    """The SLOs on a device that are the first to be violated."""
    found = [predict.Slo(
        model.load([snapshot.workload(volume)], snapshot.floor),
        volume.max_latency_us or 0.0, volume.id)
        for volume in snapshot.with_slo.get(device, ())]
    if len(found) <= MOST_SLOS:
        return found
    _, *seen = predict.seen_us(
        model, load, everyone, [slo.own for slo in found])
    return [slo for _, slo in heapq.nlargest(
        MOST_SLOS, predict.strains(seen, found),
        key=operator.itemgetter(0))]
