# SPDX-License-Identifier: Apache-2.0
"""How wrong is each kind of model, on devices that nobody knew, by runs?

A device is measured three times over: the runs of the short design, those
that a build chooses one after another, and tests that no model sees.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.design import design
from serifos.design import enough
from serifos.design import optimal
from serifos.design import sequential
from serifos import errors
from serifos.model import dataset as ds
from serifos.model import doubt
from serifos.model import fit
from serifos.model import kinds as kd
from serifos.model import quality
from serifos.sim import device as dev
from serifos.sim import modeler
from serifos.sim import truths
from serifos import workload as wl

ACCURACY_SCHEMA = 'serifos-accuracy/1'

Mapper = Callable[[str, Callable[[Any], Any], Sequence[Any]], Iterable[Any]]
"""(what is being done, function, items) → results in the items' order."""

CHOSEN, ALL_CHOSEN = 'chosen', 'all chosen'
"""The runs that a build makes, and those that it would make if nothing were
enough; the other designs are named by their runs."""

AUTO = 'auto'
"""The kind that a build takes, by cross-validation."""

TESTS = ('paper', 'depths', 'wide')
"""The paper's test vectors; the same with varying queue depths; the whole
box (1 to 16 workloads, 4 KiB to 1 MiB, random to sequential)."""

TARGETS = {'paper': 0.10, 'depths': 0.15, 'p99': 0.20}
"""What the mean relative error should be at the most."""

P99 = ('read_p99_us', 'write_p99_us')

_DEPTHS = (1, 2, 4, 8, 16, 32, 64)
_MOST_DRAWN, _MOST_TESTS, _MOST_RUNS = 1000, 1000, 2000


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is tried.

    :param runs: of the short designs
    :param named: whether the eight devices with names are tried too
    :param drawn: devices drawn at random, the first ones of a seed
    :param tests: tests of each count of workloads, of each sort
    """

    kinds: tuple[str, ...] = kd.names()
    runs: tuple[int, ...] = (20, 40, 80)
    named: bool = True
    drawn: int = 16
    tests: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        for what, value, least, most in (
                ('drawn devices', self.drawn, 0, _MOST_DRAWN),
                ('tests of each count', self.tests, 1, _MOST_TESTS)):
            if not least <= value <= most:
                raise errors.InputError(
                    f'{value} {what} cannot be tried; give {least} to '
                    f'{most:,}.')
        for runs in self.runs:
            if not optimal.LEAST <= runs <= _MOST_RUNS:
                raise errors.InputError(
                    f'A design of {runs} runs cannot be tried; give '
                    f'{optimal.LEAST} to {_MOST_RUNS:,}.')
        if self.seed < 0:
            raise errors.InputError(
                f'A seed of {self.seed} cannot be used; give 0 or more.')
        if not self.named and not self.drawn:
            raise errors.InputError(
                'There is no device to try; give --drawn 1 or more, or '
                'leave --only-drawn out.')

    @property
    def devices(self) -> tuple[dev.Truth, ...]:
        rng = np.random.default_rng([self.seed, 2026])
        named = (*truths.TESTBEDS['paper'].hosts,
                 *truths.TESTBEDS['other'].hosts, *truths.FEATURED)
        return (*(named if self.named else ()),
                *(truths.drawn(rng) for _ in range(self.drawn)))


@dataclasses.dataclass(frozen=True)
class Device:
    """What was measured on a device.

    :param designs: label → the runs that a model may be fitted on
    :param tests: of :data:`TESTS` → runs that no model sees
    """

    truth: dev.Truth
    designs: Mapping[str, Sequence[ds.Sample]]
    tests: Mapping[str, Sequence[ds.Sample]]


@dataclasses.dataclass(frozen=True)
class Score:
    """How wrong one model is: fractions, None where it cannot be fitted.

    :param expected: its own cross-validated error
    :param errors: of :data:`TESTS`, and ``p99`` on the paper's vectors
    :param coverage: share of the tests of :data:`TARGETS` that lie within
        the 90 % interval
    """

    device: str
    kind: str
    design: str
    runs: int
    expected: float | None = None
    errors: Mapping[str, float | None] = dataclasses.field(
        default_factory=dict)
    coverage: float | None = None


def run(settings: Settings, mapper: Mapper) -> list[Score]:
    """Every kind on every device by every design, ``auto`` after them."""
    devices = list(mapper('Measuring the devices', measured, [
        (settings, truth) for truth in settings.devices]))
    jobs = [(device, kind, label) for device in devices
            for label in device.designs for kind in settings.kinds]
    scores = list(mapper('Fitting every kind', scored, jobs))
    number = len(settings.kinds)
    return [score for first in range(0, len(scores), number)
            for score in _with_auto(scores[first:first + number])]


def _with_auto(scores: Sequence[Score]) -> list[Score]:
    """The kinds of one design, and what a build would take of them."""
    known = [score for score in scores if score.kind in fit.AUTO
             and score.expected is not None]
    if len(known) < len(fit.AUTO):
        return [*scores]
    best = min(known, key=lambda score: score.expected)
    return [*scores, dataclasses.replace(best, kind=AUTO)]


def measured(job: tuple[Settings, dev.Truth]) -> Device:
    """Makes all runs of a device."""
    settings, truth = job
    tests = _tests(settings)
    every = _measure(truth, modeler.Purpose.TEST, settings.seed, [
        run for runs in tests.values() for run in runs])
    of_test, begin = {}, 0
    for name, runs in tests.items():
        of_test[name] = every[begin:begin + len(runs)]
        begin += len(runs)
    designs = {str(number): _measure(
        truth, modeler.Purpose.SHORT, settings.seed,
        optimal.runs(number, seed=settings.seed))
        for number in settings.runs}
    made, number = chosen(truth, settings.seed)
    return Device(truth, {**designs, CHOSEN: made[:number],
                          ALL_CHOSEN: made}, of_test)


def chosen(truth: dev.Truth, seed: int) -> tuple[list[ds.Sample], int]:
    """What a build would choose to measure, and how many are enough."""
    plan = sequential.Sequential(seed=seed)
    made: list[ds.Sample] = []
    known: dict[int, float] = {}
    number = 0

    def error(number: int) -> float:
        if number not in known:
            known[number] = doubt.error(made[:number])
        return known[number]
    runs = plan.begin
    while runs:
        made += _measure(truth, modeler.Purpose.CHOSEN, seed, runs,
                         len(made))
        so_far = [sample.workloads for sample in made]
        runs = plan.following(so_far)
        if not number and not enough.step(
                plan, enough.Enough(), so_far, (), error).runs:
            number = len(made)
    return made, number


def _measure(truth: dev.Truth, purpose: modeler.Purpose, seed: int,
             runs: Sequence[design.Run], first: int = 0) -> list[ds.Sample]:
    return modeler.measure(modeler.Job(
        truth, purpose, seed, first, tuple(runs), dev.IOS))


def _tests(settings: Settings) -> dict[str, list[design.Run]]:
    rng = np.random.default_rng([settings.seed, modeler.Purpose.TEST])
    return {name: [tuple(one(rng) for _ in range(count))
                   for count in range(1, most + 1)
                   for _ in range(settings.tests)]
            for name, most, one in (
                ('paper', modeler.EXTENDED[1], modeler.drawn),
                ('depths', modeler.EXTENDED[1], _deep),
                ('wide', sequential.EDGE.counts[-1], _any))}


def _deep(rng: np.random.Generator) -> wl.Workload:
    return dataclasses.replace(
        modeler.drawn(rng), iodepth=float(rng.choice(_DEPTHS)))


def _any(rng: np.random.Generator) -> wl.Workload:
    return wl.Workload(
        float(rng.integers(0, 101)), float(4 * round(256 ** rng.random())),
        float(round(64 ** rng.random())), float(rng.choice([0, 50, 100])))


def scored(job: tuple[Device, str, str]) -> Score:
    """Fits one kind on one design of a device, and tests it."""
    device, kind, label = job
    samples = device.designs[label]
    score = Score(device.truth.name, kind, label, len(samples))
    try:
        model = fit.fit(ds.Dataset(ds.Header({}), tuple(samples)), kind)
    except errors.SerifosError:
        return score
    inside: list[bool] = []
    wrong: dict[str, float | None] = {}
    for name, tests in device.tests.items():
        data = fit.runs(tests)
        wrong[name] = quality.mre(data.y, _many(model.form, data))
        if name in TARGETS:
            ends = [model.interval(load) for load in data.loads]
            inside += [low <= y <= high
                       for (low, high), y in zip(ends, data.y)]
    return dataclasses.replace(
        score, expected=model.quality['mre'], coverage=float(np.mean(inside)),
        errors={**wrong, 'p99': _p99(kind, samples, device.tests['paper'])})


def _p99(kind: str, samples: Sequence[ds.Sample],
         tests: Sequence[ds.Sample]) -> float | None:
    """The mean relative error of models of both 99th percentiles."""
    wrong = []
    for figure in P99:
        train, test = fit.runs(samples, figure), fit.runs(tests, figure)
        form = kd.form(kind, kd.of(kind).fit(train.loads, train.y, {}))
        wrong.append(quality.relative_errors(test.y, _many(form, test)))
    return float(np.mean(np.concatenate(wrong)))


def _many(form: kd.Form, data: fit.Runs) -> npt.NDArray[np.float64]:
    return form.many(np.array([load.vector for load in data.loads]))
