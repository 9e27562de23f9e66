# SPDX-License-Identifier: Apache-2.0
"""Section ``rounds``: whole rounds of ``serifos-balancer run``.

    .venv/bin/python tools/bench/rounds.py [--history URL]

takes the largest alone, with the history in the database of a URL.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses
import pathlib
import sys
import tempfile
import time
from typing import Any

import clusters
import history
import numpy as np
import sqlalchemy

from serifos.balancer.observe import Observer
from serifos.balancer.recorder import Recorder
from serifos.balancer.round import Balancer
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import databases
from serifos.cmd.balancer import stored_history
from serifos import conf as options
from serifos.database.history_store import Store
from serifos.facts import activity
from serifos.facts.activity import Telemetry
from serifos.facts.cluster import Cluster
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Record
from serifos.facts.inventory import Service
from serifos.files import documents
from serifos.plan.recent import Recent

SIZES = ((1_000, 50), (10_000, 200), (100_000, 1_000))
"""Volumes and pools."""

ROUND_S = 300
_ROUNDS = 3


class _Cloud(Telemetry):
    """Cinder and its telemetry; every volume does what it always does."""

    def __init__(self, cluster: Cluster) -> None:
        self.now = float(history.BEGIN + history.DAY_S)
        self._inventory = Inventory(
            tuple(PoolStats(pool.name, pool.total_gib, pool.free_gib,
                            'ssd', pool.model, used_gib=pool.total_gib / 2)
                  for pool in cluster.pools),
            tuple(Service('cinder-volume', pool.name.partition('#')[0],
                          'nova', backend_up=True) for pool in cluster.pools),
            tuple(Record(volume.id, volume.size_gib, 'available', volume.pool,
                         created_at=0.0) for volume in cluster.volumes))
        self._does = {
            volume.id: activity.Activity(volume.workload, 600.0, 40, 0.0, 0.0)
            for volume in cluster.volumes}

    def inventory(self) -> Inventory:
        """The lists are new objects in each round, as Cinder's are."""
        return dataclasses.replace(self._inventory)

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        return activity.Observed(self.now, dict(self._does), {}, {}, {})


def _measured(cluster: Cluster, pair: Any) -> Cluster:
    """The cluster with rates: those that the mean pool would allow."""
    cluster = dataclasses.replace(
        cluster, pools=tuple(dataclasses.replace(
            pool, name=f'{pool.name}@ssd#ssd') for pool in cluster.pools),
        volumes=tuple(dataclasses.replace(
            volume, pool=f'{volume.pool}@ssd#ssd',
            id=f'{int(volume.id):08x}-0000-4000-8000-{int(volume.id):012x}')
            for volume in cluster.volumes))
    fleet = clusters.make_fleet(cluster, pair)
    number = {pool.name: nth for nth, pool in enumerate(cluster.pools)}
    loads = np.zeros((len(number), fleet.features))
    np.add.at(loads, [number[volume.pool] for volume in cluster.volumes],
              fleet.loads([volume.workload for volume in cluster.volumes]))
    us = dict(zip(number, fleet.latency(
        np.arange(len(number)), loads).tolist()))
    mean_us = sum(us.values()) / len(us)
    return dataclasses.replace(cluster, volumes=tuple(
        dataclasses.replace(volume, workload=dataclasses.replace(
            volume.workload, latency_us=us[volume.pool],
            iops=1e6 * volume.workload.iodepth / mean_us))
        for volume in cluster.volumes))


def _day(store: Store, cluster: Cluster) -> None:
    """A day of what the volumes did, by other factors each five minutes."""
    rng = np.random.default_rng(0)
    tiers = Store(store.database, tuple(
        tier for tier in store.tiers if tier.step_s >= ROUND_S))
    does = [volume.workload for volume in cluster.volumes]
    write, iops, kib, us = np.array([
        (one.write_pct / 100, one.iops, one.block_kib, one.latency_us)
        for one in does]).T
    rates = np.array([1 - write, write, 1024 * kib * (1 - write),
                      1024 * kib * write, us / 1e6 * (1 - write),
                      us / 1e6 * write]) * iops
    names = [volume.id for volume in cluster.volumes]
    for begin in range(history.BEGIN, history.BEGIN + history.DAY_S,
                       history.HOUR_S):
        found = history.history.Series.empty(
            names, begin, begin + history.HOUR_S, ROUND_S)
        found.sums[0] = ROUND_S
        found.sums[1:] = ROUND_S * rates[:, None] * np.exp(
            rng.normal(0.0, 0.6, found.sums.shape[1:]))
        assert tiers.add(found, tiers.until())


def _options(directory: pathlib.Path, url: str | None) -> options.Options:
    conf = options.Options()
    conf([], default_config_files=[], default_config_dirs=[])
    for group, name, value in (
            ('serifos', 'state_dir', str(directory)),
            ('serifos', 'models_dir', str(directory / 'models')),
            ('balancer', 'capacity_horizon', 7 * history.DAY_S),
            ('history', 'connection', url)):
        conf.set_override(name, value, group)
    return conf


def _case(volumes: int, pools: int, directory: str,
          url: str | None = None) -> dict[str, float]:
    """Seconds of the last of some rounds, MiB, and bytes."""
    where, pair = pathlib.Path(directory), clusters.models()
    conf = _options(where, url)
    (where / 'models').mkdir()
    for name, model in zip(('s3500', 's3610'), pair):
        documents.write_model(where / f'models/{name}.json', model)
    cluster = _measured(clusters.make_cluster(
        volumes, pools, seed=0, blur=True), pair)
    store = stored_history.store(conf)
    _day(store, cluster)
    cloud = _Cloud(cluster)
    del cluster
    balancer = Balancer.of(Observer(
        cloud, cloud, databases.journal(conf), configuration.settings(conf),
        lambda: cloud.now, recorder=Recorder(store),
        growth=stored_history.growth(conf),
        accuracy=stored_history.accuracy(conf)), databases.plans(conf),
        lambda _: False, history=store)
    recent = Recent()
    pathlib.Path('/proc/self/clear_refs').write_text('5')
    base = history._resident_kib('VmRSS')
    for _ in range(_ROUNDS):
        cloud.now += ROUND_S
        begin, clock = time.process_time(), time.perf_counter()
        decision = balancer.decide(dataclasses.replace(
            recent, hold=1, interval_s=float(ROUND_S)))
        recent = decision.recent
        decided = time.process_time()
        plan = balancer.act(decision)
        end = time.process_time()
    assert plan is not None
    return {
        'decide': decided - begin, 'act': end - decided,
        'clock': time.perf_counter() - clock, 'moves': len(plan.moves),
        'base': base / 1024,
        'mib': (history._resident_kib('VmHWM') - base) / 1024,
        'history': _bytes(store.database), 'cluster':
        (where / 'cluster.json').stat().st_size,
        'journal': _bytes(databases.database(conf))}


def _bytes(database: Any) -> float:
    if database.file is not None:
        return sum(file.stat().st_size for file in database.file.parent.glob(
            f'{database.file.name}*'))
    return database.run(lambda connection: connection.scalar(
        sqlalchemy.text('SELECT pg_database_size(current_database())')))


def row(volumes: int, pools: int, url: str | None = None) -> str:
    with tempfile.TemporaryDirectory(dir='/var/tmp') as directory:
        found = history._apart(_case, volumes, pools, directory, url)
    mib = {name: found[name] / 2 ** 20
           for name in ('history', 'journal', 'cluster')}
    return (f'{volumes:7} {pools:6}  {found["decide"] + found["act"]:7.2f}  '
            f'{found["clock"]:8.2f}  {found["mib"]:5.0f}  '
            f'{found["base"]:6.0f}  {mib["history"]:7.0f}  '
            f'{mib["journal"]:7.1f}  {mib["cluster"]:12.0f}  '
            f'{found["moves"]:5}')


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield ('volumes  pools  CPU s    clock s    MiB  before  history  '
           'journal  cluster.json  moves')
    for volumes, pools in SIZES[:1] if quick else SIZES:
        yield row(volumes, pools)
    yield ''
    yield ('The third round after a day of history, in mode advise, with '
           'capacity_horizon; Cinder')
    yield ('and telemetry answer at once. MiB: what the rounds add to what '
           'the process held before;')
    yield 'of the databases and of cluster.json on disk.'


if __name__ == '__main__':
    print(row(*SIZES[-1], sys.argv[sys.argv.index('--history') + 1]
              if '--history' in sys.argv else None))
