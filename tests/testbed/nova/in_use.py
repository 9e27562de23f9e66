# SPDX-License-Identifier: Apache-2.0
"""The story of volumes in use: each tenant works in a server all the time.

serifos-balancer asks Keystone, Cinder and Nova, as an operator's does.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from concurrent import futures

from serifos.facts import times
from tests.testbed import marks
from tests.testbed import network
from tests.testbed.nova import config
from tests.testbed.nova import felt
from tests.testbed.nova import servers
from tests.testbed.nova import tenants
from tests.testbed import story
from tests.testbed import testbed

TENANTS = {
    'logs': (3, 'shop', tenants.TenantJob(80, 128, 4)),
    'oltp': (3, 'shop', tenants.TenantJob(30, 16, 2)),
    'wiki': (1, 'site', tenants.TenantJob(10, 16, 1, pause_us=10000)),
    'docs': (2, 'site', tenants.TenantJob(10, 16, 1, pause_us=10000)),
}
"""Name → the host where its volume begins, its server, and what it does."""

ROOTS = {'shop': 1, 'site': 2}
"""Server → the host of its root volume, which is idle."""

CHECKED = 200
"""Blocks that each tenant compares after the last migration, at least."""

NOTES = """\
p99 is that of the worst second. A server sees more than the device's time:
its requests pass QEMU, which emulates the processor here, iSCSI and the
network."""


class InUseStory(story.Story):
    """The story whose tenants are in servers."""

    MOVE_IN = ('Two servers boot from volumes; four more are attached, two '
               'of them on the slowest host.')
    SETTLE_S = story.WINDOW_S

    def __init__(self, on: testbed.Testbed,
                 say: testbed.Say = lambda _: None) -> None:
        super().__init__(on, say, config.auth('admin', 'admin'))
        self.servers = servers.Servers(on)
        self.marks: dict[str, str] = {}
        self._booted: dict[str, str] = {}
        self._consoles: dict[str, tenants.Console] = {}

    def tenants(self) -> None:
        with futures.ThreadPoolExecutor() as pool:
            made = [pool.submit(self._create, name) for name in TENANTS]
            made += [pool.submit(self._boot, name) for name in ROOTS]
            for each in made:
                each.result()
        for name, server in self._booted.items():
            for tenant in _of(name):
                self.servers.attach(server, self.volumes[tenant])
            self._say(f'{name} is ACTIVE; its tenants are '
                      f'{" and ".join(_of(name))}.')
        for tenant in TENANTS:
            self._console(tenant).wait_seconds(self.volumes[tenant], 2)

    def _create(self, name: str) -> None:
        host, _, job = TENANTS[name]
        volume = self.servers.volumes.create_volume(
            name, host=self.on.host(host))
        self.volumes[name] = volume
        self.marks[name] = marks.write(self.on, volume)
        tenants.assign(self.on, volume, job)

    def _boot(self, name: str) -> None:
        server = self.servers.boot(name, self.servers.create_root(
            f'{name}-root', self.on.host(ROOTS[name])))
        self._booted[name] = server
        self._consoles[name] = tenants.Console(self.servers.console(server))

    def _console(self, tenant: str) -> tenants.Console:
        return self._consoles[TENANTS[tenant][1]]

    def _seconds(self, tenant: str) -> list[tenants.Second]:
        return self._console(tenant).seconds(self.volumes[tenant])

    def _summary(self, tenant: str,
                 spans: Sequence[felt.Span]) -> tenants.TenantSummary:
        return tenants.summary(felt.within(self._seconds(tenant), spans))

    def felt(self) -> felt.Felt:
        """By the newest observation, and by the servers in its time."""
        cluster = self.balancer.cluster()
        end = times.parse(cluster['observed_at'])
        seen = {one['id']: one for one in cluster['volumes']}
        found = {}
        for name, (_, server, _) in TENANTS.items():
            volume = seen[self.volumes[name]]
            found[name] = felt.Tenant(
                server, volume['pool'].partition('@')[0],
                self._summary(name, [(end - story.WINDOW_S, end)]),
                volume['workload']['iops'], volume['workload']['latency_us'])
        for line in felt.table(found):
            self._say(line)
        return felt.Felt(found)

    def intact(self) -> dict[str, bool]:
        """Tenant → whether its mark and each block that it read are right."""
        for name, count in {name: self._seconds(name)[-1].checked + CHECKED
                            for name in TENANTS}.items():
            network.wait_for(
                f'{name} has compared {count} blocks',
                lambda: self._seconds(name)[-1].checked >= count, 300,
                every=1)
        return {name: self._intact(name) for name in TENANTS}

    def _intact(self, name: str) -> bool:
        last = self._seconds(name)[-1]
        same = marks.checksum(
            self.on, self.volumes[name]) == self.marks[name]
        self._say(f'{name}: checked {last.checked:,} blocks, {last.wrong} '
                  f'wrong, {last.errors} requests failed; its mark is '
                  f'{"intact" if same else "LOST"}')
        return same and not last.wrong and not last.errors

    def compared(self, before: felt.Felt, after: felt.Felt,
                 moves: Sequence[Mapping]) -> list[str]:
        copies = self._copies()
        return [
            *felt.costs(before, {
                name: self._summary(name, copies) for name in TENANTS},
                after, moves),
            '', *felt.hosts(before, after), '', *NOTES.split('\n')]

    def _copies(self) -> list[felt.Span]:
        """When volumes were copied, by the balancer's journal."""
        entries = self.balancer.journal()
        return [(times.parse(asked['at']), times.parse(over['at']))
                for asked, over in zip(
                    (one for one in entries if one['kind'] == 'request'),
                    (one for one in entries if one['kind'] == 'outcome'))]

    def end(self) -> None:
        for server in self._booted.values():
            self.servers.delete(server)
        self._booted.clear()
        self.on.delete_volumes(self.volumes.values())
        self.volumes.clear()


def _of(server: str) -> list[str]:
    """The server's tenants."""
    return [name for name, (_, where, _) in TENANTS.items()
            if where == server]
