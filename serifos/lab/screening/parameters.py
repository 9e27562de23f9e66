# SPDX-License-Identifier: Apache-2.0
"""The parameters of fio that are screened, and the levels of each.

Parameters and levels are those of Park et al. [1]_.

.. [1] N. Park, W. Xiao, K. Choi, D. J. Lilja: A Statistical Evaluation of
   the Impact of Parameter Selection on Storage System Benchmarks.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import re

from serifos import errors

GIB = 2 ** 30
_UNITS = {'B': 1, 'KiB': 2 ** 10, 'MiB': 2 ** 20, 'GiB': GIB}

Levels = Mapping[str, str]
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
