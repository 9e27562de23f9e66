# SPDX-License-Identifier: Apache-2.0
"""Tenants of the testbed: fio on the LV where a volume lives now.

A tenant stands in for an instance: it lets go of its volume before that is
migrated (pause) and finds it on its new host afterwards (resume). It never
writes the last 16 MiB of a volume, which hold a mark: bytes whose checksum
shows whether a migration kept them.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import itertools
import json
import operator
import time

from tests.functional.testbed import guest
from tests.functional.testbed import layout
from tests.functional.testbed import testbed

MARK_BYTES = 16 * 2 ** 20
FOREVER_S = 24 * 3600

# Returns when fio has the LV open, so that it is past its start.
_START = """\
mkdir -p /run/load && cd /run/load && rm -f {volume}.*
setsid fio {options} --output={volume}.json </dev/null >{volume}.log 2>&1 &
pid=$!
echo $pid > {volume}.pid
device=$(readlink -f {device})
for _ in $(seq 100); do
    readlink /proc/$pid/fd/* 2>/dev/null | grep -q "^$device$" && exit 0
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
done
cat {volume}.log {volume}.json
exit 1
"""

# fio writes what it has so far when it is told to, once more each time.
_SO_FAR = """\
cd /run/load && before=$(stat -c %s {volume}.json)
kill -USR1 $(cat {volume}.pid)
for _ in $(seq 100); do
    [ $(stat -c %s {volume}.json) -gt $before ] &&
        [ "$(tail -c 2 {volume}.json)" = "}}" ] && break
    sleep 0.1
done
cat {volume}.json
"""

# fio writes its results when it is interrupted, and then ends.
_STOP = """\
cd /run/load && [ -e {volume}.pid ] || {{ echo '{{}}'; exit 0; }}
pid=$(cat {volume}.pid)
kill -INT $pid 2>/dev/null
for _ in $(seq 300); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
kill -KILL -- -$pid 2>/dev/null
rm {volume}.pid
cat {volume}.log {volume}.json
"""


@dataclasses.dataclass(frozen=True)
class Job:
    """What a tenant does: writes in %, KiB a request, how many at once.

    ``iops`` bounds its requests per second (None: as many as it can). With
    ``verify`` fio reads again what it wrote and compares.
    """

    write_pct: int = 30
    block_kib: int = 16
    iodepth: int = 8
    iops: int | None = None
    verify: bool = False


@dataclasses.dataclass(frozen=True)
class Result:
    """What a tenant saw on one host, from its start to its pause.

    ``latency_us`` is the mean of all requests and ``p99_us`` their 99th
    percentile, from the request's submission to its completion; ``at`` is
    when fio said so, in seconds of the epoch, and ``fio`` its own JSON of
    the job.
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
    fio: dict = dataclasses.field(repr=False)

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


class Loads:
    """The tenants of a testbed; each is known by its volume's id."""

    def __init__(self, on: testbed.Testbed) -> None:
        self._testbed = on
        self._jobs: dict[str, Job] = {}
        self._hosts: dict[str, layout.Host] = {}
        self._began: dict[str, float] = {}

    @property
    def running(self) -> dict[str, layout.Host]:
        """The volumes that are in use now, and where."""
        return dict(self._hosts)

    def start(self, volume: str, job: Job) -> None:
        if volume in self._hosts:
            raise layout.TestbedError(f'volume {volume} is in use already.')
        self._jobs[volume] = job
        self.resume(volume)

    def resume(self, volume: str) -> None:
        """Goes on with a volume, wherever it is now; no-op if it runs."""
        if volume in self._hosts:
            return
        host = self._testbed.host_of(volume)
        self._guest(host).call(_START.format(
            volume=volume, device=self._testbed.device_of(volume),
            options=' '.join(self._options(volume))))
        self._began[volume] = time.time()
        self._hosts[volume] = host

    def pause(self, volume: str) -> Result | None:
        """Lets go of a volume: its LV is closed on return.

        None where it was not in use, or its host died meanwhile.
        """
        host = self._hosts.pop(volume, None)
        if host is None or not self._guest(host).alive:
            return None
        said = self._guest(host).call(_STOP.format(volume=volume), 60)
        return result(volume, host, said)

    def stop(self, volume: str) -> Result | None:
        """Pauses for good."""
        found = self.pause(volume)
        self._jobs.pop(volume, None)
        return found

    def pause_all(self) -> dict[str, Result]:
        """All at once, so that none has the SSDs for itself for long."""
        found = self._each(self.pause, list(self._hosts))
        return {one.volume: one for one in found if one}

    def resume_all(self) -> None:
        self._each(self.resume, list(self._jobs))

    def stop_all(self) -> dict[str, Result]:
        found = self.pause_all()
        self._jobs.clear()
        return found

    def so_far(self) -> dict[str, Result]:
        """What each tenant has seen since its start; all of them go on."""
        def tell(volume: str) -> Result | None:
            host = self._hosts[volume]
            return result(volume, host, self._guest(host).call(
                _SO_FAR.format(volume=volume)))

        found = self._each(tell, list(self._hosts))
        return {one.volume: one for one in found if one}

    def measure(self, seconds: float) -> dict[str, Result]:
        """What each tenant sees in so many seconds from now."""
        self.pause_all()
        self.resume_all()
        time.sleep(seconds)
        found = self.pause_all()
        self.resume_all()
        return found

    def _each(self, function, volumes: Iterable[str]) -> list:
        with futures.ThreadPoolExecutor() as pool:
            return list(pool.map(function, volumes))

    def _guest(self, host: layout.Host) -> guest.Guest:
        return self._testbed.guest(host.number)

    def _options(self, volume: str) -> list[str]:
        job = self._jobs[volume]
        size = _size(self._testbed, volume) - MARK_BYTES
        found = [
            '--name=tenant', '--thread=1', '--output-format=json',
            f'--filename={self._testbed.device_of(volume)}',
            f'--size={size}', '--direct=1', '--ioengine=libaio',
            '--rw=randrw', f'--rwmixwrite={job.write_pct}',
            f'--bs={job.block_kib}k', f'--iodepth={job.iodepth}',
            '--randrepeat=0', '--allow_file_create=0',
            '--time_based=1', f'--runtime={FOREVER_S}',
            '--lat_percentiles=1', '--percentile_list=50:95:99',
            '--unified_rw_reporting=both']
        if job.iops:
            share = job.write_pct / 100
            found.append(f'--rate_iops={max(1, round(job.iops * (1 - share)))}'
                         f',{max(1, round(job.iops * share))}')
        if job.verify:
            found += ['--verify=crc32c', '--verify_fatal=1',
                      '--verify_backlog=256', '--verify_state_save=0']
        else:
            found.append('--norandommap=1')
        return found


def result(volume: str, host: layout.Host, said: str) -> Result | None:
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
        errors=job['error'], fio=job)


def write_mark(on: testbed.Testbed, volume: str) -> str:
    """Fills the last 16 MiB with random bytes: their SHA-256."""
    _mark(on, volume, 'dd if=/dev/urandom of={device} bs=1M seek={mib} '
          'count=16 oflag=direct conv=notrunc status=none')
    return checksum_mark(on, volume)


def checksum_mark(on: testbed.Testbed, volume: str) -> str:
    """The SHA-256 of the last 16 MiB, read where the volume is now."""
    said = _mark(on, volume, 'dd if={device} bs=1M skip={mib} iflag=direct '
                 'status=none | sha256sum')
    return said.split()[0]


def _mark(on: testbed.Testbed, volume: str, script: str) -> str:
    mib = (_size(on, volume) - MARK_BYTES) // 2 ** 20
    return on.guest(on.host_of(volume).number).call(
        'set -o pipefail\n' + script.format(
            device=on.device_of(volume), mib=mib))


def _size(on: testbed.Testbed, volume: str) -> int:
    return on.api.volume(volume)['size'] * 2 ** 30
