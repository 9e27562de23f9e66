# SPDX-License-Identifier: Apache-2.0
"""What the tenants in a server do with its volumes, and what they see.

A tenant is vm/tenant.c: it finds its job on the volume itself, as soon as
that is attached, checks each block that it reads, and tells every second on
the serial console.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import json
import pathlib
import re

from tests.testbed import layout
from tests.testbed import marks
from tests.testbed import network
from tests.testbed import testbed

BLOCK = 4096
"""Bytes of the block that holds the job, before the mark."""

_LINE = re.compile(rb'^\{"disk": .*\}\s*$', re.M)


@dataclasses.dataclass(frozen=True)
class TenantJob:
    """Random direct I/O; pause_us (µs) between two requests of a thread."""

    write_pct: int = 30
    block_kib: int = 16
    iodepth: int = 4
    pause_us: int = 0


@dataclasses.dataclass(frozen=True)
class Second:
    """What one tenant did in about a second, and since it was attached.

    ``at`` is when it said so, in seconds of the epoch by the server's clock.
    ``checked`` blocks were read and compared, ``wrong`` ones were not what
    had been written last, ``errors`` requests failed; all since then.
    Latencies are those in the server, in µs.
    """

    disk: str
    at: float
    seconds: float
    reads: int
    writes: int
    checked: int
    errors: int
    wrong: int
    mean_us: float
    p99_us: float
    max_us: float


@dataclasses.dataclass(frozen=True)
class TenantSummary:
    """Some seconds of one tenant: requests a second, latencies in µs.

    ``p99_us`` is the worst second's.
    """

    iops: float
    write_pct: float
    mean_us: float
    p99_us: float
    max_us: float


def assign(on: testbed.Testbed, volume: str, job: TenantJob) -> None:
    """Writes the job on the volume, which is not attached yet."""
    at = marks.begin(on, volume) // BLOCK
    words = ' '.join(map(str, dataclasses.astuple(job)))
    on.guest(on.host_of(volume).number).call(
        f"echo 'tenant {words}' | dd of={on.device_of(volume)} bs={BLOCK} "
        f'seek={at - 1} conv=notrunc,sync oflag=direct status=none')


class Console:
    """The serial console of a server, from now on."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._begin = path.stat().st_size if path.exists() else 0

    def said(self) -> bytes:
        """All since then."""
        with open(self._path, 'rb') as file:
            file.seek(self._begin)
            return file.read()

    def seconds(self, volume: str) -> list[Second]:
        """Those of the tenant of this volume, since then."""
        return parse(self.said(), volume)

    def wait_seconds(self, volume: str, count: int,
                     within: float = 300) -> list[Second]:
        """Once there are so many of them."""
        return network.wait_for(
            f'{count} seconds of the tenant of {volume} (see {self._path})',
            lambda: (found := self.seconds(volume))[count - 1:] and found,
            within, every=0.5)


def disk(volume: str) -> str:
    """Its name on the console: the disk's serial number, 20 letters."""
    return volume[:20]


def parse(said: bytes, volume: str) -> list[Second]:
    """The seconds of one volume's tenant in what a console said."""
    found = (Second(**json.loads(line)) for line in _LINE.findall(said))
    return [one for one in found if one.disk == disk(volume)]


def summary(seconds: Iterable[Second]) -> TenantSummary:
    """All of these together."""
    them: Sequence[Second] = list(seconds)
    count = sum(one.reads + one.writes for one in them)
    if not count:
        raise layout.TestbedError('the tenant did no I/O in that time.')
    return TenantSummary(
        iops=count / sum(one.seconds for one in them),
        write_pct=100 * sum(one.writes for one in them) / count,
        mean_us=sum(one.mean_us * (one.reads + one.writes)
                    for one in them) / count,
        p99_us=max(one.p99_us for one in them),
        max_us=max(one.max_us for one in them))
