# SPDX-License-Identifier: Apache-2.0
"""Makes the runs of a screening on a directory or a block device."""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import pathlib
import time

from oslo_log import log

from serifos.bench import campaign
from serifos.bench import command
from serifos.bench import device as dv
from serifos.bench import filesystem
from serifos.bench import fio
from serifos.bench import fio_result
from serifos.bench import folder
from serifos.bench import names
from serifos.bench import opened
from serifos.bench import screen_job
from serifos.bench import screen_journal as sj
from serifos.bench import screen_levels as sl
from serifos.bench import target as tg
from serifos import errors

LOG = log.getLogger(__name__)

Wanted = tuple[Mapping[str, str], int]
"""Levels of every parameter, and the round in which they run."""

Measure = Callable[[Mapping[str, str]], Mapping[str, float]]


@dataclasses.dataclass(frozen=True)
class Claim:
    """A device or directory that is ours for a while.

    :param fd: its descriptor
    :param written: what fio may write there
    :param empty: called before and after each run
    """

    fd: int
    written: Callable[[], Collection[opened.Identity]]
    empty: Callable[[], None] = lambda: None


@dataclasses.dataclass(frozen=True)
class Screened:
    """A target as screening sees it.

    :param target: looked at, and not yet touched
    :param open: claims it
    """

    target: tg.Target
    place: sl.Place
    open: Callable[[], contextlib.AbstractContextManager[Claim]]


@dataclasses.dataclass(frozen=True)
class Ports:
    """What a screening needs of the world.

    :param measure: makes one run; a ToolError costs that run only
    """

    measure: Measure
    progress: Callable[[campaign.Progress], None]
    stop: Callable[[], bool]
    clock: Callable[[], float] = time.monotonic


def find(text: str, size_gib: float) -> Screened:
    """The directory or device that a user named; nothing is touched.

    :param size_gib: of all files of a run together
    :raises DeviceError: where there is none, or it may not be measured
    """
    wish = tg.Wish(1, size_gib, purge='none')
    if text.startswith('file:') or ('/' not in text
                                    and not os.path.isdir(text)):
        raise errors.InputError(
            f'{text} cannot be screened; name a directory, for files in it '
            'that serifos makes and removes, or a block device.')
    if os.path.isdir(text):
        return _directory(pathlib.Path(text).absolute(), size_gib)
    target = tg.find(text, wish)
    place = sl.Place(target.name, target.regions[0].size, False,
                     target.logical_block)

    @contextlib.contextmanager
    def claim() -> Iterator[Claim]:
        with target.open() as area:
            fd = area.pieces[0].fd
            assert fd is not None
            device = opened.identity(os.fstat(fd))
            yield Claim(fd, lambda: (device,))
    return Screened(target, place, claim)


def _directory(path: pathlib.Path, size_gib: float) -> Screened:
    names.refuse_unsafe(str(path / folder.NAME))
    size = int(size_gib * sl.GIB)
    why = folder.refusal(path, size)
    if why is not None:
        raise errors.DeviceError(why)
    source, kind = filesystem.mounted(path)
    disk, model, serial = dv.disk_below(path)
    block = filesystem.smallest_direct(path)
    place = sl.Place(str(path / folder.NAME), size, True, block)

    @contextlib.contextmanager
    def claim() -> Iterator[Claim]:
        with folder.made(path, size) as (fd, empty):
            yield Claim(fd, lambda: folder.written(fd), empty)
    return Screened(
        tg.Target(
            str(path), None,
            {'directory': f'{path / folder.NAME} (made, and removed '
                          'afterwards)',
             'size': f'up to {size_gib:.4g} GiB in files at a time',
             'filesystem': f'{kind} on {source}',
             'model': model or 'unknown', 'serial': serial or 'none'},
            {'model': model or f'files on {kind} ({disk or source})',
             'serial': serial, 'target': str(path), 'size_gib': size_gib},
            (), block, None, True, contextlib.nullcontext),
        place, claim)


def measurer(place: sl.Place, claim: Claim, runtime_s: float,
             hang_s: float = fio.HANG_S) -> Measure:
    """A ``measure(levels) -> figures`` by real fio."""
    look = opened.watch(claim.written, (claim.fd,))

    def measure(levels: Mapping[str, str]) -> Mapping[str, float]:
        claim.empty()
        said, = command.together(
            [['fio', '--output-format=json', '-']], runtime_s + hang_s,
            die_with_us=True, inherit=(claim.fd,), look=look,
            typed=screen_job.job(levels, place, claim.fd, runtime_s))
        claim.empty()
        if said.code is None:
            raise fio_result.FioError(
                f'fio did not end {hang_s:g} s after its time and was '
                f'killed, with {words(levels)}')
        if said.code:
            raise fio_result.FioError(
                f'fio failed with {words(levels)}: {said.last_words}')
        return figures(said.out)
    return measure


def figures(text: str) -> dict[str, float]:
    """What a run says, by the names of the journal, from fio's JSON."""
    seen = fio_result.parse(text)
    return {'bandwidth_kib_s': float(seen['read_bw_kib_s']
                                     + seen['write_bw_kib_s']),
            'iops': float(seen['iops']),
            'latency_us': float(seen['latency_us'])}


def words(levels: Mapping[str, str]) -> str:
    """Such as 'operation=write, io_depth=100'."""
    return ', '.join(f'{name}={level}' for name, level in levels.items())


def missing(wanted: Sequence[Wanted], made: Sequence[sj.Run]
            ) -> tuple[Wanted, ...]:
    """The runs that are wanted and not made, each once."""
    done = {run.key for run in made}
    found = {sj.key(*one): one for one in wanted}
    return tuple(one for name, one in found.items() if name not in done)


def run(wanted: Sequence[Wanted], path: pathlib.Path, header: sj.Header,
        ports: Ports) -> int:
    """Makes every run that the journal lacks; failed ones once more.

    :returns: how many failed twice and are missing
    :raises Interrupted: after the run in hand, where the user stops
    :raises ToolError: where runs fail three times in a row
    """
    sj.begin(path, header)
    pending = missing(wanted, sj.had(path, header))
    total = len({sj.key(*one) for one in wanted})
    queue = collections.deque((*one, False) for one in pending)
    done, failed, in_a_row = total - len(queue), 0, 0
    took: list[float] = []
    while queue:
        levels, number, again = queue.popleft()
        if ports.stop():
            raise errors.Interrupted(
                f'Stopped with {done} of {total} runs made; they are in '
                f'{path}, and the same command resumes.')
        began = ports.clock()
        try:
            sj.append(path, sj.Run(levels, number, ports.measure(levels)))
            in_a_row, done = 0, done + 1
        except errors.ToolError as exc:
            in_a_row, why = in_a_row + 1, str(exc).rstrip('.')
            LOG.warning('A run failed%s: %s.', ' again' * again, why)
            if in_a_row == campaign.IN_A_ROW:
                raise errors.ToolError(
                    f'{in_a_row} runs failed in a row, the last because '
                    f'{why}; the {done} of {total} runs made are in {path}: '
                    'mend the cause, and the same command resumes.'
                ) from None
            if again:
                failed += 1
            else:
                queue.append((levels, number, True))
        took.append(ports.clock() - began)
        ports.progress(campaign.Progress(
            done, total, failed, len(queue) * sum(took) / len(took)))
    return failed
