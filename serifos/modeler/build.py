# SPDX-License-Identifier: Apache-2.0
"""The measurement of `build` and `study`, from a target to its dataset."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import functools
import os
import pathlib
import re

from oslo_log import log

from serifos.bench import fio
from serifos.bench import host
from serifos.bench import io_scheduler
from serifos.bench import precondition
from serifos.bench import sizes
from serifos.bench.target import Area
from serifos.bench.target import find
from serifos.bench.target import shares
from serifos.bench.target import Target
from serifos.bench.target import TargetOptions
from serifos.design.design import Design
from serifos.design.design import Run
from serifos import errors
from serifos.facts import dataset
from serifos.facts.dataset import Condition
from serifos.modeler import campaign
from serifos.modeler import design_runs

LOG = log.getLogger(__name__)

START_S = 2.0
"""About what a run takes beside its runtime: the ramp, and fio's start."""

Measurer = Callable[[Sequence[fio.Region]], design_runs.Measure]
"""What makes runs in regions, one for each workload."""


@dataclasses.dataclass(frozen=True)
class BuildOptions:
    """What a user asks of a measurement.

    :param target: a block device, a volume group or file:PATH
    :param target_options: of the target; its regions are for the largest run
    :param rounds: in which a device must settle
    :param precondition: auto; skip; or only, to stop after it
    :param name: of the dataset, None for one after the target
    :param output: the dataset, None for NAME.jsonl here
    :param hang_s: seconds beyond its time after which a fio is killed
    :param observe_host: note how busy the machine is during each run
    :param cache: which the runs pass, while what reaches the device is noted
    """

    target: str
    target_options: TargetOptions
    rounds: precondition.Rounds
    precondition: str = 'auto'
    name: str | None = None
    output: str | None = None
    hang_s: float = fio.HANG_S
    observe_host: bool = False
    cache: fio.PageCache | None = None


@dataclasses.dataclass(frozen=True)
class Build:
    """A measurement that was looked at and found possible; see :func:`look`.

    :param adaptive: which runs follow the first of the design, if not simply
        the others
    :param again: which of them are made once more after that
    :param under: the conditions under which the runs are made
    :param made: how many runs are in the dataset already
    :param complete: whether no run is missing
    """

    options: BuildOptions
    design: Design
    adaptive: design_runs.Adaptive | None
    again: design_runs.Again | None
    under: Under | None
    target: Target
    path: pathlib.Path
    header: dataset.Header
    made: int
    complete: bool

    @property
    def preconditions(self) -> bool:
        return (self.options.precondition != 'skip'
                and self.target.purge is not None)

    @property
    def record(self) -> pathlib.Path:
        """The file that keeps the progress of preconditioning."""
        return self.path.with_suffix('.precondition.json')

    @property
    def facts(self) -> dict[str, str]:
        """What will be done, and how long it will take."""
        facts, rounds = dict(self.target.facts), self.options.rounds
        if self.preconditions:
            facts['preconditioning'] = (
                f'{self.target.purge}; 128 KiB sequential writes over '
                f'{precondition.TIMES} times the capacity; rounds of '
                f'{rounds.seconds:g} s of 4 KiB random writes '
                f'until steady, {rounds.most} at the most')
            if self.record.exists() and not self.target.fresh:
                facts['preconditioning'] += (
                    f'; resumes after what is noted in {self.record}')
        if self.options.precondition == 'only':
            facts['runs'] = 'none: --precondition only ends before them'
            return facts
        facts['runs'] = (
            'at the most, fewer when they are enough: ' * bool(self.adaptive)
            + arithmetic(self.design))
        if self.made:
            facts['runs'] += f'; {self.made} of them are made already'
        facts['dataset'] = str(self.path)
        return facts

    def run(self, ports: campaign.Ports, say: Callable[[str], None],
            warn: Callable[[str], None]) -> None:
        """Preconditions the target and makes the runs that are missing.

        :param say: tells the user a sentence
        :param warn: the same, of what is wrong
        :raises SerifosError: where it cannot be done, or is interrupted
        """
        options, header = self.options, self.header
        engine = options.target_options.engine
        with self.target.open() as area:
            if self.preconditions:
                state = precondition.precondition(
                    self.target, area, options.rounds, self.record,
                    precondition.Ports(
                        fio.measurer(area.pieces, engine,
                                     options.hang_s),
                        functools.partial(fio.fill, engine=engine,
                                          hang_s=options.hang_s),
                        ports.show, ports.stop))
                header = dataclasses.replace(header, device={
                    **header.device, 'precondition': state.words})
                say(f'Preconditioned: {state.words}.')
            if options.precondition == 'only':
                return
            failed = self._made(area, header, ports)
        if failed:
            warn(f'Runs that failed twice and are missing: {failed}; the '
                 'same command tries them again.')

    def _made(self, area: Area, header: dataset.Header,
              ports: campaign.Ports) -> int:
        options = self.options
        watches: list[fio.Watch] = [host.watched] * options.observe_host
        if options.cache is not None:
            fd = area.pieces[0].fd
            assert fd is not None  # of an area that is open
            watches.append(functools.partial(options.cache.watch, fd))

        def measurer(regions: Sequence[fio.Region]) -> design_runs.Measure:
            return fio.measurer(
                regions, options.target_options.engine, options.hang_s,
                watches, options.cache.within if options.cache else ())

        with (contextlib.nullcontext() if self.under is None else
              self.under.made(area, options.target_options.count,
                              measurer)) as under:
            return design_runs.run(
                self.design, self.path, header, measurer(area.regions),
                ports, self.adaptive, under, self.again)


def look(options: BuildOptions, design: Design,
         adaptive: design_runs.Adaptive | None = None,
         again: design_runs.Again | None = None) -> Build:
    """A measurement as it would be made; nothing is written.

    :raises SerifosError: where it cannot be done
    """
    fio.refuse_hang(options.hang_s)
    version = fio.version()
    recovered = restore_scheduler(options.target)
    if recovered is not None:
        LOG.warning('%s', recovered)
    under = conditions_of(design, options.target)
    if under is not None:
        options = dataclasses.replace(
            options, target_options=under.sized(options.target_options))
    target = find(options.target, options.target_options)
    if under is not None:
        target = under.shown(target)
        under.refuse_unrunnable(design.runs, target,
                                options.target_options.count)
    if options.precondition == 'only' and (
            target.purge is None or target.fresh):
        raise errors.InputError(
            f'{target.name} is made anew for every build, so that '
            'preconditioning it alone is lost; leave --precondition '
            'only out.')
    fio.refuse_unrunnable([w for run in design.runs for w in run],
                          target.regions[0], target.logical_block,
                          options.target_options.engine)
    path = _dataset(options, target)
    seconds = {design.seconds(n) for n in design.numbers}
    cached = {} if options.cache is None else {
        dataset.PAGE_CACHE: options.cache.memory_mib}
    header = dataset.Header(
        device={**target.identity, **cached}, fio=version,
        runtime_s=seconds.pop() if len(seconds) == 1 else None,
        valid_round=design.valid_round, **campaign.this_machine())
    had = design_runs.had(path, header)
    made = (len(had) if adaptive else design.total * design.rounds
            - len(design_runs.missing(design, had)))
    return Build(
        options, design, adaptive, again, under, target, path, header, made,
        not design_runs.todo(design, had, adaptive, again=again))


def arithmetic(design: Design) -> str:
    """Such as '80 sets x 1 round x 15 s = 0.33 h, ...'."""
    seconds = sorted({design.seconds(n) for n in design.numbers})
    number = design.total * design.rounds
    return (f'{design.total} sets x {design.rounds} round'
            f'{"s" * (design.rounds > 1)} x '
            f'{" or ".join(f"{s:g}" for s in seconds)} s = '
            f'{design.hours():.2f} h, and about {START_S:g} s a run to '
            f'start and to ramp up ({number * START_S / 3600:.2f} h)')


def _dataset(options: BuildOptions, target: Target) -> pathlib.Path:
    name = options.name
    if name and not re.fullmatch(r'[A-Za-z0-9][\w.-]*', name):
        raise errors.InputError(
            f'{name!r} cannot name a file; use letters, digits, '
            'hyphens, dots and underscores.')
    # After the device's model, else after the target.
    own = (target.identity['model'] if target.word and not target.fresh
           else None) or pathlib.PurePath(
               target.name.removeprefix('file:')).stem
    return campaign.journal_path(
        options.output or f'{name or campaign.stem(own, "model")}.jsonl',
        'dataset')


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


def conditions_of(design: Design, target: str) -> Under | None:
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


def restore_scheduler(target: str) -> str | None:
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
