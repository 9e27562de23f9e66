# SPDX-License-Identifier: Apache-2.0
"""A cgroup that bounds the memory, and so the page cache, of programs."""

from __future__ import annotations

import contextlib
import pathlib
import re

from serifos import errors

LIMITS = ('memory.max', 'memory.limit_in_bytes')  # of version 2, of 1
_NONE = 2 ** 50  # version 1 says that there is no limit by a large number


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
