# SPDX-License-Identifier: Apache-2.0
"""The fio job of a row of levels.

Some parameters have no option of their own in fio (3.33), and some levels
do nothing beside others: :data:`NOTES` says so to the user.

A job file is lines of text, and some options run commands. So only the
options of :data:`SHAPES` are written, each once and with a value of its
shape; no name that a user gave goes in: what fio shall open are descriptors.
"""

from __future__ import annotations

from collections.abc import Mapping
import re

from serifos.bench import in_use
from serifos import errors
from serifos.lab.screening.levels import JobTarget
from serifos.lab.screening.levels import number
from serifos.lab.screening.levels import Texts

_ALIGN = 2 ** 20

NOTES = (
    'threads_similarity true: all threads use the same files (on a device, '
    'the same region); false: each has its own',
    'async_io_engine false: psync; true: posixaio, or libaio where '
    'io_engine_queue is true, which queues in the kernel; fio caps the '
    'depth of synchronous engines at 1, so that io_engine_queue and '
    'io_depth do nothing where async_io_engine is false',
    'libaio without directio is asynchronous in name only: the kernel '
    'finishes buffered requests in io_submit',
    'overwrite, fsync and write_buffer_sync do nothing where operation is '
    'read')
"""Notes on the parameters: their fio options, and where they do nothing."""

SECTION = 'serifos'

_COUNT = '[0-9]{1,18}'
_FLAG = '[01]'
_OPEN = '/proc/self/fd/[0-9]{1,7}'

SHAPES: Mapping[str, str] = {
    'rw': '(rand)?(read|write)',
    'bsrange': f'{_COUNT}-{_COUNT}',
    'ioengine': 'psync|libaio|posixaio',
    'iodepth': _COUNT,
    'direct': _FLAG,
    'fsync': _FLAG,
    'sync': _FLAG,
    'thinktime': _COUNT,
    'numjobs': _COUNT,
    'fadvise_hint': _FLAG,
    'iomem': 'malloc|mmap',
    'directory': f'{_OPEN}/[.]',
    'filename_format': r'serifos([.]\$jobnum)?[.]\$filenum',
    'nrfiles': _COUNT,
    'filesize': f'{_COUNT}(-{_COUNT})?',
    'size': _COUNT,
    'overwrite': _FLAG,
    'file_service_type': 'roundrobin|random',
    'fallocate': 'none',
    'filename': _OPEN,
    'offset_increment': _COUNT,
    'allow_file_create': _FLAG,
    'allow_mounted_write': '0',
    'thread': '1',
    'time_based': '1',
    'runtime': f'{_COUNT}ms',
    'norandommap': '1',
    'randrepeat': '0',
    'refill_buffers': '1',
    'group_reporting': '1',
    'lat_percentiles': '1',
    'percentile_list': '99'}
"""Every option that a job file of ours may have, and its values."""


def job(levels: Texts, place: JobTarget, fd: int,
        runtime_s: float) -> str:
    """The text of fio's job file for one run.

    :param fd: the descriptor of the place, which fio inherits
    :raises InputError: where a level is none that fio could run
    """
    try:
        options = {**_what(levels), **_where(levels, place, fd),
                   **_how(runtime_s)}
    except (KeyError, ValueError, OverflowError) as exc:
        raise errors.InputError(
            f'A run has levels that fio cannot run ({exc}); change --levels.'
        ) from None
    return text(options)


def _what(levels: Texts) -> dict[str, object]:
    def on(name: str) -> int:
        return int(levels[name] == 'true')
    random = 'rand' if levels['access_pattern'] == 'random' else ''
    engine = ('psync' if not on('async_io_engine') else
              'libaio' if on('io_engine_queue') else 'posixaio')
    blocks = [number(levels[f'{end}_block_size'])
              for end in ('min', 'max')]
    return {
        'rw': random + levels['operation'],
        'bsrange': '-'.join(map(str, blocks)),
        'ioengine': engine, 'iodepth': levels['io_depth'],
        'direct': on('directio'), 'fsync': on('fsync'),
        'sync': on('write_buffer_sync'), 'thinktime': levels['thinktime'],
        'numjobs': levels['thread_count'],
        'fadvise_hint': on('posix_fadvise'), 'iomem': levels['buffer_alloc']}


def _where(levels: Texts, place: JobTarget,
           fd: int) -> dict[str, object]:
    shared = levels['threads_similarity'] == 'true'
    if place.is_directory:
        least, most = (number(levels[f'{end}_file_size'])
                       for end in ('min', 'max'))
        least = max(least, number(levels['min_block_size']))
        return {
            # With a link fio would say that it is no directory.
            'directory': f'{in_use.path(fd)}/.',
            'filename_format': ('serifos.$filenum' if shared else
                                'serifos.$jobnum.$filenum'),
            'nrfiles': levels['files_used'],
            'filesize': f'{least}-{most}' if least < most else most,
            # Threads that share files stop for want of it otherwise.
            'size': number(levels['files_used']) * most,
            'overwrite': int(levels['overwrite'] == 'true'),
            'file_service_type': levels['file_service'],
            'fallocate': 'none'}
    threads = 1 if shared else max(
        1, number(levels['thread_count']))
    share = place.size // threads // _ALIGN * _ALIGN
    return {'filename': in_use.path(fd), 'size': share,
            'offset_increment': 0 if shared else share,
            'allow_file_create': 0, 'allow_mounted_write': 0}


def _how(runtime_s: float) -> dict[str, object]:
    # A thread dies with its fio; a process that fio forked would go on.
    return {'thread': 1, 'time_based': 1,
            'runtime': f'{round(1000 * runtime_s)}ms', 'norandommap': 1,
            'randrepeat': 0, 'refill_buffers': 1, 'group_reporting': 1,
            'lat_percentiles': 1, 'percentile_list': 99}


def text(options: Mapping[str, object]) -> str:
    """A job file of one job.

    :raises InputError: where an option or its value is none of
        :data:`SHAPES`
    """
    for name, value in options.items():
        if name not in SHAPES or not re.fullmatch(SHAPES[name], str(value)):
            raise errors.InputError(
                f'A job file of serifos has no {name}={value}; fix the '
                'levels that were asked for.')
    return f'[{SECTION}]\n' + ''.join(
        f'{name}={value}\n' for name, value in options.items())
