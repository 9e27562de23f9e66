# SPDX-License-Identifier: Apache-2.0
"""A burst of new volumes: where they land and which latency they see.

A tenant keeps the fastest host busy. Many volumes are created at once, and
used as soon as they are there: by Cinder's own CapacityWeigher, and twice by
serifos. The test asserts what ``tools/testbed burst`` shows.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures
import contextlib
import dataclasses
import re
import statistics
import time

from tests.testbed import available
from tests.testbed import cinder
from tests.testbed import fio_result
from tests.testbed import layout
from tests.testbed import load
from tests.testbed import testbed

SCHEDULERS: Mapping[str, cinder.Config] = {
    'SerifosScheduler': cinder.DRIVER,
    'SerifosWeigher': cinder.WEIGHER,
    'CapacityWeigher': cinder.STOCK,
}
"""The stock one comes last: that is the way back from serifos, too."""

BUSY = 1
TENANT = load.Job(write_pct=50, block_kib=128, iodepth=8)
"""On the busy host. The others have a volume of that size, too, which is
idle: by capacity the hosts are alike."""

JOB = load.Job(write_pct=30, block_kib=16, iodepth=2)
"""What the new volumes do: their type tells the size of a request, a hint
how many are outstanding, and the writes are what is expected of any."""
SPECS = {'serifos:block_kib': str(JOB.block_kib)}
HINTS = {'serifos:iodepth': str(JOB.iodepth)}

SETTLE_S = 3.0
READY_S = 300.0


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Where the volumes of a burst landed, and what they saw.

    :param results: what each new volume saw, in the order of its name
    :param tenant: what the tenant of the busy host saw meanwhile
    :param said: by cinder-scheduler, about it
    """

    results: Sequence[fio_result.Result]
    tenant: fio_result.Result
    said: str

    @property
    def latencies(self) -> list[float]:
        return [one.latency_us for one in self.results]

    @property
    def mean_us(self) -> float:
        return statistics.mean(self.latencies)

    @property
    def worst_us(self) -> float:
        return max(self.latencies)

    def on(self, host: str) -> int:
        """How many of them landed there."""
        return sum(one.host == host for one in self.results)

    @property
    def sources(self) -> set[str]:
        """What serifos expected of a new volume, and who told it so."""
        return set(re.findall(r'expecting (write_pct .*)', self.said))


class Burst:
    """Bursts of so many volumes of 1 GiB, one by each scheduler."""

    def __init__(self, on: testbed.Testbed, count: int,
                 say: testbed.Say = lambda _: None) -> None:
        self.on = on
        self.story = available.AvailableStory(on, say)
        self._count = count
        self._say = say
        self._type = ''

    def prepare(self) -> None:
        """Models, tenants, a volume type, and cluster.json as they show."""
        self.story.balancer.forget()
        self.story.balancer.configure()
        self.story.balancer.assume_models()
        self._type = self.on.api.create_type('burst', SPECS)
        for host in self.on.hosts:
            self.story.volumes[host.name] = self.on.create_volume(
                f'old-{host.name}', host=host)
        busy = self.on.host(BUSY).name
        self.story.loads.start(self.story.volumes[busy], TENANT)
        self._say(f'A tenant keeps {busy} busy.')
        self.story.observe()

    def place(self, scheduler: str, seconds: float = 12.0) -> Outcome:
        """A burst by this scheduler; its volumes are gone afterwards."""
        self.on.wait_room()
        self.on.restart_scheduler(SCHEDULERS[scheduler])
        before = len(self.on.scheduler_log())
        names = [f'burst-{number:02}' for number in range(self._count)]
        with contextlib.ExitStack() as undo:
            volumes = self._each(self._create, names, len(names))
            undo.callback(self.on.delete_volumes, volumes, READY_S)
            for volume in volumes:
                self.on.wait_available(volume, READY_S)
            said = self.on.scheduler_log()[before:]
            undo.callback(self._each, self.story.loads.stop, volumes)
            self._each(self._use, volumes)
            found = self._measure(seconds)
        outcome = Outcome(
            [found[volume] for volume in volumes],
            found[self.story.volumes[self.on.host(BUSY).name]], said)
        self._say(f'{scheduler}: ' + ', '.join(
            f'{outcome.on(host.name)} on {host.name}'
            for host in self.on.hosts))
        return outcome

    def end(self) -> None:
        """Removes volumes, volume type and models; restarts the scheduler."""
        self.story.end()
        # Made up for this: who needs models measures them.
        for path in self.story.balancer.models.glob('node*.json'):
            path.unlink()
        if self._type:
            self.on.api.delete_type(self._type)
        self.on.restart_scheduler()

    def _create(self, name: str) -> str:
        return self.on.api.create_volume(name, volume_type='burst',
                                         hints=HINTS)

    def _use(self, volume: str) -> None:
        self.story.loads.start(volume, JOB)

    def _measure(self, seconds: float) -> dict[str, fio_result.Result]:
        time.sleep(SETTLE_S)
        before = self.story.loads.so_far()
        time.sleep(seconds)
        after = self.story.loads.so_far()
        return {volume: one.since(before[volume])
                for volume, one in after.items()}

    def _each(self, function: Callable, those: Sequence[str],
              together: int = 4) -> list:
        with futures.ThreadPoolExecutor(together) as pool:
            return list(pool.map(function, those))


def tell(on: testbed.Testbed, count: int, say: testbed.Say) -> None:
    """:raises TestbedError: unless serifos placed better, by either way"""
    burst = Burst(on, count, say)
    try:
        burst.prepare()
        found = {name: burst.place(name) for name in SCHEDULERS}
    finally:
        burst.end()
    for line in table(found, [host.name for host in on.hosts]):
        say(line)
    stock = found.pop('CapacityWeigher')
    worse = [name for name, one in found.items()
             if one.mean_us >= stock.mean_us
             or one.worst_us >= stock.worst_us]
    if worse:
        raise layout.TestbedError(
            f'{" and ".join(worse)} placed no better than CapacityWeigher; '
            'end what else uses this machine, and try again.')


def table(found: Mapping[str, Outcome], hosts: Sequence[str]) -> list[str]:
    """Where each new volume landed and its mean latency; then the sums."""
    rows = [['', *found]]
    for number, several in enumerate(zip(
            *(one.results for one in found.values()))):
        rows.append([f'burst-{number:02}', *(
            f'{one.host} {one.latency_us / 1e3:5.1f} ms' for one in several)])
    rows.append([])
    for host in hosts:
        rows.append([f'volumes on {host}', *(
            str(one.on(host)) for one in found.values())])
    for name, figure in (
            ('mean', lambda one: one.mean_us),
            ('worst', lambda one: one.worst_us),
            ('the tenant', lambda one: one.tenant.latency_us)):
        rows.append([name, *(f'{figure(one) / 1e3:.1f} ms'
                             for one in found.values())])
    return [''.join([f'{cell:18}' for cell in row[:1]]
                    + [f'{cell:>18}' for cell in row[1:]]) for row in rows]
