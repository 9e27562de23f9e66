# SPDX-License-Identifier: Apache-2.0
"""Tenants of the testbed: fio on the LV where a volume lives now.

A tenant stands in for an instance: it lets go of its volume before that is
migrated (pause) and finds it on its new host afterwards (resume).
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent import futures
import dataclasses
import time

from tests.testbed import fio_result
from tests.testbed import guest
from tests.testbed import layout
from tests.testbed import marks
from tests.testbed import testbed

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


class Loads:
    """The tenants of a testbed; each is known by its volume's id."""

    def __init__(self, on: testbed.Testbed) -> None:
        self._testbed = on
        self._jobs: dict[str, Job] = {}
        self._hosts: dict[str, layout.Host] = {}

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
        self._hosts[volume] = host

    def pause(self, volume: str) -> fio_result.Result | None:
        """Lets go of a volume: its LV is closed on return.

        None where it was not in use, or its host died meanwhile.
        """
        host = self._hosts.pop(volume, None)
        if host is None or not self._guest(host).alive:
            return None
        said = self._guest(host).call(_STOP.format(volume=volume), 60)
        return fio_result.parse(volume, host, said)

    def stop(self, volume: str) -> fio_result.Result | None:
        """Pauses for good."""
        found = self.pause(volume)
        self._jobs.pop(volume, None)
        return found

    def pause_all(self) -> dict[str, fio_result.Result]:
        """All at once, so that none has the SSDs for itself for long."""
        found = self._each(self.pause, list(self._hosts))
        return {one.volume: one for one in found if one}

    def resume_all(self) -> None:
        self._each(self.resume, list(self._jobs))

    def stop_all(self) -> dict[str, fio_result.Result]:
        found = self.pause_all()
        self._jobs.clear()
        return found

    def so_far(self) -> dict[str, fio_result.Result]:
        """What each tenant has seen since its start; all of them go on."""
        def tell(volume: str) -> fio_result.Result | None:
            host = self._hosts[volume]
            return fio_result.parse(volume, host, self._guest(host).call(
                _SO_FAR.format(volume=volume)))

        found = self._each(tell, list(self._hosts))
        return {one.volume: one for one in found if one}

    def measure(self, seconds: float) -> dict[str, fio_result.Result]:
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
        found = [
            '--name=tenant', '--thread=1', '--output-format=json',
            f'--filename={self._testbed.device_of(volume)}',
            f'--size={marks.begin(self._testbed, volume)}', '--direct=1',
            '--ioengine=libaio', '--rw=randrw',
            f'--rwmixwrite={job.write_pct}',
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
