# SPDX-License-Identifier: Apache-2.0
"""fio's job files: the one place where their text is made.

A job file is lines of text, and some options run commands. So only the
options below are written, each once and with a value of its shape; no name
that a user gave goes in: what fio shall open are descriptors.
"""

from __future__ import annotations

from collections.abc import Mapping
import re

from serifos import errors

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
