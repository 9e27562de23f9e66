# SPDX-License-Identifier: Apache-2.0
"""Cache of cluster.json and the models, keyed by mtime, inode and size.

Files that changed are read again a few lines a request; until that is done,
the old contents are used. A model's file must be replaced by a rename, which
changes the directory's mtime.
"""

from __future__ import annotations

from collections.abc import Mapping
import os
import pathlib

from serifos import errors
from serifos.facts import workload
from serifos.files import documents
from serifos.model.model import Model
from serifos.scheduler import cluster_reader
from serifos.scheduler import snapshot

Signature = tuple[int, int, int]

LINES, LINES_EACH = 128, 0.25
"""Pools, volumes and predictions of a new file that a request processes,
and how many more for each of its candidates."""

LINES_A_SECOND, LINES_SAVED = 1000.0, 4096
"""Lines added to the budget between requests, and the most of them."""

LINES_AT_FIRST = 20_000
"""Lines that a request reads while there is no usable view."""

_LINES_A_MODEL = 200


class Cache:
    """The contents of the files; callers hold a lock.

    :param usual: the newcomer that all pools are predicted with beforehand
    """

    def __init__(self, state_dir: str, models_dir: str, max_age_s: float,
                 usual: workload.Workload,
                 floor: float = workload.ACTIVE_FLOOR) -> None:
        self._cluster_path = pathlib.Path(state_dir, 'cluster.json')
        self._models_path = pathlib.Path(models_dir)
        self._max_age_s = max_age_s
        self._usual = usual
        self._floor = floor
        self._signatures: tuple[Signature | None, ...] = ()
        self._work: cluster_reader.Steps[snapshot.View] | None = None
        self._looked_at = 0.0
        self._saved = 0.0
        self._snapshot: tuple[Signature | None,
                              snapshot.Snapshot] | None = None
        self._models: dict[str, tuple[Signature | None,
                                      Model | str]] = {}
        self._view: snapshot.View | None = None
        self._trouble = ''

    def look(self, now: float, candidates: int = 0) -> snapshot.View:
        """The contents of the files at ``now``, seconds of the epoch.

        :param candidates: of the request for which this is
        :raises InputError: where cluster.json is missing, broken or stale,
            or not read to its end yet
        """
        lines = self._allowed(now, candidates)
        signatures = (_signature(self._cluster_path),
                      _signature(self._models_path))
        if self._work is None and signatures != self._signatures:
            self._signatures = signatures
            self._work = self._reading(*signatures)
        if self._work is not None:
            self._read(lines)
        view = self._view
        if view is None:
            raise errors.InputError(self._trouble)
        if self._is_stale(view, now):
            raise errors.InputError(
                f'{self._cluster_path} was observed '
                f'{_ago(now - view.snapshot.taken_at)}; check that '
                'serifos-balancer runs and that the clocks agree.')
        return view

    @property
    def models_at(self) -> float | None:
        """When the newest model was written, seconds of the epoch."""
        return max((signature[0] / 1e9 for signature, _
                    in self._models.values() if signature), default=None)

    def _is_stale(self, view: snapshot.View, now: float) -> bool:
        return abs(now - view.snapshot.taken_at) > self._max_age_s

    def _allowed(self, now: float, candidates: int) -> float:
        """How many lines this request may read."""
        passed, self._looked_at = max(0.0, now - self._looked_at), now
        self._saved = min(
            self._saved + passed * LINES_A_SECOND, LINES_SAVED)
        if self._view is None or self._is_stale(self._view, now):
            return LINES_AT_FIRST
        return LINES + LINES_EACH * candidates + self._saved

    def _read(self, lines: float) -> None:
        left = lines
        try:
            while left > 0:
                left -= next(self._work)
            self._trouble = (f'{self._cluster_path} is new; the next '
                             'requests read the rest of it.')
        except StopIteration as done:
            self._view, self._work = done.value, None
        except errors.SerifosError as exc:
            self._fail(str(exc))
        except (*documents.BROKEN, OSError) as exc:
            self._fail(f'{self._cluster_path} cannot be used: {exc!r}.')
        self._saved = max(0.0, self._saved - (lines - max(0.0, left)))

    def _fail(self, trouble: str) -> None:
        self._view = self._work = self._snapshot = None
        self._trouble = trouble

    def _reading(self, cluster: Signature | None,
                 models: Signature
                 | None) -> cluster_reader.Steps[snapshot.View]:
        """Reads what changed, and predicts all pools again."""
        if self._snapshot is None or cluster != self._snapshot[0]:
            file = yield from cluster_reader.read(self._cluster_path)
            written_at = cluster[0] / 1e9 if cluster else 0.0
            self._snapshot = cluster, (yield from snapshot.indexed(
                file.pools, file.volumes, self._floor,
                written_at if file.observed_at is None
                else file.observed_at))
        found, broken = yield from self._read_models()
        return (yield from snapshot.predicted(
            self._snapshot[1], found, broken, self._usual))

    def _read_models(self) -> cluster_reader.Steps[
            tuple[Mapping[str, Model], Mapping[str, str]]]:
        before, self._models = self._models, {}
        for stem in sorted(documents.model_stems(self._models_path)):
            signature = _signature(self._models_path / f'{stem}.json')
            kept = before.get(stem)
            if kept is None or kept[0] != signature:
                kept = signature, _model(self._models_path, stem)
                yield _LINES_A_MODEL
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
