# SPDX-License-Identifier: Apache-2.0
"""Runs under conditions: on a part of a scratch file, by an I/O scheduler.

The scratch file is as large as the largest file set, and of each run as much
of it is used as its file set has, from its beginning on: so both change from
run to run, in any order, and nothing is written anew.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import pathlib

from serifos.bench import fio
from serifos.bench import io_scheduler
from serifos.bench import sizes
from serifos.bench.target import Area
from serifos.bench.target import shares
from serifos.bench.target import Target
from serifos.bench.target import TargetOptions
from serifos.design.design import Design
from serifos.design.design import Run
from serifos import errors
from serifos.facts.dataset import Condition
from serifos.modeler import design_runs

Measurer = Callable[[Sequence[fio.Region]], design_runs.Measure]
"""What makes runs in regions, one for each workload."""


@dataclasses.dataclass(frozen=True)
class Under:
    """The conditions of a design, looked at and found possible.

    :param sizes: of the file sets, GiB; empty where not varied
    :param schedulers: that are set; empty where not varied
    :param queue: of the device below, None where no scheduler is set
    """

    sizes: tuple[float, ...]
    schedulers: tuple[str, ...]
    queue: io_scheduler.Queue | None

    def sized(self, options: TargetOptions) -> TargetOptions:
        """The target's options, for a file as large as the largest set."""
        if not self.sizes:
            return options
        return dataclasses.replace(options, size_gib=self.sizes[-1])

    def shown(self, target: Target) -> Target:
        """The target, with what is shown and confirmed of the conditions."""
        facts = dict(target.facts)
        varied = ' and '.join([*['file set'] * bool(self.sizes),
                               *['I/O scheduler'] * bool(self.schedulers)])
        target = dataclasses.replace(
            target, identity={**target.identity, 'varied': varied})
        if self.sizes:
            facts['file sets'] = ', '.join(
                f'{size:g}' for size in self.sizes) + ' GiB of it in turn'
        if self.queue is None:
            return dataclasses.replace(target, facts=facts)
        facts['I/O scheduler'] = (
            f'of {self.queue.device}, now {self.queue.active}: '
            f'{" and ".join(self.schedulers)}'
            f'{" in turn" * (len(self.schedulers) > 1)}, then '
            f'{self.queue.active} again; all that uses {self.queue.device} '
            'is under it meanwhile')
        return dataclasses.replace(target, facts=facts,
                                   word=self.queue.device)

    def refuse_unrunnable(self, runs: Sequence[Run], target: Target,
                          count: int) -> None:
        """:raises SerifosError: where a workload needs more than a set has"""
        if self.sizes:
            smallest = _part(target.regions[0], self.sizes[0], count)
            fio.refuse_unrunnable([w for run in runs for w in run],
                                  smallest[0], target.logical_block)

    @contextlib.contextmanager
    def made(self, area: Area, count: int, measurer: Measurer
             ) -> Iterator[Callable[[Condition], design_runs.Measure]]:
        """What makes runs of each condition; afterwards all is restored.

        :param count: workloads that run together at the most
        """
        with (contextlib.nullcontext(_no_scheduler) if self.queue is None
              else io_scheduler.held(self.queue)) as set_scheduler:
            def under(condition: Condition) -> design_runs.Measure:
                if condition.scheduler is not None:
                    set_scheduler(condition.scheduler)
                return measurer(
                    area.regions if condition.file_set_gib is None else
                    _part(area.pieces[0], condition.file_set_gib, count))
            yield under


def find(design: Design, target: str) -> Under | None:
    """The conditions of a design on a target; None where it has none.

    :raises SerifosError: where the target cannot have them
    """
    if not design.conditions:
        return None
    if not target.startswith('file:'):
        raise errors.InputError(
            f'{target} has no file set or scheduler to vary; name a scratch '
            'file on the device by file:PATH, or leave --file-set-gibs and '
            '--schedulers out.')
    schedulers = {one.scheduler for one in design.conditions}
    names = tuple(sorted(name for name in schedulers if name is not None))
    return Under(
        tuple(sorted({one.file_set_gib for one in design.conditions
                      if one.file_set_gib is not None})),
        names, _queue(target, names) if names else None)


def recover(target: str) -> str | None:
    """Puts back what a killed command had set below a scratch file.

    :returns: what was done, in a sentence; None where nothing was to do
    """
    directory = _directory(target)
    if not target.startswith('file:') or not directory.is_dir():
        return None
    try:
        queue = io_scheduler.below(directory)
    except errors.DeviceError:
        return None
    return io_scheduler.recover(queue)


def _queue(target: str, names: Sequence[str]) -> io_scheduler.Queue:
    directory = _directory(target)
    if not directory.is_dir():
        raise errors.DeviceError(
            f'There is no directory {directory} for the scratch file.')
    queue = io_scheduler.below(directory)
    why = io_scheduler.refusal(queue, names, os.geteuid() == 0)
    if why is not None:
        raise errors.DeviceError(why)
    return queue


def _directory(target: str) -> pathlib.Path:
    return pathlib.Path(target.removeprefix('file:')).absolute().parent


def _part(whole: fio.Region, gib: float,
          count: int) -> tuple[fio.Region, ...]:
    size = min(whole.size, int(gib * sizes.GIB))
    return shares(dataclasses.replace(whole, size=size), count)


def _no_scheduler(name: str) -> None:
    raise ValueError(f'no device is held whose scheduler could be {name}')
