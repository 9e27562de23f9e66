# SPDX-License-Identifier: Apache-2.0
"""The story of volumes that are available: each tenant is fio on its LV.

It lets go of its volume before that is migrated.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import statistics

from tests.testbed import fio_result
from tests.testbed import load
from tests.testbed import marks
from tests.testbed import story
from tests.testbed import testbed

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


class AvailableStory(story.Story):
    """The story whose tenants are fio.

    :param types: tenant → its volume type, where it has one
    """

    MOVE_IN = 'Four tenants move in, two of them on the slowest host.'

    def __init__(self, on: testbed.Testbed,
                 say: testbed.Say = lambda _: None,
                 types: Mapping[str, str] | None = None) -> None:
        super().__init__(on, say)
        self.types = dict(types or {})
        self.loads = load.Loads(on)
        self.marks: dict[str, str] = {}

    def tenants(self) -> None:
        for name, (host, _) in TENANTS.items():
            volume = self.on.create_volume(
                name, host=self.on.host(host),
                volume_type=self.types.get(name))
            self.volumes[name] = volume
            self.marks[name] = marks.write(self.on, volume)
        for name, (_, job) in TENANTS.items():
            self.loads.start(self.volumes[name], job)

    def felt(self) -> Felt:
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

    @contextlib.contextmanager
    def moving(self, moves: Sequence[Mapping]) -> Iterator[None]:
        """The tenants of these let go of them, and find them afterwards."""
        try:
            for move in moves:
                self.loads.pause(move['volume'])
            yield
        finally:
            self.loads.resume_all()

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
        self.loads.stop_all()
        for volume in self.volumes.values():
            self.on.api.delete_volume(volume)
        self.volumes.clear()

    def compared(self, before: Felt, after: Felt,
                 moves: Sequence[Mapping]) -> list[str]:
        return [
            f'{"":25} {"before":>8} {"after":>8}',
            *(story.change(f'{host}, mean ms', before.hosts[host] / 1e3,
                           after.hosts[host] / 1e3) for host in before.hosts),
            story.change('all hosts, mean ms', before.mean / 1e3,
                         after.mean / 1e3),
            story.change('slowest host, mean ms', before.worst / 1e3,
                         after.worst / 1e3),
            story.change('slowest p99, ms', before.worst_p99 / 1e3,
                         after.worst_p99 / 1e3),
            story.change('variance over hosts, ms²', before.variance / 1e6,
                         after.variance / 1e6)]
