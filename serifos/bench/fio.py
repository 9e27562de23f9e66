# SPDX-License-Identifier: Apache-2.0
"""What do workloads see that run together on a real device?

One fio process for each workload, started together. fio counts only after
a ramp, by the end of which all of them are up, so that every counted
request met the requests of all the others.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import os
import re
import signal
import subprocess
import time
from typing import Any

from serifos.bench import command
from serifos import errors
from serifos.model import dataset as ds
from serifos import workload as wl

OLDEST = (3, 16)
"""The oldest fio whose JSON has percentiles of the total latency."""

_GRACE_S = 20.0
_KIB = 1024


class FioError(errors.ToolError):
    """A fio that failed, hung or printed rubbish; it costs one run."""


@dataclasses.dataclass(frozen=True)
class Region:
    """Where a workload does its I/O: bytes of a device or file."""

    path: str
    offset: int
    size: int


def version() -> str:
    """Such as 'fio-3.33'.

    :raises ToolError: where fio is missing, or too old
    """
    try:
        text = command.run(['fio', '--version']).strip()
    except errors.ToolError as exc:
        if 'not installed' not in str(exc):
            raise
        raise errors.ToolError(
            'fio is not installed; install it, with apt-get install fio for '
            'one.') from None
    found = re.match(r'fio-(\d+)\.(\d+)', text)
    if not found or tuple(map(int, found.groups())) < OLDEST:
        raise errors.ToolError(
            f'{text or "This fio"} is too old; serifos needs fio '
            f'{OLDEST[0]}.{OLDEST[1]} or newer.')
    return text


def workload_command(workload: wl.Workload, region: Region,
                     runtime_s: float, ramp_s: float,
                     engine: str) -> list[str]:
    """The command that runs one workload in a region."""
    pattern = 'randrw' if workload.random_pct > 0 else 'rw'
    return [
        *_common(region, engine, round(workload.iodepth),
                 round(workload.block_kib * _KIB)),
        f'--rw={pattern}', f'--rwmixwrite={round(workload.write_pct)}',
        *([f'--percentage_random={round(workload.random_pct)}']
          if pattern == 'randrw' else []),
        '--norandommap=1', '--randrepeat=0', '--time_based=1',
        f'--runtime={_ms(runtime_s)}', f'--ramp_time={_ms(ramp_s)}',
        '--lat_percentiles=1', '--percentile_list=99']


def fill_command(region: Region, engine: str) -> list[str]:
    """The command that writes a region once, in order (SNIA: 128 KiB)."""
    return [*_common(region, engine, 32, 128 * _KIB), '--rw=write']


def _common(region: Region, engine: str, iodepth: int,
            block: int) -> list[str]:
    return [
        'fio', '--name=serifos', f'--filename={region.path}',
        f'--offset={region.offset}', f'--size={region.size}',
        '--direct=1', f'--ioengine={engine}', '--refill_buffers=1',
        f'--iodepth={iodepth}', f'--bs={block}',
        '--allow_file_create=0', '--fallocate=none',
        '--output-format=json']


def _ms(seconds: float) -> str:
    return f'{round(1000 * seconds)}ms'


def parse(text: str) -> dict[str, float | None]:
    """The figures of one fio process, by the names of the dataset.

    :raises FioError: where the text is no result of fio's
    """
    try:
        job = json.loads(text[text.index('{'):])['jobs'][0]
        if job['error']:
            raise FioError(f'fio failed: {os.strerror(job["error"])}')
        read, write = job['read'], job['write']
        requests = {'read': read['total_ios'], 'write': write['total_ios']}
        if not sum(requests.values()):
            raise FioError('fio finished no request in the whole run')
        return {
            'latency_us': sum(
                side['lat_ns']['mean'] * side['total_ios']
                for side in (read, write)) / sum(requests.values()) / 1000,
            **_side('read', read), **_side('write', write),
            'iops': read['iops'] + write['iops']}
    except (ValueError, KeyError, IndexError, TypeError):
        raise FioError(
            'fio printed no result that can be read: '
            f'{command.words(text)[:200] or "nothing"}') from None


def _side(name: str, side: Mapping[str, Any]) -> dict[str, float | None]:
    some = side['total_ios'] > 0
    return {
        f'{name}_latency_us': side['lat_ns']['mean'] / 1000 if some else None,
        f'{name}_p99_us': (side['lat_ns']['percentile']['99.000000'] / 1000
                           if some else None),
        f'{name}_iops': side['iops'],
        f'{name}_bw_kib_s': side['bw'],
        f'{name}_requests': side['total_ios']}


def measurer(regions: Callable[[int], Sequence[Region]], engine: str
             ) -> Callable[[Sequence[wl.Workload], float], ds.Sample]:
    """A ``measure(workloads, runtime_s) -> Sample`` on a target.

    :param regions: count of workloads → where each of them runs
    """
    def measure(workloads: Sequence[wl.Workload],
                runtime_s: float) -> ds.Sample:
        ramp_s = min(1.0, runtime_s / 4)
        outputs = together(
            [workload_command(w, region, runtime_s, ramp_s, engine)
             for w, region in zip(workloads, regions(len(workloads)))],
            runtime_s + ramp_s + _GRACE_S)
        return sample(workloads, [parse(text) for text in outputs])
    return measure


def sample(workloads: Sequence[wl.Workload],
           seen: Sequence[Mapping[str, Any]]) -> ds.Sample:
    """A run from what each of its workloads saw.

    The run's latency is the mean over the workloads, each tenant once; that
    of a request is the mean over all requests of all workloads.
    """
    requests = [one['read_requests'] + one['write_requests'] for one in seen]
    return ds.Sample(
        tuple(workloads),
        latency_us=sum(one['latency_us'] for one in seen) / len(seen),
        request_latency_us=sum(
            one['latency_us'] * n for one, n in zip(seen, requests)
        ) / sum(requests),
        seen=tuple({name: value for name, value in one.items()
                    if not name.endswith('_requests')} for one in seen))


def write_region(region: Region, engine: str, timeout_s: float) -> None:
    """Writes a region once with fresh random data.

    :raises FioError: in fio's own words
    """
    together([fill_command(region, engine)], timeout_s)


def together(commands: Sequence[Sequence[str]],
             timeout_s: float) -> list[str]:
    """Runs commands at the same time; what each printed, in order.

    They run in sessions of their own, so that a Ctrl-C on the terminal
    reaches us and not them. None of them outlives this call.

    :raises FioError: where one fails or is not done in time
    """
    running: list[subprocess.Popen[str]] = []
    outputs = []
    try:
        for argv in commands:
            running.append(subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, errors='replace',
                start_new_session=True))
        end = time.monotonic() + timeout_s
        for process in running:
            out, err = process.communicate(
                timeout=max(0.1, end - time.monotonic()))
            if process.returncode:
                raise FioError(
                    f'fio failed: {command.words(err) or command.words(out)}')
            outputs.append(out)
    except subprocess.TimeoutExpired:
        raise FioError(
            f'fio did not finish within {timeout_s:g} s and was killed'
        ) from None
    except OSError as exc:
        raise FioError(f'fio cannot be started: {exc.strerror}') from None
    finally:
        for process in running:
            _end(process)
    return outputs


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
