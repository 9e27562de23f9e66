# SPDX-License-Identifier: Apache-2.0
"""The requests that reach a block device, by the kernel's trace of them.

What a file system and its page cache make of a workload: how many requests,
of which sizes, how many of them at random, and how long the device takes.
See the kernel's Documentation/trace/ftrace.rst. The trace is an instance of
our own; where we are killed, the kernel stops it and frees its memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import os
import pathlib
import re
import time

from serifos.bench import fio
from serifos import errors

TRACING = pathlib.Path('/sys/kernel/tracing')
SYS = pathlib.Path('/sys')

_BUFFER_KIB = 2 ** 18  # of all CPUs together: some millions of requests
_EVENT = re.compile(
    r' (?P<at>[0-9]+\.[0-9]+): block_rq_(?P<what>issue|complete): [0-9,]+ '
    r'F?(?P<side>[RW])[A-Z]* (?:[0-9]+ )?\([^)]*\) '
    r'(?P<sector>[0-9]+) \+ (?P<sectors>[0-9]+) ')
_HELD = re.compile(r'entries-in-buffer/entries-written: ([0-9]+)/([0-9]+) ')


def disk(dev: int, sys: pathlib.Path = SYS,
         tracing: pathlib.Path = TRACING) -> tuple[int, int]:
    """The number of the disk that holds a file system.

    :param dev: ``st_dev`` of something in it
    :raises DeviceError: where it has none, or this kernel no trace
    """
    place = sys / 'dev/block' / f'{os.major(dev)}:{os.minor(dev)}'
    if not place.exists():
        raise errors.DeviceError(
            'The file system is on no block device of its own, whose '
            'requests could be counted; name a path on another one.')
    place = place.resolve()
    if (place / 'partition').exists():
        place = place.parent
    if not os.access(tracing / 'instances', os.W_OK):
        raise errors.DeviceError(
            f'The requests of a device are counted by {tracing}, which is '
            'not there for you; run as root, and mount it: mount -t tracefs '
            f'tracefs {tracing}.')
    major, minor = map(int, (place / 'dev').read_text().split(':'))
    return major, minor


@contextlib.contextmanager
def watched(fd: int) -> Iterator[fio.Between]:
    """Traces a disk during a ``with`` block, after which it has its figures.

    :param fd: of the file on it that is measured; what earlier runs left of
        it in the page cache is written first
    :raises SerifosError: where it cannot be traced
    """
    os.fsync(fd)
    number = disk(os.fstat(fd).st_dev)
    name = ':'.join(map(str, number))
    trace = TRACING / 'instances' / f'serifos-{name}'
    lines: list[str] = []
    try:
        with contextlib.suppress(FileNotFoundError):
            trace.rmdir()  # of one that was killed
        trace.mkdir()
        try:
            with (trace / 'free_buffer').open('wb'):
                _begin(trace, number)
                yield lambda began_s, ended_s: figures(
                    lines, began_s - offset_s, ended_s - offset_s)
                offset_s = time.time() - time.monotonic()
                (trace / 'tracing_on').write_text('0')
                lines += (trace / 'trace').read_text().splitlines()
        finally:
            trace.rmdir()
    except OSError as exc:
        raise errors.ToolError(
            f'the requests of device {name} cannot be traced '
            f'({exc.strerror}: {exc.filename})') from None


def _begin(trace: pathlib.Path, number: tuple[int, int]) -> None:
    major, minor = number
    for name, value in (
            ('options/disable_on_free', 1), ('trace_clock', 'mono'),
            ('buffer_size_kb', _BUFFER_KIB // (os.cpu_count() or 1)),
            *((f'events/block/block_rq_{what}/{file}', value)
              for what in ('issue', 'complete')
              for file, value in (
                  ('filter', f'dev == {major << 20 | minor}'),
                  ('enable', 1)))):
        (trace / name).write_text(str(value))


def figures(lines: Iterable[str], began_s: float,
            ended_s: float) -> dict[str, float]:
    """The figures of an interval of a trace, by their names in the dataset.

    A request is at random where it does not begin where the one before it
    ends, whoever made that.

    :param began_s: by the clock of the trace, as is the end
    :raises ToolError: where it holds no request, or not all of them
    """
    number, sectors = {'R': 0, 'W': 0}, {'R': 0, 'W': 0}
    random, end = 0, -1
    issued: dict[str, float] = {}
    took: list[float] = []
    for line in lines:
        found = _HELD.search(line)
        if found and found[1] != found[2]:
            raise errors.ToolError(
                'the trace was too small for all requests of the run; give '
                'a shorter --runtime')
        event = _EVENT.search(line)
        if event is None or event['sectors'] == '0':  # a flush moves no data
            continue
        at, sector = float(event['at']), event['sector']
        if event['what'] == 'complete':
            if sector in issued and began_s <= at < ended_s:
                took.append(at - issued[sector])
            continue
        issued[sector] = at
        if began_s <= at < ended_s:
            number[event['side']] += 1
            sectors[event['side']] += int(event['sectors'])
            random += int(sector) != end
        end = int(sector) + int(event['sectors'])
    if not took or not sum(number.values()):
        raise errors.ToolError(
            'no request reached the device: the page cache took all of them; '
            'give a longer --runtime or a smaller cgroup')
    seconds = ended_s - began_s
    return {'device_read_iops': number['R'] / seconds,
            'device_write_iops': number['W'] / seconds,
            'device_read_kib_s': sectors['R'] / 2 / seconds,
            'device_write_kib_s': sectors['W'] / 2 / seconds,
            'device_random_pct': 100 * random / sum(number.values()),
            'device_latency_us': 1e6 * sum(took) / len(took)}
