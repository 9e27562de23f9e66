# SPDX-License-Identifier: Apache-2.0
"""pools.json and models whose predictions can be worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import os
import pathlib
import time
from typing import Any

import fixtures

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.pools import Pools
from serifos.facts import times
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.model.model import Model
from serifos.model import pool_sums
from serifos.scheduler.view import View

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


def pools(names: Iterable[str | Pool], volumes: Iterable[Volume] = (),
          at: float = 0.0, created_at: float | None = None,
          **models: Model) -> Pools:
    """What is known of a cluster; all volumes are new, or none.

    :param created_at: of all volumes, by default when they are observed
    """
    volumes = tuple(volumes)
    return pool_sums.of(
        Cluster(tuple(name if isinstance(name, Pool) else Pool(name)
                      for name in names), volumes, times.text(at)),
        models, 0.05, dict.fromkeys((each.id for each in volumes),
                                    at if created_at is None else created_at))


def view(names: Iterable[str | Pool], volumes: Iterable[Volume] = (),
         **models: Model) -> View:
    """The same with the models, by the stems of their files."""
    return View(pools(names, volumes, **models), models)


class Files(fixtures.Fixture):
    """A state directory and a models directory, written as ours are."""

    def _setUp(self) -> None:
        self.dir = pathlib.Path(self.useFixture(fixtures.TempDir()).path)
        self.models_dir = self.dir / 'models'
        self.models_dir.mkdir()
        self.pools_path = self.dir / 'pools.json'

    def models(self, *models: Model) -> None:
        for each in models:
            documents.write_model(self.models_dir / f'{each.name}.json', each)

    def cluster(self, names: Iterable[str | Pool],
                volumes: Iterable[Volume] = (),
                age_s: float = 0, now: float | None = None,
                created_at: float | None = None) -> None:
        """Writes both files, observed ``age_s`` before ``now``."""
        at = (time.time() if now is None else now) - age_s
        cluster = Cluster(
            tuple(name if isinstance(name, Pool) else Pool(name)
                  for name in names), tuple(volumes), times.text(at))
        models, _ = documents.latency_models(
            self.models_dir, documents.model_stems(self.models_dir))
        documents.write_cluster(self.dir / 'cluster.json', cluster)
        documents.write_pools(self.pools_path, pools(
            cluster.pools, cluster.volumes, at, created_at, **models))

    def break_pools(self, text: str = '{') -> None:
        """Replaces pools.json by something else, atomically."""
        other = self.dir / 'other'
        other.write_text(text)
        os.replace(other, self.pools_path)
