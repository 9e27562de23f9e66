# SPDX-License-Identifier: Apache-2.0
"""A directory or block device to screen, and one run of fio on it.

In a directory that a user names we make a scratch directory of our own. A note
in it says so: without that, or where another user can write to it, it is
somebody else's and stays as it is. All that is done in it is done by its
descriptor, so that another directory of its name is never touched. What is
removed is what jobs of ours make there, files named ``serifos.N`` and
``serifos.N.N``; where there is anything else, nothing is run.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import re
import stat

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
from serifos.facts import strict_json
from serifos.lab.screening import job as screen_job
from serifos.lab.screening.levels import JobTarget

Measure = Callable[[Mapping[str, str]], Mapping[str, float]]

Claims = Callable[[], contextlib.AbstractContextManager['Claim']]
"""Claims the target for one run."""

SCHEMA = 'serifos-folder/1'
NAME = 'serifos-screen'
_YES = 'yes'
_NOTE = 'note.json'
_MOST_NOTE = 4096
_OURS = re.compile(r'serifos(\.[0-9]{1,9}){1,2}')
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
    bench_target.refuse_unsafe(str(path / NAME))
    size = int(size_gib * sizes.GIB)
    why = refusal(path, size)
    if why is not None:
        raise errors.DeviceError(why)
    source, kind = scratch.mounted(path)
    disk, model, serial = disk_below(path)
    block = scratch.smallest_direct(path)
    place = JobTarget(str(path / NAME), size, True, block)

    mount = remount.find(path) if remounted else None

    @contextlib.contextmanager
    def claimed() -> Iterator[Claim]:
        with made(path, size) as (fd, empty):
            yield Claim(fd, lambda: written(fd), empty)

    @contextlib.contextmanager
    def anew() -> Iterator[Claim]:
        assert mount is not None
        remount.again(mount)
        with claimed() as claim:
            yield claim

    @contextlib.contextmanager
    def claim() -> Iterator[Claims]:
        if mount is None:
            with claimed() as one:
                yield _same(one)
        else:
            with remount.held(mount):
                yield anew
    return Screened(
        bench_target.Target(
            str(path), _YES if mount is None else mount.point,
            {'directory': f'{path / NAME} (made, and removed '
                          'afterwards)',
             'writes': f'files there of up to {size_gib:.4g} GiB together, '
                       'anew for each run, and what fio then writes to '
                       'them; nothing else is touched',
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


def refusal(directory: pathlib.Path, size: int) -> str | None:
    """The reason why our directory cannot be made there, or None."""
    path = directory / NAME
    if not directory.is_dir():
        return f'There is no directory {directory}; make it first.'
    if not os.access(directory, os.W_OK | os.X_OK):
        return f'You may not write to {directory}; name another directory.'
    if os.path.lexists(path) and not is_ours(path):
        return (f'{path} exists and serifos did not make it; name another '
                'directory, or remove it if nobody needs it.')
    return scratch.no_room(directory, size, 'the files of a run')


@contextlib.contextmanager
def made(directory: pathlib.Path, size: int
         ) -> Iterator[tuple[int, Callable[[], None]]]:
    """Our directory, locked meanwhile and removed afterwards.

    What an earlier command left behind, killed outright, goes first.

    :returns: its descriptor, and what empties it, for the next run to begin
        like the first
    :raises DeviceError: where it cannot be made, another has it, or
        somebody has put something there
    """
    path = directory / NAME
    why = refusal(directory, 0)
    if why is not None:
        raise errors.DeviceError(why)
    fd = _opened(path)
    try:
        _lock(fd, path)
        _empty(fd, path)
        try:
            why = refusal(directory, size)
            if why is not None:
                raise errors.DeviceError(why)
            yield fd, lambda: _empty(fd, path)
        finally:
            _remove(fd, path)
    finally:
        os.close(fd)


def is_ours(path: pathlib.Path) -> bool:
    """Whether a directory has the note of serifos that it made it."""
    try:
        fd = os.open(path, _OPEN)
    except OSError:
        return False
    try:
        return _is_ours(fd)
    finally:
        os.close(fd)


def written(fd: int) -> set[in_use.Identity]:
    """The files in our directory."""
    found = set()
    for name in os.listdir(fd):
        with contextlib.suppress(OSError):
            found.add(in_use.identity(
                os.stat(name, dir_fd=fd, follow_symlinks=False)))
    return found


def _opened(path: pathlib.Path) -> int:
    try:
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            return os.open(path, _OPEN)
        fd = os.open(path, _OPEN)
        _write_note(fd)
        return fd
    except OSError as exc:
        raise errors.DeviceError(
            f'{path} cannot be made: {exc.strerror}.') from None


def _write_note(fd: int) -> None:
    note = os.open(_NOTE, os.O_WRONLY | os.O_CREAT | os.O_EXCL
                   | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=fd)
    try:
        os.write(note, json.dumps({
            'schema': SCHEMA, 'inode': os.fstat(fd).st_ino}).encode())
    finally:
        os.close(note)


def _is_ours(fd: int) -> bool:
    info = os.fstat(fd)
    if info.st_uid != os.geteuid() or info.st_mode & (
            stat.S_IWGRP | stat.S_IWOTH):
        return False
    try:
        note = os.open(_NOTE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                       | os.O_CLOEXEC, dir_fd=fd)
        try:
            said = strict_json.loads(os.read(note, _MOST_NOTE))
        finally:
            os.close(note)
    except (OSError, ValueError):
        return False
    return (isinstance(said, dict) and said.get('schema') == SCHEMA
            and said.get('inode') == info.st_ino)


def _lock(fd: int, path: pathlib.Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise errors.DeviceError(
            f'Another screening is using {path}; wait for its end, or name '
            'another directory.') from None


def _empty(fd: int, path: pathlib.Path) -> None:
    ours = _is_ours(fd)
    if ours:
        _unlink(fd)
    left = sorted(name for name in os.listdir(fd) if name != _NOTE)
    if left or not ours:
        raise errors.DeviceError(
            f'{path} holds {", ".join(left[:3]) or "no note of ours"}, which '
            'is not as serifos left it; nothing is run there: look at it, '
            'and remove the directory if nobody needs it.')


def _unlink(fd: int) -> None:
    for name in os.listdir(fd):
        if _OURS.fullmatch(name) and stat.S_ISREG(os.stat(
                name, dir_fd=fd, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=fd)


def _remove(fd: int, path: pathlib.Path) -> None:
    """Removes our files, and leaves those of anybody else."""
    with contextlib.suppress(OSError):
        _unlink(fd)
        if os.listdir(fd) == [_NOTE]:
            os.unlink(_NOTE, dir_fd=fd)
        if (in_use.identity(path.lstat())
                == in_use.identity(os.fstat(fd))):
            path.rmdir()
