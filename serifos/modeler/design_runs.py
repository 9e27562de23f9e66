# SPDX-License-Identifier: Apache-2.0
"""The runs of a design, and the dataset in which they are kept."""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
import dataclasses
import pathlib

from serifos.design.design import Design
from serifos.design.design import Run
from serifos import errors
from serifos.facts import dataset
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.files import jsonl
from serifos.modeler import campaign

Measure = Callable[[Sequence[Workload], float], dataset.Sample]
DesignRun = tuple[Run, int, dataset.Condition]
"""Workloads, the round in which they run, and what else they run under."""

_SAME = ('runtime_s', 'valid_round')
_SAME_DEVICE = ('workload_gib', 'ioengine', 'varied', dataset.PAGE_CACHE)


def had(path: pathlib.Path, header: dataset.Header) -> tuple[dataset.Sample,
                                                             ...]:
    """The runs that a dataset holds already; none where it is not begun.

    :raises InputError: where it is of another machine or made otherwise
    """
    if not jsonl.begun(path, 'build'):
        return ()
    was = documents.read_dataset(path, dataset.PAGE_CACHE in header.device)
    apart = [*was.header.differences(header),
             *dataset.differences(vars(was.header), vars(header), _SAME),
             *dataset.differences(was.header.device, header.device,
                                  _SAME_DEVICE)]
    if apart:
        raise errors.InputError(
            f'{path} cannot be resumed by this: {"; ".join(apart)}; give '
            'another --name or --output, or what it was begun with.')
    return was.samples


def missing(design: Design,
            made: Sequence[dataset.Sample]) -> tuple[DesignRun, ...]:
    """The runs of a design, of every round, that are not made yet."""
    counts = collections.Counter((s.key, s.round) for s in made)
    found = []
    for number in range(1, design.rounds + 1):
        for workloads, condition in design.under:
            name = dataset.key(workloads, condition), number
            if counts[name]:
                counts[name] -= 1
            else:
                found.append((workloads, number, condition))
    return tuple(found)


@dataclasses.dataclass(frozen=True)
class Adaptive:
    """A choice of runs by what was measured before.

    :param first: runs of the design that are made in any case
    :param choose: (the runs in the order in which they were made, the keys
        of those that failed twice) → the next ones, in order; none where it
        is enough
    """

    first: int
    choose: Callable[[Sequence[dataset.Sample], Collection[dataset.Key]],
                     Sequence[Run]]


Again = Callable[[Sequence[dataset.Sample]], Sequence[dataset.Sample]]
"""(The runs made) → those to be measured once more."""


def todo(design: Design, made: Sequence[dataset.Sample],
         adaptive: Adaptive | None = None,
         failed: Collection[DesignRun] = (),
         again: Again | None = None) -> tuple[DesignRun, ...]:
    """What is run next; none where it is enough.

    :param failed: runs that are not to be tried again
    :param again: asked when the design has no more
    """
    first = missing(design.beginning(adaptive.first) if adaptive
                    else design, made)
    left = tuple(run for run in first if run not in failed)
    if not left and adaptive:
        gone = [dataset.key(workloads) for workloads, *_ in failed]
        left = tuple((workloads, 1, dataset.Condition())
                     for workloads in adaptive.choose(
                         split(design, made)[0], gone))
    if not left and again:
        more = ((s.workloads, s.round, s.condition) for s in again(made))
        left = tuple(run for run in more if run not in failed)
    return left


def split(design: Design, made: Sequence[dataset.Sample]
          ) -> tuple[list[dataset.Sample], list[dataset.Sample]]:
    """The runs made once, and those that were made once more."""
    planned = collections.Counter(map(dataset.key, design.runs))
    counts: collections.Counter[dataset.Key] = collections.Counter()
    once, more = [], []
    for sample in made:
        counts[sample.key] += 1
        (once if counts[sample.key] <= max(planned[sample.key], 1)
         else more).append(sample)
    return once, more


def run(design: Design, path: pathlib.Path, header: dataset.Header,
        measure: Measure, ports: campaign.Ports,
        adaptive: Adaptive | None = None,
        under: Callable[[dataset.Condition], Measure] | None = None,
        again: Again | None = None) -> int:
    """Makes every run of every round that the dataset lacks.

    :param measure: makes one run; a ToolError costs that run only
    :param under: makes the same of a condition, where the design has any
    :param adaptive: what to run after the first of the design, in one round,
        and until it is enough
    :param again: what to measure once more after that
    :returns: how many runs failed twice and are missing
    :raises Interrupted: after the run in hand, where the user stops
    :raises ToolError: where runs fail three times in a row
    """
    def seconds(one: DesignRun) -> float:
        return design.seconds(len(one[0]))

    def make(one: DesignRun) -> None:
        workloads, number, condition = one
        sample = dataclasses.replace(
            (under(condition) if under else measure)(workloads, seconds(one)),
            round=number, condition=condition)
        _append(path, sample)
        made.append(sample)

    with documents.resumed_dataset(path, header):
        made = [*had(path, header)]
        more = todo(design, made, adaptive, again=again)
        total = design.total * design.rounds
        loop = campaign.Campaign(
            'measure', make, seconds, path, ports,
            len(made) if adaptive else total - len(missing(design, made)),
            total)
        while more:
            loop.total = max(loop.total, loop.done + len(more))
            loop.make(more)
            more = todo(design, made, adaptive, loop.failed, again)
    return len(loop.failed)


def _append(path: pathlib.Path, sample: dataset.Sample) -> None:
    try:
        documents.append_sample(path, sample)
    except errors.FormatError as exc:
        raise errors.ToolError(f'fio gave a figure that cannot be used: {exc}'
                               ) from None
