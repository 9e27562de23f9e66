# SPDX-License-Identifier: Apache-2.0
"""The parameters of fio that are screened on a target, and their levels.

Parameters and levels are those of Park et al. [1]_. What a target cannot take
of them is changed or dropped, and said.

.. [1] N. Park, W. Xiao, K. Choi, D. J. Lilja: A Statistical Evaluation of
   the Impact of Parameter Selection on Storage System Benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import re

from serifos import errors

GIB = 2 ** 30
_UNITS = {'B': 1, 'KiB': 2 ** 10, 'MiB': 2 ** 20, 'GiB': GIB}

Texts = Mapping[str, str]
"""A level for every parameter: a run."""


@dataclasses.dataclass(frozen=True)
class FioParameter:
    """One parameter, and what it is in fio.

    :param means: the option of fio
    :param kind: choice (its two levels only), flag, count or size
    :param least: the least count or size that fio takes
    :param most: the greatest
    :param about_files: means nothing on a block device
    """

    name: str
    low: str
    high: str
    means: str
    kind: str = 'flag'
    least: int = 0
    most: int = 1
    about_files: bool = False


def _flag(name: str, means: str, about_files: bool = False) -> FioParameter:
    return FioParameter(name, 'false', 'true', means, about_files=about_files)


PARAMETERS = {p.name: p for p in (
    FioParameter('operation', 'read', 'write', 'rw', 'choice'),
    FioParameter('access_pattern', 'sequential', 'random', 'rw=rand...',
              'choice'),
    FioParameter('files_used', '1', '100', 'nrfiles', 'count', 1, 1000, True),
    FioParameter('min_file_size', '512B', '1MiB', 'filesize=MIN-', 'size',
                 512, GIB, True),
    FioParameter('max_file_size', '1MiB', '1GiB', 'filesize=-MAX', 'size',
                 512, 2 ** 44, True),
    FioParameter('min_block_size', '512B', '4KiB', 'bsrange=MIN-', 'size',
                 512, 2 ** 26),
    FioParameter('max_block_size', '4KiB', '64KiB', 'bsrange=-MAX', 'size',
                 512, 2 ** 26),
    FioParameter('io_depth', '1', '100', 'iodepth', 'count', 1, 4096),
    _flag('overwrite', 'overwrite', True),
    _flag('fsync', 'fsync=1'),
    FioParameter('thinktime', '0', '1000', 'thinktime, µs', 'count', 0,
                 10 ** 7),
    _flag('write_buffer_sync', 'sync'),
    FioParameter('file_service', 'roundrobin', 'random', 'file_service_type',
                 'choice', about_files=True),
    FioParameter('thread_count', '1', '8', 'numjobs', 'count', 1, 256),
    _flag('threads_similarity', 'filename_format, offset_increment'),
    _flag('posix_fadvise', 'fadvise_hint'),
    _flag('async_io_engine', 'ioengine'),
    _flag('io_engine_queue', 'ioengine'),
    _flag('directio', 'direct'),
    FioParameter('buffer_alloc', 'malloc', 'mmap', 'iomem', 'choice'))}
"""The paper's 20 by name, with its levels."""


def number(text: str) -> int:
    """A count, or a size such as 512B or 4KiB in bytes."""
    found = re.fullmatch(r'([0-9]{1,15})(B|[KMG]iB)?', text)
    if found is None:
        raise ValueError(text)
    return int(found[1]) * _UNITS[found[2] or 'B']


def size_text(size: int) -> str:
    """Bytes as the paper writes them: 512B, 4KiB, 1MiB."""
    unit = next(u for u in reversed(_UNITS) if size % _UNITS[u] == 0)
    return f'{size // _UNITS[unit]}{unit}'


def checked(name: str, level: str) -> str:
    """A level as it is written in runs.

    :raises InputError: where a parameter cannot have it
    """
    p = PARAMETERS[name]
    if p.kind in ('choice', 'flag'):
        if level not in (p.low, p.high):
            raise errors.InputError(
                f'{name} cannot be {level!r}; it is {p.low} or {p.high}.')
        return level
    try:
        value = number(level)
    except ValueError:
        value = -1
    if not p.least <= value <= p.most or p.kind == 'size' and value % 512:
        ends = ((size_text(p.least), size_text(p.most) + ', a multiple of '
                 '512B') if p.kind == 'size' else (p.least, p.most))
        raise errors.InputError(
            f'{name} cannot be {level!r}; give {ends[0]} to {ends[1]}.')
    return size_text(value) if p.kind == 'size' else str(value)


@dataclasses.dataclass(frozen=True)
class JobTarget:
    """The place of the jobs: a directory of files, or a block device.

    :param size: bytes of all files of a run together, or of the device
    :param logical_block: bytes of the smallest direct request
    """

    path: str
    size: int
    is_directory: bool
    logical_block: int


@dataclasses.dataclass(frozen=True)
class Levels:
    """The parameters that are varied, and the levels of the others.

    :param varied: name → (low, high)
    :param held: name → level
    :param said: what became of the paper's parameters here, sentences
    """

    varied: Mapping[str, tuple[str, str]]
    held: Mapping[str, str]
    said: tuple[str, ...] = ()

    def run(self, levels: Mapping[str, str]) -> dict[str, str]:
        """Every parameter's level, in the order of the paper."""
        known = {**{name: low for name, (low, _) in self.varied.items()},
                 **self.held, **levels}
        return {name: known[name] for name in PARAMETERS
                if name in known}

    def middle(self, name: str) -> str | None:
        """A level between the two of a number (geometric), or None."""
        low, high = self.varied[name]
        kind = PARAMETERS[name].kind
        if kind not in ('count', 'size'):
            return None
        a, b = number(low), number(high)
        found = round((max(a, 1) * b) ** 0.5)
        if kind == 'size':
            found = 2 ** (found.bit_length() - 1)
        text = size_text(found) if kind == 'size' else str(found)
        return text if a < found < b else None


def space(place: JobTarget, asked: Mapping[str, tuple[str, ...]],
          only: tuple[str, ...] | None = None) -> Levels:
    """The levels on a target: the paper's, or those that were asked for.

    :param asked: name → (level to hold,) or (low, high)
    :param only: names to vary; the others are held at their low level
    :raises InputError: where levels cannot be, or cannot go together
    """
    for name in (*asked, *(only or ())):
        if name not in PARAMETERS:
            raise errors.InputError(
                f'There is no parameter {name}; there are '
                f'{", ".join(PARAMETERS)}.')
    known = {name: tuple(checked(name, level) for level in levels)
             for name, levels in asked.items()}
    here = {name: p for name, p in PARAMETERS.items()
            if place.is_directory or not p.about_files}
    for name in (*known, *(only or ())):
        if name not in here:
            raise errors.InputError(
                f'{name} is about files, and {place.path} is a device; '
                'leave it out.')
    levels = {name: known.get(name, (p.low, p.high))[
        :2 if only is None or name in only else 1] for name, p in here.items()}
    said = [*_dropped(place)]
    if place.is_directory:
        said += _fit_files(place, levels, 'max_file_size' in known)
    said += _fit_blocks(place, levels, 'min_block_size' in known)
    _refuse_disorder(levels)
    _refuse_small(place, levels)
    varied = {name: (pair[0], pair[1]) for name, pair in levels.items()
              if len(pair) == 2}
    if not varied:
        raise errors.InputError('No parameter is varied; vary one at least.')
    return Levels(varied, {name: pair[0] for name, pair in levels.items()
                           if name not in varied}, tuple(said))


def _dropped(place: JobTarget) -> Iterator[str]:
    names = [p.name for p in PARAMETERS.values() if p.about_files]
    if not place.is_directory:
        yield (f'{", ".join(names)} are about files and dropped: '
               f'{place.path} is a device')


def _fit_files(place: JobTarget, levels: dict[str, tuple[str, ...]],
               was_asked: bool) -> Iterator[str]:
    """Scales file sizes so that the files of a run fit in the size."""
    files = number(levels['files_used'][-1]) * number(
        levels['thread_count'][-1])
    low, *_ = sizes = levels['max_file_size']
    most, wanted = place.size // files, number(sizes[-1])
    if wanted > most:
        fits = 2 ** (most.bit_length() - 1) if most else 0
        if was_asked or fits <= number(low):
            raise errors.InputError(
                f'{files} files (files_used times thread_count) of up to '
                f'{sizes[-1]} need more than the '
                f'{place.size / GIB:.4g} GiB of --size-gib; give '
                f'{2 * number(low) * files / GIB:.4g} '
                'or more, or other --levels of these.')
        levels['max_file_size'] = low, size_text(fits)
        yield (f'max_file_size goes up to {size_text(fits)}, not '
               f'{size_text(wanted)}, for {files} files to fit in '
               f'--size-gib {place.size / GIB:g} '
               f'({files * wanted / GIB:g} would hold them)')
    if (number(levels['min_file_size'][0])
            < number(levels['min_block_size'][-1])):
        yield ('a file holds one block at least: min_file_size is that of '
               'min_block_size where it would be less')


def _fit_blocks(place: JobTarget, levels: dict[str, tuple[str, ...]],
                was_asked: bool) -> Iterator[str]:
    """Makes direct requests whole blocks of the device."""
    block = place.logical_block
    sizes = [number(level)
             for name in ('min_block_size', 'max_block_size')
             for level in levels[name]]
    if 'true' not in levels['directio'] or all(
            size % block == 0 for size in sizes):
        return
    text = size_text(block)
    low, *high = levels['min_block_size']
    if was_asked or any(size % block for size in sizes if size > block):
        raise errors.InputError(
            f'{place.path} takes only direct requests of multiples of '
            f'{text}; give such block sizes, or --levels directio=false.')
    if high and number(high[0]) > block:
        levels['min_block_size'] = (text, high[0])
        yield (f'min_block_size goes down to {text}, not {low}: directio '
               'takes no less here')
    else:
        levels['min_block_size'] = (text,)
        yield (f'min_block_size is dropped and held at {text}: directio '
               f'takes no {low} here')


def _refuse_disorder(levels: Mapping[str, tuple[str, ...]]) -> None:
    for name, pair in levels.items():
        kind = PARAMETERS[name].kind
        if kind in ('count', 'size') and len(pair) == 2:
            if number(pair[0]) >= number(pair[1]):
                raise errors.InputError(
                    f'{name} goes from {pair[0]} to {pair[1]}; give the '
                    'lower level first, or one level to hold it.')
    for less, more in (('min_file_size', 'max_file_size'),
                       ('min_block_size', 'max_block_size'),
                       ('max_block_size', 'max_file_size')):
        if more in levels and (max(map(number, levels[less]))
                               > min(map(number, levels[more]))):
            raise errors.InputError(
                f'{less} of {levels[less][-1]} and {more} of '
                f'{levels[more][0]} cannot go together, and a design tries '
                'all; give other --levels.')


def _refuse_small(place: JobTarget, levels: Mapping[str, tuple[str, ...]]
                  ) -> None:
    threads, block = (number(levels[name][-1]) for name in (
        'thread_count', 'max_block_size'))
    least = threads * max(2 ** 21, 4 * block)
    if not place.is_directory and place.size < least:
        raise errors.InputError(
            f'{place.path} is too small for {threads} threads: it takes '
            f'{size_text(least)}; give a larger one, or fewer '
            'threads by --levels thread_count=1.')
