# SPDX-License-Identifier: Apache-2.0
"""What a tenant saw, from the JSON that fio prints."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import dataclasses
import itertools
import json
import operator

from tests.testbed import layout


@dataclasses.dataclass(frozen=True)
class Result:
    """What a tenant saw on one host, from its start to its pause.

    ``latency_us`` is the mean of all requests and ``p99_us`` their 99th
    percentile, from the request's submission to its completion; ``at`` is
    when fio said so, in seconds of the epoch.
    """

    volume: str
    host: str
    at: float
    seconds: float
    iops: float
    write_pct: float
    block_kib: float
    latency_us: float
    p99_us: float
    errors: int

    def since(self, before: Result) -> Result:
        """What it saw after that; of p99 only what it was all along."""
        return self._with(self.seconds - before.seconds, lambda of: (
            self._total(of) - before._total(of)))

    def later(self, after: Result, at: float) -> Result:
        """What it had seen at a time between this and that, about."""
        share = (at - self.at) / (after.at - self.at)

        def part(mine: float, its: float) -> float:
            return mine + share * (its - mine)

        return dataclasses.replace(
            self._with(part(self.seconds, after.seconds), lambda of: part(
                self._total(of), after._total(of))), at=at)

    def _total(self, of: _Figure) -> float:
        """The sum over all requests."""
        return of(self) * self.iops * self.seconds

    def _with(self, seconds: float,
              total: Callable[[_Figure], float]) -> Result:
        requests = total(lambda _: 1)
        return dataclasses.replace(
            self, seconds=seconds, iops=requests / seconds, **{
                name: total(operator.attrgetter(name)) / requests
                for name in ('write_pct', 'block_kib', 'latency_us')})


_Figure = Callable[[Result], float]


def between(told: Sequence[Result], begin: float, end: float) -> Result:
    """What a tenant saw from begin to end, by what it told now and then.

    :param told: by one tenant, from before the begin to after the end
    :raises TestbedError: where that is not so
    """
    def seen(at: float) -> Result:
        for before, after in itertools.pairwise(told):
            if before.at <= at <= after.at:
                return before.later(after, at)
        raise layout.TestbedError(
            f'nothing was told of {at}, only of {told[0].at} to '
            f'{told[-1].at}.')

    return seen(end).since(seen(begin))


def parse(volume: str, host: layout.Host, said: str) -> Result | None:
    """What fio's JSON says, the last of it; None where it did no I/O."""
    begin = said.rfind('\n{') + 1 or said.find('{')
    try:
        document = json.loads(said[begin:said.rindex('}') + 1])
    except ValueError:
        raise layout.TestbedError(f'fio on volume {volume} said: {said}')
    if not document:
        return None
    job, = document['jobs']
    both, reads, writes = job['mixed'], job['read'], job['write']
    count = both['total_ios']
    if not count:
        return None
    return Result(
        volume, host.name, at=document['timestamp_ms'] / 1000,
        seconds=both['runtime'] / 1000,
        iops=both['iops'], write_pct=100 * writes['total_ios'] / count,
        block_kib=(reads['io_bytes'] + writes['io_bytes']) / count / 1024,
        latency_us=both['lat_ns']['mean'] / 1000,
        p99_us=both['lat_ns']['percentile']['99.000000'] / 1000,
        errors=job['error'])
