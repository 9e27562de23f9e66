# SPDX-License-Identifier: Apache-2.0
"""Cache of pools.json and the models, keyed by mtime, inode and size.

A request that finds a changed file reads it whole. A model's file must be
replaced by a rename, which changes the directory's mtime.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import os
import pathlib

from serifos import errors
from serifos.facts.cluster import Volume
from serifos.facts.pools import Pools
from serifos.files import documents
from serifos.model.model import Model
from serifos.scheduler.view import View

Signature = tuple[int, int, int]


class Cache:
    """The contents of the files; callers hold a lock."""

    def __init__(self, state_dir: str, models_dir: str,
                 max_age_s: float) -> None:
        self._pools_path = pathlib.Path(state_dir, 'pools.json')
        self._cluster_path = pathlib.Path(state_dir, 'cluster.json')
        self._models_path = pathlib.Path(models_dir)
        self._max_age_s = max_age_s
        self._signatures: tuple[Signature | None, ...] = ()
        self._pools: tuple[Signature | None, Pools] | None = None
        self._models: dict[str, tuple[Signature | None,
                                      Model | str]] = {}
        self._view: View | None = None
        self._trouble = ''
        self._volumes: dict[str, Volume | None] = {}

    def look(self, now: float) -> View:
        """The contents of the files at ``now``, seconds of the epoch.

        :raises InputError: where pools.json is missing, broken or stale
        """
        signatures = (_signature(self._pools_path),
                      _signature(self._models_path))
        if signatures != self._signatures:
            self._signatures = signatures
            self._volumes.clear()
            try:
                self._view = View(
                    self._read_pools(signatures[0]), *self._read_models())
            except errors.InputError as exc:
                self._view, self._trouble = None, str(exc)
        view = self._view
        if view is None:
            raise errors.InputError(self._trouble)
        age = now - view.pools.observed_at
        if abs(age) > self._max_age_s:
            raise errors.InputError(
                f'{self._pools_path} was observed {_ago(age)}; check that '
                'serifos-balancer runs and that the clocks agree.')
        return view

    @property
    def models_at(self) -> float | None:
        """When the newest model was written, seconds of the epoch."""
        return max((signature[0] / 1e9 for signature, _
                    in self._models.values() if signature), default=None)

    def volume(self, volume_id: str) -> Volume | None:
        """A volume of cluster.json; None where it is not found."""
        if volume_id not in self._volumes:
            self._volumes[volume_id] = documents.find_volume(
                self._cluster_path, volume_id)
        return self._volumes[volume_id]

    def _read_pools(self, signature: Signature | None) -> Pools:
        if self._pools is None or self._pools[0] != signature:
            self._pools = None
            if signature is None:
                raise errors.InputError(
                    f'There is no {self._pools_path}, which serifos-balancer '
                    'writes; start serifos-balancer run.')
            found = documents.read_pools(self._pools_path)
            if found.observed_at is None:
                found = dataclasses.replace(
                    found, observed_at=signature[0] / 1e9)
            self._pools = signature, found
        return self._pools[1]

    def _read_models(self) -> tuple[Mapping[str, Model], Mapping[str, str]]:
        before, self._models = self._models, {}
        for stem in sorted(documents.model_stems(self._models_path)):
            signature = _signature(self._models_path / f'{stem}.json')
            kept = before.get(stem)
            if kept is None or kept[0] != signature:
                kept = signature, _model(self._models_path, stem)
            self._models[stem] = kept
        models: dict[str, Model] = {}
        broken: dict[str, str] = {}
        for stem, (_, its) in self._models.items():
            (broken if isinstance(its, str) else models)[stem] = its
        return models, broken


def _model(directory: pathlib.Path, stem: str) -> Model | str:
    """A model, or why it cannot be read."""
    try:
        return documents.latency_model(directory, stem)
    except errors.SerifosError as exc:
        return str(exc)


def _signature(path: pathlib.Path) -> Signature | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _ago(age: float) -> str:
    return f'{age:.0f} s ago' if age >= 0 else f'{-age:.0f} s in the future'
