# SPDX-License-Identifier: Apache-2.0
"""A directory or block device to screen, and one run of fio on it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import os
import pathlib

from serifos.bench.device import disk_below
from serifos.bench import fio
from serifos.bench import fio_result
from serifos.bench import in_use
from serifos.bench import mountinfo
from serifos.bench import remount
from serifos.bench import scratch
from serifos.bench import sizes
from serifos.bench import target as bench_target
from serifos import errors
from serifos.lab.screening import folder
from serifos.lab.screening import job as screen_job
from serifos.lab.screening.levels import JobTarget

Measure = Callable[[Mapping[str, str]], Mapping[str, float]]

Claims = Callable[[], contextlib.AbstractContextManager['Claim']]
"""Claims the target for one run."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """A device or directory that is locked for one run or for all.

    :param fd: its descriptor
    :param written: what fio may write there
    :param empty: called before and after each run
    """

    fd: int
    written: Callable[[], Collection[in_use.Identity]]
    empty: Callable[[], None] = lambda: None


@dataclasses.dataclass(frozen=True)
class Screened:
    """The target of a screening.

    :param target: looked at, and not yet touched
    :param open: claims it for all runs, and gives what each run claims
    :param mount: what is unmounted and mounted again before each run
    """

    target: bench_target.Target
    place: JobTarget
    open: Callable[[], contextlib.AbstractContextManager[Claims]]
    mount: mountinfo.Mount | None = None


def find(text: str, size_gib: float, remounted: bool = False) -> Screened:
    """The directory or device of this name; nothing is written to it.

    :param size_gib: of all files of a run together
    :param remounted: the file system is mounted anew before each run
    :raises DeviceError: where there is none, or it may not be measured
    """
    options = bench_target.TargetOptions(1, size_gib, purge='none')
    if text.startswith('file:') or ('/' not in text
                                    and not os.path.isdir(text)):
        raise errors.InputError(
            f'{text} cannot be screened; name a directory, for files in it '
            'that serifos makes and removes, or a block device.')
    if os.path.isdir(text):
        return _directory(pathlib.Path(text).absolute(), size_gib, remounted)
    if remounted:
        raise errors.InputError(
            f'{text} is no directory, and --remount mounts the file system of '
            'one anew; leave it out.')
    bench_target.refuse_unsafe(text)
    if not os.path.lexists(text):
        raise errors.DeviceError(
            f'There is no directory or block device {text}; name one that '
            'exists.')
    if os.path.exists(text) and not pathlib.Path(text).is_block_device():
        raise errors.DeviceError(
            f'{text} is neither a directory nor a block device; name one of '
            'these to screen it.')
    target = bench_target.find(text, options)
    place = JobTarget(target.name, target.regions[0].size, False,
                      target.logical_block)

    @contextlib.contextmanager
    def claim() -> Iterator[Claims]:
        with target.open() as area:
            fd = area.pieces[0].fd
            assert fd is not None
            device = in_use.identity(os.fstat(fd))
            yield _same(Claim(fd, lambda: (device,)))
    return Screened(target, place, claim)


def _same(claim: Claim) -> Claims:
    """One claim for all runs."""
    return lambda: contextlib.nullcontext(claim)


def _directory(path: pathlib.Path, size_gib: float,
               remounted: bool) -> Screened:
    bench_target.refuse_unsafe(str(path / folder.NAME))
    size = int(size_gib * sizes.GIB)
    why = folder.refusal(path, size)
    if why is not None:
        raise errors.DeviceError(why)
    source, kind = scratch.mounted(path)
    disk, model, serial = disk_below(path)
    block = scratch.smallest_direct(path)
    place = JobTarget(str(path / folder.NAME), size, True, block)

    mount = remount.find(path) if remounted else None

    @contextlib.contextmanager
    def made() -> Iterator[Claim]:
        with folder.made(path, size) as (fd, empty):
            yield Claim(fd, lambda: folder.written(fd), empty)

    @contextlib.contextmanager
    def anew() -> Iterator[Claim]:
        assert mount is not None
        remount.again(mount)
        with made() as claim:
            yield claim

    @contextlib.contextmanager
    def claim() -> Iterator[Claims]:
        if mount is None:
            with made() as one:
                yield _same(one)
        else:
            with remount.held(mount):
                yield anew
    return Screened(
        bench_target.Target(
            str(path), None if mount is None else mount.point,
            {'directory': f'{path / folder.NAME} (made, and removed '
                          'afterwards)',
             'size': f'up to {size_gib:.4g} GiB in files at a time',
             'filesystem': f'{kind} on {source}',
             'model': model or 'unknown', 'serial': serial or 'none',
             **_remount_words(mount)},
            {'model': model or f'files on {kind} ({disk or source})',
             'serial': serial, 'target': str(path), 'size_gib': size_gib},
            (), block, None, True, contextlib.nullcontext),
        place, claim, mount)


def _remount_words(mount: mountinfo.Mount | None) -> dict[str, str]:
    if mount is None:
        return {}
    return {'remount': f'{mount.source} is unmounted from {mount.point} '
                       'before each run; what is on it stays, and it is '
                       f'mounted again by {remount.words(mount)}'}


def measurer(place: JobTarget, claims: Claims, runtime_s: float,
             hang_s: float = fio.HANG_S) -> Measure:
    """A ``measure(levels) -> figures`` by real fio."""
    def measure(levels: Mapping[str, str]) -> Mapping[str, float]:
        with claims() as claim:
            claim.empty()
            try:
                text, = fio.run(
                    [['fio', '--output-format=json', '-']], (claim.fd,),
                    claim.written, runtime_s, hang_s,
                    screen_job.job(levels, place, claim.fd, runtime_s))
            except fio_result.FioError as exc:
                raise fio_result.FioError(f'{exc}, with {words(levels)}'
                                          ) from None
            claim.empty()
            return figures(text)
    return measure


def figures(text: str) -> dict[str, float]:
    """The results of a run, by the names of the journal, from fio's JSON."""
    seen = fio_result.parse(text)
    return {'bandwidth_kib_s': float(seen['read_bw_kib_s']
                                     + seen['write_bw_kib_s']),
            'iops': float(seen['iops']),
            'latency_us': float(seen['latency_us'])}


def words(levels: Mapping[str, str]) -> str:
    """Such as 'operation=write, io_depth=100'."""
    return ', '.join(f'{name}={level}' for name, level in levels.items())
