# SPDX-License-Identifier: Apache-2.0
"""What do ``cluster.json`` and the models say, for the asking of a stat?

Both are read again only where their stat changed, a few lines a request;
until that is done, what was known before stands. A model's file must be
replaced as ours are, by a rename, which the directory's stat tells.
"""

from __future__ import annotations

from collections.abc import Mapping
import os
import pathlib

from serifos import errors
from serifos.model import model as mm
from serifos import model_files
from serifos.scheduler import reading
from serifos.scheduler import snapshot as sn
from serifos import times
from serifos import workload as wl

Signature = tuple[int, int, int]

LINES, LINES_EACH = 128, 0.25
"""Pools, volumes and predictions of a new file that a request reads, and
how many more for each of its candidates."""

LINES_A_SECOND, LINES_SAVED = 1000.0, 4096
"""What requests may do besides where they are rare, and the most of that."""

LINES_AT_FIRST = 20_000
"""What a request reads where nothing is known yet."""

_LINES_A_MODEL = 200


class Known:
    """The two files; whoever uses it keeps a lock.

    :param usual: the newcomer that the pools are priced for beforehand
    """

    def __init__(self, state_dir: str, models_dir: str, max_age_s: float,
                 usual: wl.Workload,
                 floor: float = wl.ACTIVE_FLOOR) -> None:
        self._cluster_path = pathlib.Path(state_dir, 'cluster.json')
        self._models_path = pathlib.Path(models_dir)
        self._max_age_s = max_age_s
        self._usual = usual
        self._floor = floor
        self._signatures: tuple[Signature | None, ...] = ()
        self._work: reading.Steps[sn.View] | None = None
        self._looked_at = 0.0
        self._saved = 0.0
        self._snapshot: tuple[Signature | None, sn.Snapshot] | None = None
        self._models: dict[str, tuple[Signature | None,
                                      mm.Model | str]] = {}
        self._view: sn.View | None = None
        self._trouble = ''

    def look(self, now: float, candidates: int = 0) -> sn.View:
        """What is known at ``now``, seconds of the epoch.

        :param candidates: of the request for which this is
        :raises InputError: where cluster.json is missing, broken or stale,
            or there was no time yet to read it
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
                f'{_ago(now - view.snapshot.taken_at)}; see that '
                'serifos-balancer runs, and the clocks agree.')
        return view

    def _is_stale(self, view: sn.View, now: float) -> bool:
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
            self._trouble = (f'{self._cluster_path} is new, and the '
                             'requests to come go on reading it.')
        except StopIteration as done:
            self._view, self._work = done.value, None
        except errors.SerifosError as exc:
            self._fail(str(exc))
        except (*model_files.BROKEN, OSError) as exc:
            self._fail(f'{self._cluster_path} cannot be used: {exc!r}.')
        self._saved = max(0.0, self._saved - (lines - max(0.0, left)))

    def _fail(self, trouble: str) -> None:
        self._view = self._work = self._snapshot = None
        self._trouble = trouble

    def _reading(self, cluster: Signature | None,
                 models: Signature | None) -> reading.Steps[sn.View]:
        """All that is to be done where a file changed."""
        if self._snapshot is None or cluster != self._snapshot[0]:
            file = yield from reading.cluster(self._cluster_path)
            snapshot = yield from sn.indexed(
                file.pools, file.volumes, self._floor, _epoch(
                    file.observed_at, cluster[0] / 1e9 if cluster else 0.0))
            self._snapshot = cluster, snapshot
        found, broken = yield from self._read_models()
        return (yield from sn.priced(
            self._snapshot[1], found, broken, self._usual))

    def _read_models(self) -> reading.Steps[
            tuple[Mapping[str, mm.Model], Mapping[str, str]]]:
        before, self._models = self._models, {}
        for stem in sorted(model_files.stems(self._models_path)):
            signature = _signature(self._models_path / f'{stem}.json')
            kept = before.get(stem)
            if kept is None or kept[0] != signature:
                kept = signature, _model(self._models_path, stem)
                yield _LINES_A_MODEL
            self._models[stem] = kept
        every = {stem: its for stem, (_, its) in self._models.items()}
        return ({stem: its for stem, its in every.items()
                 if isinstance(its, mm.Model)},
                {stem: its for stem, its in every.items()
                 if isinstance(its, str)})


def _model(directory: pathlib.Path, stem: str) -> mm.Model | str:
    """A model of latency, or why there is none with this name."""
    try:
        return model_files.read(directory, stem)
    except errors.SerifosError as exc:
        return str(exc)


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
        return times.parse(observed_at)
    except ValueError:
        raise errors.FormatError(
            f'cluster.json says it was observed at {observed_at!r}, which '
            'is no ISO 8601 time.') from None


def _ago(age: float) -> str:
    return f'{age:.0f} s ago' if age >= 0 else f'{-age:.0f} s in the future'
