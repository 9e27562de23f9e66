# SPDX-License-Identifier: Apache-2.0
"""serifos-model measure-cached: requests to a device behind a page cache."""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import re
from typing import Any

from cliff import command

from serifos.bench import fio
from serifos.cmd import app
from serifos.cmd import measuring
from serifos.cmd.model import design_options
from serifos.cmd import options
from serifos import errors
from serifos.lab.relative import block_trace

LIMITS = ('memory.max', 'memory.limit_in_bytes')  # of version 2, of 1
_NONE = 2 ** 50  # in version 1 a large number means that there is no limit


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
            block_trace.disk(os.stat(directory).st_dev)
        args.ioengine = fio.CACHED
        design, _ = design_options.chosen(argparse.Namespace(
            full=False, runs=None, tests=None, enough_error=None,
            enough_gain=None, **vars(args)))
        group = pathlib.Path(args.cgroup)
        path = measuring.measure(args, design, cache=fio.PageCache(
            memory_mib(group), within(group),
            block_trace.watched))
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
