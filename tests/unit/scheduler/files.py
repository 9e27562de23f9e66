# SPDX-License-Identifier: Apache-2.0
"""cluster.json and models whose predictions can be worked out by hand."""

from __future__ import annotations

from collections.abc import Generator
from collections.abc import Iterable
import dataclasses
import datetime
import os
import pathlib
import time
from typing import Any

import fixtures

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.model.model import Model
from serifos.scheduler.snapshot import indexed
from serifos.scheduler.snapshot import predicted
from serifos.scheduler.snapshot import Snapshot
from serifos.scheduler.snapshot import View

USUAL = Workload(30, 16, 8)


def model(name: str, us_per_kib: float = 10.0, mre: float = 0.0,
          kind: str = 'consolidation', **changes: Any) -> Model:
    """Latency in proportion to the KiB of all the pool's blocks.

    Of kind ``outstanding`` in proportion to the outstanding KiB.
    """
    row = {'sum_block_kib': us_per_kib}
    parameters: dict[str, Any] = {str(n): row for n in range(1, 6)}
    parameters['5+'] = row
    if kind == 'outstanding':
        parameters = {'sum_q_s_r': us_per_kib, 'sum_q_s_w': us_per_kib}
    return dataclasses.replace(Model(
        name, kind, parameters, quality={'mre': mre} if mre else {},
        range={'write_pct': (0, 100), 'block_kib': (1, 1024),
               'iodepth': (0, 128), 'count': (1, 1000)}), **changes)


def volume(name: str, pool: str, block_kib: float | None = 16,
           size_gib: float = 10, **facts: Any) -> Volume:
    """A volume of 30 % writes at depth 8; without blocks it is unseen."""
    return Volume(
        name, pool, size_gib, workload=block_kib and Workload(
            30, block_kib, 8), **facts)


def finish(steps: Generator[int, None, Any]) -> Any:
    """What work in steps comes to in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


def snapshot(pools: Iterable[str | Pool],
             volumes: Iterable[Volume] = (),
             at: float = 0.0) -> Snapshot:
    return finish(indexed(
        [p if isinstance(p, Pool) else Pool(p) for p in pools],
        volumes, 0.05, at))


def view(pools: Iterable[str | Pool], volumes: Iterable[Volume] = (),
         usual: Workload = USUAL, **models: Model) -> View:
    """What is known of a cluster, models by the stems of their files."""
    return finish(predicted(snapshot(pools, volumes), models, {}, usual))


class Files(fixtures.Fixture):
    """A state directory and a models directory, written as ours are."""

    def _setUp(self) -> None:
        self.dir = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.models_dir = self.dir / 'models'
        self.models_dir.mkdir()
        self.cluster_path = self.dir / 'cluster.json'

    def models(self, *models: Model) -> None:
        for each in models:
            documents.write_model(self.models_dir / f'{each.name}.json', each)

    def cluster(self, pools: list[str | Pool],
                volumes: list[Volume] | tuple[Volume, ...] = (),
                age_s: float = 0, now: float | None = None) -> None:
        """Writes cluster.json, observed ``age_s`` before ``now``."""
        at = datetime.datetime.fromtimestamp(
            (time.time() if now is None else now) - age_s, datetime.UTC)
        documents.write_cluster(self.cluster_path, Cluster(
            tuple(p if isinstance(p, Pool) else Pool(p)
                  for p in pools), tuple(volumes), at.isoformat()))

    def break_cluster(self, text: str = '{') -> None:
        """Replaces cluster.json by something else, atomically."""
        other = self.dir / 'other'
        other.write_text(text)
        os.replace(other, self.cluster_path)
