# SPDX-License-Identifier: Apache-2.0
"""Proof that a tenant's data are its volume's, by the tenant and without it.

The tenant compares each block that it reads. The logical volume, once no
server uses it, has to hold each write that the tenant had an answer to, and
the mark.
"""

from __future__ import annotations

import contextlib
from typing import Any

from tests.testbed import layout
from tests.testbed import marks
from tests.testbed import network
from tests.testbed.nova import blocks
from tests.testbed.nova.servers import Servers
from tests.testbed.nova import tenants
from tests.testbed import testbed

JOB = tenants.TenantJob(write_pct=50, block_kib=16, iodepth=2,
                        pause_us=10_000)
SECONDS = 8
"""Of the tenant, which prove that it works."""

_UP = b'server is up'


class Proof:
    """What is known of the data of a volume in a server; ``data`` has it."""

    def __init__(self, on: testbed.Testbed, servers: Servers,
                 volume: str) -> None:
        self._on = on
        self._servers = servers
        self._volume = volume
        self._server, self._said, self._begin = '', b'', 0
        self._mark = marks.write(on, volume)
        tenants.assign(on, volume, JOB)
        self.data: dict[str, Any] = {}

    def attach(self, server: str) -> None:
        """Waits until the tenant works."""
        self._server = server
        self._begin = len(self.console())
        self.data = {}
        self._servers.attach(server, self._volume)
        network.wait_for('the tenant works', lambda: self._seconds()[SECONDS:],
                         300, every=1)

    def console(self) -> bytes:
        """What the server has said; as it last was, where it is gone."""
        with contextlib.suppress(OSError):
            self._said = self._servers.console(self._server).read_bytes()
        return self._said

    def _seconds(self) -> list[tenants.Second]:
        """The tenant's, since it was attached or the server was up again."""
        return tenants.parse(self._since().rpartition(_UP)[2], self._volume)

    def _since(self) -> bytes:
        said = self.console()
        # A server that starts again may begin a new file.
        return said[self._begin if len(said) >= self._begin else 0:]

    def check_live(self) -> None:
        """By the tenant, whose server runs."""
        try:
            count = len(self._seconds())
            found = network.wait_for(
                'the tenant tells', lambda: len(
                    them := self._seconds()) >= count + SECONDS and them,
                120, every=1)
        except layout.TestbedError as error:
            self.data['live'] = str(error)
            return
        longest = run = 0.0
        for one in found:
            run = 0.0 if one.reads + one.writes else run + one.seconds
            longest = max(longest, run)
        last = found[count:]
        self.data.update(
            wrong=found[-1].wrong, errors=found[-1].errors,
            checked=found[-1].checked,
            iops=round(sum(one.reads + one.writes for one in last)
                       / len(last)),
            longest_s=round(longest), max_ms=round(
                max(one.max_us for one in found) / 1000))

    def check_at_rest(self) -> None:
        """By the logical volume, which no server uses."""
        said = self._since()
        found = blocks.check(self._on, self._volume, JOB.block_kib)
        self.data.update(
            written=found.written, bad=found.bad,
            mark=marks.checksum(self._on, self._volume) == self._mark)
        # A tenant that starts again counts from 1 again.
        if 'times' not in self.data and _UP not in said:
            self.data.update(times=found.times, acknowledged=sum(
                one.writes for one in tenants.parse(said, self._volume)))
