# SPDX-License-Identifier: Apache-2.0
"""What tenants in servers see, beside what the hosts' devices show."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import statistics

from tests.testbed.nova import tenants
from tests.testbed import story

Span = tuple[float, float]
"""Begin and end, in seconds of the epoch."""


@dataclasses.dataclass(frozen=True)
class Tenant:
    """One tenant: what it sees in its server, and at its host's device.

    ``device_us`` is the mean latency in µs that node_exporter's figures
    tell, ``device_iops`` the requests per second.
    """

    server: str
    host: str
    seen: tenants.TenantSummary
    device_iops: float
    device_us: float


@dataclasses.dataclass(frozen=True)
class Felt:
    """What all of them see; the means are over a host's tenants, in µs.

    They are 0 of a host without a tenant.
    """

    tenants: Mapping[str, Tenant]

    @property
    def hosts(self) -> list[str]:
        return sorted({one.host for one in self.tenants.values()})

    def seen_us(self, host: str) -> float:
        return statistics.mean(
            [one.seen.mean_us for one in self._of(host)] or [0.0])

    def device_us(self, host: str) -> float:
        return statistics.mean(
            [one.device_us for one in self._of(host)] or [0.0])

    @property
    def worst(self) -> float:
        return max(map(self.seen_us, self.hosts))

    def _of(self, host: str) -> list[Tenant]:
        return [one for one in self.tenants.values() if one.host == host]


def table(found: Mapping[str, Tenant]) -> list[str]:
    """A tenant a line."""
    return [
        f'{"":22}{"in the server":>22}  {"at the device":>14}',
        f'{"tenant":7} {"server":6} {"host":6} {"IOPS":>5} '
        f'{"mean ms":>8} {"p99 ms":>7}  {"IOPS":>5} {"mean ms":>8}',
        *(f'{name:7} {one.server:6} {one.host:6} {one.seen.iops:5.0f} '
          f'{one.seen.mean_us / 1e3:8.1f} {one.seen.p99_us / 1e3:7.0f}'
          f'  {one.device_iops:5.0f} {one.device_us / 1e3:8.1f}'
          for name, one in found.items())]


def within(seconds: Iterable[tenants.Second],
           spans: Collection[Span]) -> list[tenants.Second]:
    """Those that lie in one of these spans of time as a whole."""
    return [one for one in seconds
            if any(begin <= one.at - one.seconds and one.at <= end
                   for begin, end in spans)]


def costs(before: Felt, during: Mapping[str, tenants.TenantSummary],
          after: Felt, moves: Sequence[Mapping]) -> list[str]:
    """What each tenant saw before, while volumes were copied and after.

    :param moves: as in a plan
    """
    rows = [f'{"":40} {"IOPS":>6} {"mean ms":>8} {"p99 ms":>7}']
    for name, was in before.tenants.items():
        title = f'{name}, {_part(was.host, after.tenants[name].host, moves)}'
        for when, seen in (('before', was.seen), ('during', during[name]),
                           ('after', after.tenants[name].seen)):
            rows.append(f'{title:33} {when:6} {seen.iops:6.0f} '
                        f'{seen.mean_us / 1e3:8.1f} {seen.p99_us / 1e3:7.0f}')
            title = ''
    return rows


def _part(was: str, now: str, moves: Sequence[Mapping]) -> str:
    """What a tenant has to do with the moves."""
    if was != now:
        return f'moved from {was} to {now}'
    parts = [part for part, end in (
        ('the source', 'from'), ('the target', 'to'))
        if any(move[end].startswith(f'{now}@') for move in moves)]
    return f'stays on {now}' + (f', {" and ".join(parts)}' if parts else '')


def hosts(before: Felt, after: Felt) -> list[str]:
    """The mean of each host's tenants, in servers and at the device."""
    rows = [story.change(f'{host}, {where}, ms', figure(before, host) / 1e3,
                         figure(after, host) / 1e3)
            for where, figure in (('servers', Felt.seen_us),
                                  ('device', Felt.device_us))
            for host in sorted({*before.hosts, *after.hosts})]
    return [f'{"":25} {"before":>8} {"after":>8}', *rows]
