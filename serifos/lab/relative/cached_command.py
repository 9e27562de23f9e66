# SPDX-License-Identifier: Apache-2.0
"""serifos-model measure-cached: requests to a device behind a page cache.

What a file system and its page cache make of a workload, by the kernel's trace
of the block device: how many requests, of which sizes, how many of them at
random, and how long the device takes. See the kernel's
Documentation/trace/ftrace.rst. The trace is an instance of our own; where we
are killed, the kernel stops it and frees its memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import os
import pathlib
import re
import time
from typing import Any

from cliff import command

from serifos.bench import fio
from serifos.cmd import app
from serifos.cmd import measuring
from serifos.cmd.model import design_options
from serifos.cmd import options
from serifos import errors

LIMITS = ('memory.max', 'memory.limit_in_bytes')  # of version 2, of 1
_NONE = 2 ** 50  # in version 1 a large number means that there is no limit

TRACING = pathlib.Path('/sys/kernel/tracing')
SYS = pathlib.Path('/sys')

_BUFFER_KIB = 2 ** 18  # of all CPUs together: some millions of requests
_EVENT = re.compile(
    r' (?P<at>[0-9]+\.[0-9]+): block_rq_(?P<what>issue|complete): [0-9,]+ '
    r'F?(?P<side>[RW])[A-Z]* (?:[0-9]+ )?\([^)]*\) '
    r'(?P<sector>[0-9]+) \+ (?P<sectors>[0-9]+) ')
_HELD = re.compile(r'entries-in-buffer/entries-written: ([0-9]+)/([0-9]+) ')


class MeasureCached(app.Fails, command.Command):
    """Measure the requests to a device of workloads that pass the page cache.

    TARGET is file:PATH. The random runs are those of build --sampled, made
    without direct I/O in a cgroup that bounds the page cache; what is
    noted beside them are the requests that reach the disk. relate compares
    such datasets; no model is fitted to them.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        measuring.add_arguments(parser)
        parser.add_argument(
            '--cgroup', required=True, metavar='DIR', help='a cgroup that '
            'bounds memory, such as /sys/fs/cgroup/cache, in which fio runs')
        group = parser.add_argument_group('which runs')
        options.add_number(group, '--sampled', 60, 'N', 'make N random runs '
                           'within the ranges of the lists below')
        options.add_seed(group, 'the choice of runs')
        design_options.add_vectors(group)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        args = parsed_args
        if not args.target.startswith('file:'):
            raise errors.InputError(
                f'{args.target} has no file system whose page cache could be '
                'passed; name a scratch file on it, file:PATH.')
        if args.ioengine != 'libaio':
            raise errors.InputError(
                f'fio passes the page cache by {fio.CACHED}; leave '
                '--ioengine out.')
        directory = pathlib.Path(args.target.removeprefix('file:')).parent
        if directory.is_dir():  # look refuses where there is none
            disk(os.stat(directory).st_dev)
        args.ioengine = fio.CACHED
        design, _ = design_options.chosen(argparse.Namespace(
            full=False, runs=None, tests=None, enough_error=None,
            enough_gain=None, **vars(args)))
        group = pathlib.Path(args.cgroup)
        path = measuring.measure(args, design, cache=fio.PageCache(
            memory_mib(group), within(group),
            watched))
        if path is not None:
            measuring.say(f'The runs are in {path}.')


def memory_mib(directory: pathlib.Path) -> float:
    """The memory that programs in a cgroup may have, MiB.

    :raises InputError: where this is no cgroup, or bounds no memory
    """
    for name in LIMITS:
        with contextlib.suppress(OSError):
            said = (directory / name).read_text().strip()
            if re.fullmatch('[0-9]{1,20}', said) and int(said) < _NONE:
                return int(said) / 2 ** 20
    raise errors.InputError(
        f'{directory} is no cgroup that bounds memory; make one, and write '
        f'a limit such as 100M to its {LIMITS[0]}.')


def within(directory: pathlib.Path) -> tuple[str, ...]:
    """The words that begin a command which shall run in a cgroup."""
    return ('sh', '-c', 'echo 0 > "$0" && exec "$@"',
            str(directory / 'cgroup.procs'))


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
