# SPDX-License-Identifier: Apache-2.0
"""A simulated cloud of hosts and volumes.

The same verbs as the adapters of Cinder and of the telemetry, ``observe``
and ``migrate``; ``measure`` is only for the experiment.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import copy
import dataclasses

import numpy as np

from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.lab.sim import device
from serifos.lab.sim import devices
from serifos.lab.sim import ssd as ssds
from serifos.lab.sim.tails import Tails

_MEASURED, _OBSERVED = 0, 1
_RUN_S = 60.0


class SimulatedCloud:
    """Hosts, each with one pool on a device of its own, and volumes.

    A host with the same volumes always measures the same, so that hosts that
    a plan did not touch do not change, and are run once.

    :param seed: of the random numbers in every run
    :param ios: requests of a run
    :param tails: of what volumes see; None for the simulation's own
    """

    def __init__(self, testbed: devices.Testbed, seed: Sequence[int],
                 ios: int = device.IOS,
                 tails: Tails | None = None) -> None:
        self._ssds: dict[str, ssds.Ssd] = {}
        pools = []
        for ssd, (number, gib) in testbed.hosts.items():
            for i in range(1, number + 1):
                name = f'{ssd.name.lower()}-{i}@sim#sim'
                self._ssds[name] = ssd
                pools.append(Pool(
                    name, model=ssd.name, total_gib=gib, free_gib=gib))
        self._seed, self._ios, self._tails = tuple(seed), ios, tails
        self._cluster = Cluster(tuple(pools), ())
        self._runs: dict[object, Sample] = {}

    def copy(self) -> SimulatedCloud:
        """The same, to be changed apart; what one has run is known to both."""
        return copy.copy(self)

    @property
    def cluster(self) -> Cluster:
        """The cluster, with the workloads that were asked for."""
        return self._cluster

    def create(self, volume: Volume, pool: str) -> None:
        """:raises InputError: where the pool has no room"""
        self._refuse_full(pool, volume)
        self._cluster = self._cluster.place(volume, pool)

    def migrate(self, volume_id: str, pool: str) -> None:
        """Moves a volume.

        :raises InputError: where the pool has no room
        """
        volume = self._cluster.volume(volume_id)
        self._refuse_full(pool, volume)
        self._cluster = self._cluster.without(volume).place(volume, pool)

    def measure(self) -> Mapping[str, Sample | None]:
        """Pool → one run of its volumes, None where it has none."""
        return self._run(_MEASURED)

    def observe(self) -> Cluster:
        """The cluster as telemetry sees it, from runs of its own.

        Of a workload it has the mix, the block size, the rate and the
        latency; the iodepth follows by Little's law.
        """
        seen = {}
        for pool, sample in self._run(_OBSERVED).items():
            if sample is not None:
                seen.update(zip(self._ids(pool), map(
                    _telemetry, sample.workloads, sample.seen)))
        return dataclasses.replace(self._cluster, volumes=tuple(
            dataclasses.replace(volume, workload=seen[volume.id])
            for volume in self._cluster.volumes))

    def _run(self, purpose: int) -> dict[str, Sample | None]:
        samples: dict[str, Sample | None] = {}
        for number, pool in enumerate(self._ssds):
            workloads = tuple(self._cluster.volume(volume_id).workload
                              for volume_id in self._ids(pool))
            samples[pool] = (self._sample(pool, [purpose, number], workloads)
                             if workloads else None)
        return samples

    def _sample(self, pool: str, chance: Sequence[int],
                workloads: tuple[Workload, ...]) -> Sample:
        key = (*chance, workloads)
        if key not in self._runs:
            rng = np.random.default_rng([*self._seed, *chance])
            self._runs[key] = device.SimulatedDevice(
                self._ssds[pool], rng, self._ios, tails=self._tails).measure(
                workloads, _RUN_S)
        return self._runs[key]

    def _ids(self, pool: str) -> list[str]:
        return sorted(volume.id for volume in self._cluster.volumes
                      if volume.pool == pool)

    def _refuse_full(self, pool: str, volume: Volume) -> None:
        free = self._cluster.pool(pool).free_gib
        if free < volume.size_gib:
            raise errors.InputError(
                f'{pool} has {free:g} GiB free, too few for volume '
                f'{volume.id} of {volume.size_gib:g} GiB.')


def _telemetry(asked: Workload,
               saw: Mapping[str, float]) -> Workload:
    return Workload(
        write_pct=100 * saw['write_iops'] / saw['iops'],
        block_kib=asked.block_kib, random_pct=asked.random_pct,
        iops=saw['iops'], latency_us=saw['latency_us'])
