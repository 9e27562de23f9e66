# SPDX-License-Identifier: Apache-2.0
"""Section ``truth``: moves chosen by simulated devices, without a model."""

from __future__ import annotations

from collections.abc import Iterator
import operator

import numpy as np

from serifos.facts.cluster import Cluster
from serifos.lab.sim import device
from serifos.lab.sim import devices
from serifos.lab.sim import scenario

SEED = 41   # as in the table of reference/planning.rst
IOS = 1500  # requests of a run


class Hosts:
    """The latency of each host of a cluster, run on its device."""

    def __init__(self, testbed: devices.Testbed) -> None:
        self._ssds = {ssd.name: ssd for ssd in testbed.hosts}
        self._seen: dict[object, float] = {}

    def latencies_us(self, cluster: Cluster) -> list[float]:
        """By pool, in the cluster's order; 0 without volumes."""
        return [self._latency_us(pool.model, tuple(sorted((
            volume.workload for volume in cluster.volumes
            if volume.pool == pool.name), key=repr)))
            for pool in cluster.pools]

    def alone_us(self, cluster: Cluster) -> float:
        """The most that any volume sees with the best host to itself."""
        return max(min(self._latency_us(model, (volume.workload,))
                       for model in self._ssds) for volume in cluster.volumes)

    def _latency_us(self, *run: object) -> float:
        model, workloads = run
        if workloads and run not in self._seen:
            self._seen[run] = device.SimulatedDevice(
                self._ssds[model], np.random.default_rng(7), IOS
                ).measure(workloads, 60.0).latency_us
        return self._seen.get(run, 0.0)


def changed(cluster: Cluster, worst: str,
            swaps: bool) -> Iterator[Cluster]:
    """The cluster after each move off a pool, or swap with a volume of it."""
    for volume in cluster.volumes:
        if volume.pool != worst:
            continue
        rest = cluster.without(volume)
        for pool in rest.pools:
            if pool.name != worst and pool.free_gib >= volume.size_gib:
                yield rest.place(volume, pool.name)
        for other in cluster.volumes if swaps else ():
            both = rest.without(other) if other.pool != worst else None
            if both and (
                    both.pool(other.pool).free_gib >= volume.size_gib
                    and both.pool(worst).free_gib >= other.size_gib):
                yield both.place(volume, other.pool).place(other, worst)


def searched(hosts: Hosts, cluster: Cluster, most: int, gain: float,
             swaps: bool) -> Cluster:
    """The cluster after up to so many moves, each the best of its time.

    :param gain: the fraction by which a move lowers the worst latency of
        the pools that it touches, at least
    """
    for _ in range(most):
        now = hosts.latencies_us(cluster)
        worst = max(now)
        better = [
            (sorted(then, reverse=True), other) for other in changed(
                cluster, cluster.pools[now.index(worst)].name, swaps)
            if (then := hosts.latencies_us(other)) != now and max(
                after for before, after in zip(now, then)
                if before != after) <= (1 - gain) * worst]
        if not better:
            break
        _, cluster = min(better, key=operator.itemgetter(0))
    return cluster


def lines(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    gain = scenario.limits().min_gain
    yield ('truth    cases   before  4 moves  variance  any moves, swaps  '
           'variance  alone')
    for name, cases in (('serial', 2),) if quick else (
            ('other', 25), ('drawn', 25), ('drawn2', 25), ('serial', 50)):
        testbed, found, alone_us = devices.TESTBEDS[name], [], []
        for number in range(cases):
            hosts = Hosts(testbed)
            first = scenario.placed(
                scenario.Case(testbed, number, SEED, {})).cluster
            found.append([hosts.latencies_us(cluster) for cluster in (
                first, searched(hosts, first, 4, gain, False),
                searched(hosts, first, 30, 0.005, True))])
            alone_us.append(hosts.alone_us(first))
        by_plan = np.array(found).swapaxes(0, 1)
        worst = by_plan.max(axis=2).mean(axis=1)
        variance = by_plan.var(axis=2).mean(axis=1)
        (_, four, more), (_, of_four, of_more) = (
            100 * (each / each[0] - 1) for each in (worst, variance))
        alone = 100 * (np.mean(alone_us) / worst[0] - 1)
        yield (f'{name:8} {cases:5} {worst[0] / 1000:5.2f} ms '
               f'{four:6.0f} % {of_four:7.0f} % {more:15.0f} % '
               f'{of_more:7.0f} % {alone:4.0f} %')
    yield ('Worst host before, and its change by moves that the simulated '
           'devices are asked about; alone, what the volume that waits '
           'longest would see with the best host to itself.')
