# SPDX-License-Identifier: Apache-2.0
"""What do ``cluster.json`` and the models say, for the asking of a stat?

Both are read again only where their stat changed. A model's file must be
replaced as ours are, by a rename, which the directory's stat tells.
"""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses
import datetime
import functools
import os
import pathlib
import threading
from typing import Any

from serifos import cluster as cl
from serifos import errors
from serifos.model import model as mm
from serifos import model_files
from serifos import store
from serifos import workload as wl

Signature = tuple[int, int, int]

_KEPT = 256
"""What is kept for the next request, of each kind, before it is dropped."""


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """``cluster.json``, indexed for what a request asks.

    :param floor: outstanding I/Os below which a volume is idle
    :param taken_at: of the observation, seconds of the epoch
    """

    cluster: cl.Cluster
    floor: float
    taken_at: float

    @functools.cached_property
    def devices(self) -> Mapping[str, str]:
        """Pool → its device, of the pools whose load is known.

        A pool that is not up, or that no telemetry sees, is as unknown as
        one that is not in the file.
        """
        return {pool.name: pool.device_key for pool in self.cluster.pools
                if pool.state == 'up'}

    @functools.cached_property
    def volumes(self) -> Mapping[str, cl.Volume]:
        return {volume.id: volume for volume in self.cluster.volumes}

    @functools.cached_property
    def residents(self) -> Mapping[str, list[cl.Volume]]:
        """Device → the volumes that live on it."""
        found: dict[str, list[cl.Volume]] = {}
        for volume in self.cluster.volumes:
            if volume.pool in self.devices:
                found.setdefault(
                    self.devices[volume.pool], []).append(volume)
        return found

    @functools.cached_property
    def promised(self) -> Mapping[str, list[cl.Volume]]:
        """Device → its volumes with a promise, the strictest first."""
        return {device: sorted(
            (v for v in volumes if v.max_latency_us is not None),
            key=lambda v: (v.max_latency_us, v.id))
            for device, volumes in self.residents.items()}

    @functools.cached_property
    def gib(self) -> Mapping[str, float]:
        """Pool → the sizes of its volumes added up, GiB."""
        sums = dict.fromkeys(self.devices, 0.0)
        for volume in self.cluster.volumes:
            sums[volume.pool] = sums.get(volume.pool, 0.0) + volume.size_gib
        return sums

    @functools.cached_property
    def mean_gib(self) -> float:
        """The mean size of a volume, GiB; 0 without any."""
        sizes = [volume.size_gib for volume in self.cluster.volumes]
        return sum(sizes) / len(sizes) if sizes else 0.0

    @functools.cached_property
    def seen(self) -> Mapping[str, wl.Workload]:
        """Volume type → the mean of its active volumes' workloads."""
        by_type: dict[str, list[wl.Workload]] = {}
        for volume in self.cluster.volumes:
            if volume.volume_type is not None and self.active(volume):
                by_type.setdefault(
                    volume.volume_type, []).append(volume.workload)
        return {name: _mean(found) for name, found in by_type.items()}

    def active(self, volume: cl.Volume) -> bool:
        return (volume.workload is not None
                and volume.workload.is_active(self.floor))


def _mean(found: Iterable[wl.Workload]) -> wl.Workload:
    columns = zip(*((w.write_pct, w.block_kib, w.outstanding, w.random_pct)
                    for w in found))
    return wl.Workload(*(sum(column) / len(column) for column in columns))


@dataclasses.dataclass(frozen=True)
class View:
    """A snapshot and the models that belong to it.

    :param models: by the stems of their files
    :param broken: stem → why its file is no model of latency
    """

    snapshot: Snapshot
    models: Mapping[str, mm.Model]
    broken: Mapping[str, str]
    _loads: dict[tuple[str, str], wl.Load] = dataclasses.field(
        default_factory=dict, repr=False, compare=False)
    _kept: dict[Hashable, dict[Any, Any]] = dataclasses.field(
        default_factory=dict, repr=False, compare=False)
    _own: dict[tuple[str, wl.Workload | None], wl.Load] = dataclasses.field(
        default_factory=dict, repr=False, compare=False)

    def load(self, device: str, stem: str) -> wl.Load:
        """The Load of a device in the eyes of a model, computed once."""
        key = device, stem
        if key not in self._loads:
            self._loads[key] = self.models[stem].load(
                (volume.workload for volume
                 in self.snapshot.residents.get(device, ())),
                self.snapshot.floor)
        return self._loads[key]

    def kept(self, key: Hashable) -> dict[Any, Any]:
        """A place to keep what follows from this view and a key alone."""
        if len(self._kept) >= _KEPT and key not in self._kept:
            self._kept.clear()
        return self._kept.setdefault(key, {})

    def own(self, stem: str, workload: wl.Workload | None) -> wl.Load:
        """The Load of one workload in the eyes of a model."""
        key = stem, workload
        found = self._own.get(key)
        if found is None:
            if len(self._own) >= _KEPT:
                self._own.clear()
            found = self._own[key] = self.models[stem].load(
                [workload], self.snapshot.floor)
        return found


class Known:
    """The two files; safe to share between threads, green or native."""

    def __init__(self, state_dir: str, models_dir: str, max_age_s: float,
                 floor: float = wl.ACTIVE_FLOOR) -> None:
        self._cluster_path = pathlib.Path(state_dir, 'cluster.json')
        self._models_path = pathlib.Path(models_dir)
        self._max_age_s = max_age_s
        self._floor = floor
        self._lock = threading.Lock()
        self._signatures: tuple[Signature | None, ...] = ()
        self._view: View | None = None
        self._trouble = ''

    def look(self, now: float) -> View:
        """What is known at ``now``, seconds of the epoch.

        :raises InputError: where cluster.json is missing, broken or stale
        """
        signatures = (_signature(self._cluster_path),
                      _signature(self._models_path))
        with self._lock:
            if signatures != self._signatures:
                self._read(signatures)
                self._signatures = signatures
            view, trouble = self._view, self._trouble
        if view is None:
            raise errors.InputError(trouble)
        age = now - view.snapshot.taken_at
        if abs(age) > self._max_age_s:
            raise errors.InputError(
                f'{self._cluster_path} was observed {_ago(age)}; see that '
                'serifos-balancer runs, and the clocks agree.')
        return view

    def _read(self, signatures: tuple[Signature | None, ...]) -> None:
        before = self._view
        self._view = None
        try:
            if before and signatures[0] == self._signatures[0]:
                snapshot = before.snapshot
            else:
                snapshot = self._read_cluster(signatures[0])
            self._view = View(snapshot, *self._read_models())
        except errors.SerifosError as exc:
            self._trouble = str(exc)
        except model_files.BROKEN as exc:
            self._trouble = f'{self._cluster_path} cannot be used: {exc!r}.'

    def _read_cluster(self, signature: Signature | None) -> Snapshot:
        cluster = store.read_cluster(self._cluster_path)
        written_at = signature[0] / 1e9 if signature else 0.0
        return Snapshot(cluster, self._floor,
                        _epoch(cluster.observed_at, written_at))

    def _read_models(self) -> tuple[dict[str, mm.Model], dict[str, str]]:
        return model_files.readable(
            self._models_path, model_files.names(self._models_path))


def _signature(path: pathlib.Path) -> Signature | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _epoch(observed_at: str | None, otherwise: float) -> float:
    """An ISO 8601 time as seconds of the epoch; without a zone it is UTC."""
    if observed_at is None:
        return otherwise
    try:
        moment = datetime.datetime.fromisoformat(observed_at)
    except ValueError:
        raise errors.FormatError(
            f'cluster.json says it was observed at {observed_at!r}, which '
            'is no ISO 8601 time.') from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()


def _ago(age: float) -> str:
    return f'{age:.0f} s ago' if age >= 0 else f'{-age:.0f} s in the future'
