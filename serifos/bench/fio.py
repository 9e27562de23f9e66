# SPDX-License-Identifier: Apache-2.0
"""Measurement of workloads that run together on a device, by fio.

One fio process for each workload, started together. fio counts only after
a ramp, by the end of which all of them are up; a run in which they did not
end together either is a failed one, so that (almost) every counted request
met the requests of all the others.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import re

from serifos.bench import command
from serifos.bench import fio_result
from serifos.bench import in_use
from serifos import errors
from serifos.facts.dataset import Sample
from serifos.facts import fields
from serifos.facts.workload import Workload

OLDEST = (3, 16)
"""The oldest fio whose JSON has percentiles of the total latency."""

HANG_S = 60.0
"""Seconds beyond its time after which a fio counts as hanging."""

CACHED = 'psync'
"""The engine of requests that pass the page cache, where no other one keeps
several outstanding: each of them is a thread's own."""

Between = Callable[[float, float], Mapping[str, float]]
"""The figures of an interval, from its beginning to its end, seconds of the
epoch, by their names in the dataset."""

Watch = Callable[[], contextlib.AbstractContextManager[Between]]
"""Observes for as long as a ``with`` block lasts; asked after it."""

_RAMP_S = 1.0
_SLOWEST_FILL = 2 ** 20  # bytes a second
_FILL_BLOCK = 128 * 1024


@dataclasses.dataclass(frozen=True)
class PageCache:
    """A page cache that requests pass before they reach the device.

    :param memory_mib: of fio and of what is cached
    :param within: the words that begin a command which runs there, the last
        of them a file that it writes to
    :param watch: observes, by a descriptor of the file that is measured,
        what reaches the device
    """

    memory_mib: float
    within: tuple[str, ...]
    watch: Callable[[int], contextlib.AbstractContextManager[Between]]


@dataclasses.dataclass(frozen=True)
class Region:
    """The part of a device or file that a workload reads and writes.

    :param path: its name, for people
    :param fd: the descriptor by which we hold it, None until it is open.
        fio is given this and no name, so that it opens what we hold
    """

    path: str
    offset: int
    size: int
    fd: int | None = None


def version() -> str:
    """The version of fio, such as 'fio-3.33'.

    :raises ToolError: where fio is missing, or too old
    """
    text = command.run(['fio', '--version']).strip()
    found = re.match(r'fio-([0-9]{1,4})\.([0-9]{1,6})', text)
    if not found:
        raise errors.ToolError(
            f'The fio on the PATH printed {text[:60]!r} in place of its '
            f'version; serifos needs fio 3.16 or newer.')
    if tuple(map(int, found.groups())) < OLDEST:
        raise errors.ToolError(
            f'{text} is too old; serifos needs fio 3.16 or newer.')
    return text


def refuse_hang(seconds: float) -> None:
    """:raises InputError: where no fio could be waited for so long"""
    fields.refuse_outside('--hang-after', seconds, 1, 86400, 's')


def refuse_unrunnable(workloads: Sequence[Workload],
                      region: Region, logical_block: int,
                      engine: str = 'libaio') -> None:
    """Refuses what fio would round, or a device reject, before a run.

    :raises InputError: where a workload cannot be run as it is
    """
    for w in workloads:
        for what, value in (('write_pct', w.write_pct),
                            ('random_pct', w.random_pct),
                            ('iodepth', w.iodepth),
                            ('think_time_us', w.think_time_us)):
            if value != round(value):
                raise errors.InputError(
                    f'fio cannot run a {what} of {value:g}; give a whole '
                    'number.')
        block = w.block_kib * 1024
        if block % logical_block:
            raise errors.InputError(
                f'{region.path} cannot take a block_kib of {w.block_kib:g}; '
                f'give multiples of {logical_block / 1024:g}.')
        if region.size < 4 * block * _threads(w, engine):
            raise errors.InputError(
                f'{region.size} bytes for each workload are too few for a '
                f'block_kib of {w.block_kib:g}; give a larger target, '
                'smaller blocks or fewer workloads at once.')


def workload_command(workload: Workload, region: Region,
                     runtime_s: float, ramp_s: float,
                     engine: str) -> list[str]:
    """The command that runs one workload in a region.

    ``norandommap`` and ``randrepeat=0``: each process draws offsets and
    data of its own, else all would repeat the same ones in every run.

    A workload that thinks is as many threads of one request each, in equal
    parts of the region: a fio thread thinks when none of its requests is
    outstanding, so that ``thinktime`` would undo a deeper ``iodepth``. It
    begins where the others' ramp ends: after a ramp of its own, fio before
    3.35 does not think for as many requests as the ramp had. Such threads
    make the requests that pass the page cache, too.
    """
    thinks = workload.think_time_us > 0
    random = workload.random_pct > 0
    block = round(workload.block_kib * 1024)
    threads = _threads(workload, engine)
    part = region.size // threads // block * block
    return [
        *_common(
            dataclasses.replace(region, size=part) if threads > 1 else region,
            engine, round(workload.iodepth / threads), block),
        *([f'--thinktime={round(workload.think_time_us)}'] if thinks
          else []),
        *([f'--numjobs={threads}', f'--offset_increment={part}',
           '--group_reporting=1'] if thinks or threads > 1 else []),
        f'--rw={"randrw" if random else "rw"}',
        f'--rwmixwrite={round(workload.write_pct)}',
        *([f'--percentage_random={round(workload.random_pct)}']
          if random else []),
        '--norandommap=1', '--time_based=1',
        f'--runtime={_ms(runtime_s)}',
        f'--{"startdelay" if thinks else "ramp_time"}={_ms(ramp_s)}',
        '--lat_percentiles=1', '--clat_percentiles=0',
        '--percentile_list=99', '--output-format=json+']


def _threads(workload: Workload, engine: str) -> int:
    return (round(workload.iodepth)
            if workload.think_time_us or engine == CACHED else 1)


def fill_command(region: Region, engine: str) -> list[str]:
    """The command that writes a region once, sequentially, in 128 KiB."""
    return [*_common(region, engine, 32, _FILL_BLOCK), '--rw=write',
            '--output-format=json']


def _common(region: Region, engine: str, iodepth: int,
            block: int) -> list[str]:
    if region.fd is None:
        raise ValueError(f'{region.path} is not open')
    # A thread dies with its fio; a process that fio forked would go on.
    return [
        'fio', '--name=serifos', '--thread=1',
        f'--filename={in_use.path(region.fd)}',
        f'--offset={region.offset}', f'--size={region.size}',
        f'--direct={int(engine != CACHED)}', f'--ioengine={engine}',
        '--refill_buffers=1',
        '--randrepeat=0', f'--iodepth={iodepth}', f'--bs={block}',
        '--allow_file_create=0', '--allow_mounted_write=0',
        '--fallocate=none']


def _ms(seconds: float) -> str:
    return f'{round(1000 * seconds)}ms'


def measurer(regions: Sequence[Region], engine: str, hang_s: float = HANG_S,
             watches: Sequence[Watch] = (),
             within: Sequence[str] = ()
             ) -> Callable[[Sequence[Workload], float], Sample]:
    """A ``measure(workloads, runtime_s) -> Sample`` on a target.

    :param regions: where each of the workloads runs, one for each
    :param hang_s: see :data:`HANG_S`
    :param watches: observe for as long as a run takes; what they say goes
        to each of the run's workloads
    :param within: see :class:`PageCache`
    """
    def measure(workloads: Sequence[Workload],
                runtime_s: float) -> Sample:
        if len(workloads) > len(regions):
            raise ValueError(f'{len(workloads)} workloads, '
                             f'{len(regions)} regions')
        with contextlib.ExitStack() as stack:
            betweens = [stack.enter_context(watch()) for watch in watches]
            outputs = _run_on(
                regions[:len(workloads)],
                [workload_command(w, region, runtime_s, _RAMP_S, engine)
                 for w, region in zip(workloads, regions, strict=False)],
                runtime_s + _RAMP_S, hang_s, within)
        seen = [fio_result.parse(text) for text in outputs]
        ended_s = min(one['ended_ms'] for one in seen) / 1000
        for between in betweens:
            beside = between(ended_s - runtime_s, ended_s)
            seen = [{**one, **beside} for one in seen]
        return fio_result.sample(workloads, runtime_s, seen)
    return measure


def fill(region: Region, engine: str, hang_s: float = HANG_S) -> None:
    """Writes a region once with fresh random data.

    :raises FioError: with fio's message
    """
    text, = _run_on([region], [fill_command(region, engine)],
                    region.size / _SLOWEST_FILL, hang_s)
    written = fio_result.written(text)
    if written < region.size // _FILL_BLOCK * _FILL_BLOCK:
        raise fio_result.FioError(
            f'fio wrote {written} of the {region.size} bytes of '
            f'{region.path}')


def _run_on(regions: Sequence[Region], commands: Sequence[Sequence[str]],
            seconds: float, hang_s: float,
            within: Sequence[str] = ()) -> list[str]:
    fds = sorted({region.fd for region in regions if region.fd is not None})
    ours = {in_use.identity(os.fstat(fd)) for fd in fds}
    ours |= {in_use.identity(os.stat(file)) for file in within[-1:]}
    return run([[*within, *argv] for argv in commands], fds, lambda: ours,
               seconds, hang_s)


def run(commands: Sequence[Sequence[str]], fds: Sequence[int],
        written: Callable[[], Collection[in_use.Identity]], seconds: float,
        hang_s: float, typed: str = '') -> list[str]:
    """The output of fio, one text per command.

    :param fds: open descriptors that fio is given
    :param written: what it may write
    :param seconds: how long it should take
    :param typed: a job file, for a command that reads one
    :raises FioError: with fio's message
    :raises DeviceError: where it writes to something else
    """
    results = command.together(
        commands, seconds + hang_s, die_with_us=True, inherit=fds,
        typed=typed, look=in_use.watch(written, fds))
    for ended in results:
        if ended.code is None:
            raise fio_result.FioError(
                f'fio had not ended {hang_s:g} s after its time and was '
                'killed')
        if ended.code:
            raise fio_result.FioError(f'fio failed: {ended.message}')
    return [ended.out for ended in results]
