# SPDX-License-Identifier: Apache-2.0
"""Error of each kind of model on simulated devices, by number of runs."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from serifos.design import d_optimal
from serifos import errors
from serifos.facts import bounds
from serifos.facts import dataset
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.lab.accuracy import runs
from serifos.lab.accuracy.runs import DeviceRuns
from serifos.lab.accuracy.runs import MOVED
from serifos.lab.sim import devices as simulated
from serifos.lab.sim.nand import nand
from serifos.lab.sim import runner
from serifos.lab.sim import ssd as ssds
from serifos.model import choice
from serifos.model import fit
from serifos.model import fit_runs
from serifos.model import held_out
from serifos.model import kinds
from serifos.model import quality

Floats = npt.NDArray[np.float64]

ACCURACY_SCHEMA = 'serifos-accuracy/1'

AUTO = 'auto'
"""The kind that a build chooses, by cross-validation."""

TARGETS = {'paper': 0.10, 'depths': 0.15, 'p99': 0.20}
"""What the mean relative error should be at the most."""

P99 = ('read_p99_us', 'write_p99_us')
ADDITIONS = 5000
_ROUNDED = 1e-7  # sums of Loads are rounded to a grid

_MOST_DRAWN, _MOST_TESTS, _MOST_RUNS = 1000, 1000, 2000


@dataclasses.dataclass(frozen=True)
class AccuracySettings:
    """The settings of a comparison.

    :param runs: of the short designs
    :param named: whether the eight devices with names are tried too
    :param drawn: devices drawn at random, the first ones of a seed
    :param flash: the same of those that are simulated page by page
    :param tests: tests of each count of workloads, of each sort
    """

    kinds: tuple[str, ...] = kinds.names()
    runs: tuple[int, ...] = (20, 40, 80)
    named: bool = True
    drawn: int = 16
    flash: int = 8
    tests: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        bounds.refuse_outside('--drawn', self.drawn, 0, _MOST_DRAWN)
        bounds.refuse_outside('--flash', self.flash, 0, _MOST_DRAWN)
        bounds.refuse_outside('--tests', self.tests, 1, _MOST_TESTS)
        for runs in self.runs:
            bounds.refuse_outside('--runs', runs, d_optimal.LEAST, _MOST_RUNS)
        bounds.refuse_outside('--seed', self.seed, 0)
        if not (self.named or self.drawn or self.flash):
            raise errors.InputError(
                'There is no device to try; give --drawn 1 or more, or '
                'leave --only-drawn out.')

    @property
    def devices(self) -> tuple[ssds.Ssd | nand.Nand, ...]:
        rng, its = (np.random.default_rng([self.seed, number])
                    for number in (2026, 2027))
        return (*(simulated.NAMED if self.named else ()),
                *(simulated.drawn(rng) for _ in range(self.drawn)),
                *(nand.drawn(its) for _ in range(self.flash)))


@dataclasses.dataclass(frozen=True)
class KindScore:
    """The error of one model: fractions, None where it cannot be fitted.

    :param expected: its own cross-validated error
    :param by_pattern: the same by pattern, of pools and of what tenants see
    :param errors: of :data:`.runs.TESTS` and, of several devices,
        :data:`.runs.MOVED`; ``read_p99_us``,
        ``write_p99_us`` and both as ``p99`` on the paper's vectors
    :param coverage: share of the tests of :data:`TARGETS` that lie within
        the 90 % interval
    :param covered: the same of each test
    :param tenants: of each test: the error of what one tenant sees, the
        mean of its pool where the kind does not tell more
    :param tenants_covered: share of the tenants whose latency lies within
        their interval; of a kind that has such
    :param falls: how many of :data:`ADDITIONS` workloads lowered the
        prediction when they were added to a random Load; of a kind that
        tells what tenants see, of that
    """

    device: str
    kind: str
    design: str
    runs: int
    expected: float | None = None
    by_pattern: tuple[float, ...] = ()
    errors: Mapping[str, float | None] = dataclasses.field(
        default_factory=dict)
    coverage: float | None = None
    covered: Mapping[str, float] = dataclasses.field(default_factory=dict)
    tenants: Mapping[str, float] = dataclasses.field(default_factory=dict)
    tenants_covered: Mapping[str, float] = dataclasses.field(
        default_factory=dict)
    falls: int | None = None


def run(settings: AccuracySettings, mapper: runner.Mapper) -> list[KindScore]:
    """Every kind on every device by every design, ``auto`` after them."""
    devices = list(mapper('Measuring the devices', functools.partial(
        runs.measured, short=settings.runs, tests=settings.tests,
        seed=settings.seed), settings.devices))
    if len(devices) > 1:
        devices = [dataclasses.replace(device, tests={
            **device.tests, MOVED: runs.moved(*(
                one.tests['all think'] for one in (device, other)))})
            for device, other in zip(devices, devices[1:] + devices[:1])]
    jobs = [(device, kind, label) for device in devices
            for label in device.designs for kind in settings.kinds]
    scores = list(mapper('Fitting every kind', scored, jobs))
    number = len(settings.kinds)
    return [score for first in range(0, len(scores), number)
            for score in with_auto(scores[first:first + number])]


def with_auto(scores: Sequence[KindScore]) -> list[KindScore]:
    """The kinds of one design, and the one that a build would choose."""
    known = {score.kind: score for score in scores if score.by_pattern}
    if not set(fit.AUTO) <= set(known):
        return [*scores]
    best = choice.kind_of({kind: np.array(known[kind].by_pattern)
                           for kind in fit.AUTO})
    return [*scores, dataclasses.replace(known[best], kind=AUTO)]


def scored(job: tuple[DeviceRuns, str, str]) -> KindScore:
    """Fits one kind on one design of a device, and tests it."""
    device, kind, label = job
    samples = device.designs[label]
    score = KindScore(device.ssd.name, kind, label, len(samples))
    try:
        design = fit_runs.runs(samples)
        expected = held_out.predictions(kind, design, {}, 0)
        model = fit.fit(dataset.Dataset(dataset.Header({}), tuple(samples)),
                        kind,
                        held_out={kind: expected})
    except errors.SerifosError:
        return score
    wrong, covered = {}, {}
    of_tenants, tenants_covered = {}, {}
    for name, tests in device.tests.items():
        data = fit_runs.runs(tests)
        if not len(data.y):  # all were idle
            continue
        wrong[name] = quality.mre(data.y, model.predictor.many(data.vectors))
        covered[name], tenants_covered[name] = fit.covered(model, data)
        asked = data.tenants
        of_tenants[name] = quality.mre(asked.y, held_out.tenants_of(
            model.predictor, data.vectors[asked.run], asked.own))
    return dataclasses.replace(
        score, expected=model.quality['mre'], covered=covered,
        by_pattern=tuple(choice.by_pattern(design, expected).tolist()),
        tenants=of_tenants, tenants_covered=tenants_covered,
        coverage=float(np.mean([covered[name] for name in TARGETS
                                if name in covered])),
        errors={**wrong, **_p99(kind, samples, device.tests['paper'])},
        falls=_falls(model.predictor))


def _p99(kind: str, samples: Sequence[dataset.Sample],
         tests: Sequence[dataset.Sample]) -> dict[str, float]:
    """The mean relative errors of models of both 99th percentiles."""
    wrong = {}
    for figure in P99:
        train, test = (fit_runs.runs(each, figure)
                       for each in (samples, tests))
        predictor = kinds.predictor(
            kind, held_out.parameters(kind, train, {}))
        wrong[figure] = quality.relative_errors(
            test.y, predictor.many(test.vectors))
    return {'p99': float(np.mean(np.concatenate([*wrong.values()]))),
            **{figure: float(of.mean()) for figure, of in wrong.items()}}


def _falls(predictor: kinds.Predictor) -> int:
    """The number of added workloads that lowered the prediction.

    Of what a tenant sees where the kind tells that: a mean may fall.
    """
    before, after = _additions()
    own = np.tile(Load.of(Workload(50, 16)).vector, (len(before), 1))
    was, now = (held_out.tenants_of(predictor, loads + own, own)
                for loads in (before, after))
    return int((now < was * (1 - _ROUNDED)).sum())


@functools.cache
def _additions() -> tuple[Floats, Floats]:
    """Loads of 1 to 19 workloads, and the same with one more."""
    rng = np.random.default_rng(0)
    before = [sum((Load.of(_anything(rng)) for _ in range(
        int(rng.integers(1, 20)))), Load()) for _ in range(ADDITIONS)]
    after = [load + Load.of(_anything(rng)) for load in before]
    return (np.array([load.vector for load in before]),
            np.array([load.vector for load in after]))


def _anything(rng: np.random.Generator) -> Workload:
    """A workload of the whole space, often at one of its corners."""
    def between(least: float, most: float) -> float:
        inside = least + (most - least) * rng.random() ** 3
        return float(rng.choice([least, most, inside, inside]))
    return Workload(between(0, 100), between(4, 1024), between(1, 64),
                    between(0, 100))
