# SPDX-License-Identifier: Apache-2.0
"""All that serifos does for tenants, once, on a real Cinder.

A model of each host's SSD is measured; tenants overload the slowest host;
a new volume is placed; the balancer migrates; what the tenants see is
measured before and after, and every byte that must not change is compared.
The tests assert what is told here; ``tools/testbed demo`` tells it.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import statistics
import time

from tests.functional.testbed import balancer
from tests.functional.testbed import cinder
from tests.functional.testbed import fio_result
from tests.functional.testbed import load
from tests.functional.testbed import marks
from tests.functional.testbed import testbed

TENANTS = {
    'oltp': (3, load.Job(write_pct=50, block_kib=16, iodepth=4)),
    'logs': (3, load.Job(write_pct=90, block_kib=64, iodepth=2, verify=True)),
    'wiki': (1, load.Job(write_pct=10, block_kib=16, iodepth=2, verify=True)),
    'docs': (2, load.Job(write_pct=10, block_kib=16, iodepth=2)),
}
"""Name → the host where it begins, and what it does.

The first to move, and one that reads, compare what they read with what they
wrote.
"""

MEASURE_S = 12.0
MIN_GAIN = 0.1
"""Of each move: the models here are rough, a migration takes minutes."""


@dataclasses.dataclass(frozen=True)
class Felt:
    """What the tenants of each host see, by fio; latencies in µs.

    ``hosts`` is the mean over a host's tenants, 0 for a host without one;
    ``p99`` the worst of a host's tenants.
    """

    hosts: Mapping[str, float]
    p99: Mapping[str, float]
    tenants: Mapping[str, fio_result.Result]

    @property
    def mean(self) -> float:
        return statistics.mean(self.hosts.values())

    @property
    def worst(self) -> float:
        return max(self.hosts.values())

    @property
    def variance(self) -> float:
        return statistics.pvariance(self.hosts.values())

    @property
    def worst_p99(self) -> float:
        return max(self.p99.values())


class Story:
    """The steps of the story; each returns what it found."""

    def __init__(self, on: testbed.Testbed,
                 say: testbed.Say = lambda _: None) -> None:
        self.on = on
        self.balancer = balancer.Balancer(on)
        self.loads = load.Loads(on)
        self.volumes: dict[str, str] = {}
        self.marks: dict[str, str] = {}
        self._say = say

    def models(self) -> dict[str, dict]:
        """A model of each host's volume group, with real fio."""
        self.balancer.configure(min_gain=MIN_GAIN)
        found = self.balancer.build_models()
        for name, model in found.items():
            self._say(f'{name}: a model of kind {model["kind"]}, error '
                      f'{100 * model["quality"]["mre"]:.0f} % in '
                      'cross-validation')
        return found

    def tenants(self) -> None:
        """Volumes with a mark, most of them on the slowest host; then I/O."""
        for name, (host, _) in TENANTS.items():
            volume = self.on.create_volume(name, host=self.on.host(host))
            self.volumes[name] = volume
            self.marks[name] = marks.write(self.on, volume)
        for name, (_, job) in TENANTS.items():
            self.loads.start(self.volumes[name], job)

    def felt(self) -> Felt:
        """What the tenants see now."""
        results = self.loads.measure(MEASURE_S)
        names = {volume: name for name, volume in self.volumes.items()}
        tenants = {names[volume]: result
                   for volume, result in results.items() if volume in names}
        by_host: dict[str, list[fio_result.Result]] = {
            host.name: [] for host in self.on.hosts}
        for result in tenants.values():
            by_host[result.host].append(result)
        found = Felt(
            {host: statistics.mean([one.latency_us for one in them] or [0])
             for host, them in by_host.items()},
            {host: max([one.p99_us for one in them] or [0])
             for host, them in by_host.items()}, tenants)
        self._show(found)
        return found

    def _show(self, felt: Felt) -> None:
        self._say(f'{"host":6} {"mean ms":>8} {"p99 ms":>8}  tenants')
        for host, latency_us in felt.hosts.items():
            names = sorted(name for name, one in felt.tenants.items()
                           if one.host == host)
            self._say(f'{host:6} {latency_us / 1e3:8.1f} '
                      f'{felt.p99[host] / 1e3:8.1f}  {", ".join(names)}')

    def observe(self) -> dict:
        """cluster.json, after watching the tenants."""
        status, out, err = self.balancer.run('observe', '--window', '30')
        if status:
            raise AssertionError(f'observe ended with {status}: {err}')
        return self.balancer.cluster()

    def place(self) -> str:
        """The host where the scheduler puts a new volume."""
        self.on.restart_scheduler(cinder.DRIVER)
        volume = self.on.create_volume('new')
        pool = self.on.host_of(volume).name
        self._say(f'The scheduler put the new volume on {pool}.')
        self.on.api.delete_volume(volume)
        return pool

    def balance(self) -> list[dict]:
        """Plans and applies until there is nothing more to move.

        The tenants of the volumes that a plan moves let go of them before
        the migration is asked for, and find them where they then are.
        """
        moved: list[dict] = []
        while True:
            plan = self.plan()
            if plan is None:
                return moved
            self._say(f'A plan of {len(plan["moves"])} moves: worst latency '
                      f'{plan["max_us"]["before"] / 1e3:.1f} -> '
                      f'{plan["max_us"]["after"] / 1e3:.1f} ms, predicted')
            self.apply(plan)
            moved += plan['moves']

    def plan(self) -> dict | None:
        """What one round in mode advise plans, None for nothing."""
        before = self.balancer.plan()
        status, out, err = self.balancer.run('run', '--once', '--window',
                                             '30')
        if status:
            raise AssertionError(f'run --once ended with {status}: {err}')
        plan = self.balancer.plan()
        return None if 'nothing to move' in out or plan == before else plan

    def apply(self, plan: dict) -> None:
        """Carries a plan out, its volumes out of use meanwhile."""
        names = {volume: name for name, volume in self.volumes.items()}
        for move in plan['moves']:
            self.loads.pause(move['volume'])
            self._say(f'{names.get(move["volume"], move["volume"])}: '
                      f'{move["from"]} -> {move["to"]} ({move["reason"]})')
        began = time.monotonic()
        try:
            status, out, err = self.balancer.run('apply', plan['id'], '--yes')
        finally:
            self.loads.resume_all()
        if status:
            raise AssertionError(
                f'apply ended with {status}: {out}\n{err}')
        self._say(f'Carried out in {time.monotonic() - began:.0f} s.')

    def intact(self) -> dict[str, bool]:
        """Tenant → whether its mark is as it was, and fio saw no error.

        The tenants pause for it.
        """
        results = self.loads.pause_all()
        found = {name: marks.checksum(self.on, volume) == self.marks[name]
                 and not (volume in results and results[volume].errors)
                 for name, volume in self.volumes.items()}
        self.loads.resume_all()
        self._say('Marks: ' + ', '.join(
            f'{name} {"intact" if well else "LOST"}'
            for name, well in found.items()))
        return found

    def end(self) -> None:
        """The tenants leave."""
        self.loads.stop_all()
        for volume in self.volumes.values():
            self.on.api.delete_volume(volume)
        self.volumes.clear()
