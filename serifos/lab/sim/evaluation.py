# SPDX-License-Identifier: Apache-2.0
"""Section 6 of the paper, from simulated devices to balanced clusters."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos.balancer import planning
from serifos.facts.dataset import Sample
from serifos.facts import fields
from serifos.lab.sim import devices as simulated
from serifos.lab.sim import modeler
from serifos.lab.sim import paper
from serifos.lab.sim import runner
from serifos.lab.sim import scenario
from serifos.lab.sim import ssd as ssds
from serifos.lab.sim import tails
from serifos.lab.sim.tails import Tails
from serifos.model.model import Model

EVALUATION_SCHEMA = 'serifos-evaluation/1'

Outcomes = Sequence[scenario.PlannerResult]

WORSE_BY = 0.01
"""A case is worse than Cinder's placement where its worst host's latency,
or the variance over its hosts, rose by more than this fraction."""

_MOST_CASES = 10_000
_MOST_TESTS = 10_000
_SLO_SHARE = 99  # percent


@dataclasses.dataclass(frozen=True)
class EvaluationSettings:
    """The settings of an evaluation.

    :param testbeds: names of :data:`serifos.lab.sim.devices.TESTBEDS`
    :param kinds: of the planners' models, :data:`modeler.KINDS`
    :param sets: how many of the paper's 6,187 sets the consolidation
        models are fitted on, None for all
    :param predicts: the figure of a run that is planned by
    :param tests: random runs of each count from 1 to 5 that the models are
        tested on, and twice as many of 6 to 10
    :param tails: the dataset whose tails the devices have, None for the
        measured disk's
    """

    cases: int = 50
    seed: int = 0
    testbeds: tuple[str, ...] = ('paper', 'other')
    kinds: tuple[str, ...] = ('consolidation', 'auto')
    sets: int | None = None
    tests: int = 100
    predicts: str = 'latency_us'
    tails: str | None = None

    def __post_init__(self) -> None:
        fields.refuse_outside('--cases', self.cases, 1, _MOST_CASES)
        fields.refuse_outside('--tests', self.tests, 1, _MOST_TESTS)
        fields.refuse_outside('--seed', self.seed, 0)

    @property
    def of_means(self) -> bool:
        """Whether errors may stand beside the paper's, which are of means."""
        return self.predicts == 'latency_us'


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """The results. Keys are testbeds, kinds of models, names of SSDs.

    :param models: kind → ssd → model
    :param tests: kind → ssd → its error on held-out runs
    :param mismatch: ssd → count label → mean relative error against
        Table 6, of the SSDs that were fitted to it
    :param outcomes: testbed → case by case
    """

    settings: EvaluationSettings
    models: Mapping[str, Mapping[str, Model]]
    tests: Mapping[str, Mapping[str, modeler.Tested]]
    mismatch: Mapping[str, Mapping[str, float]]
    outcomes: Mapping[str, Sequence[Sequence[scenario.PlannerResult]]]

    def of(self, testbed: str, planner: str,
           kind: str) -> list[scenario.PlannerResult]:
        """One planner's outcomes with one kind of models, case by case."""
        return [outcome for case in self.outcomes[testbed] for outcome in case
                if (outcome.planner, outcome.kind) == (planner, kind)]

    def balanced(self, testbed: str) -> list[dict[str, Any]]:
        """The gain and the cost of each planner with each kind of models.

        ``reduction`` is by figure, fractions; moves and GiB are of a case.
        """
        base = self.of(testbed, scenario.CAPACITY, '')
        return [{
            'testbed': testbed, 'planner': planner, 'kind': kind,
            'reduction': reductions(base, outcomes),
            'cases_worse': worse(base, outcomes),
            'tenants_worse': worse_tenants(base, outcomes),
            'moves': mean_moves(outcomes),
            'moved_gib': mean_moved_gib(outcomes)}
            for kind in self.settings.kinds for planner in scenario.NAMES
            if (outcomes := self.of(testbed, planner, kind))]

    def brief(self) -> dict[str, Any]:
        """The results as a document, without every case's outcomes."""
        return {
            'schema': EVALUATION_SCHEMA,
            'settings': dataclasses.asdict(self.settings),
            'before': {name: figures(self.of(
                name, scenario.CAPACITY, '')) for name in self.outcomes},
            'balancing': [result for name in self.outcomes
                          for result in self.balanced(name)],
            'mre_by_count': {
                kind: {name: tested.mre for name, tested in of_kind.items()}
                for kind, of_kind in self.tests.items()},
            'models': {kind: {name: model.to_json()
                              for name, model in of_kind.items()}
                       for kind, of_kind in self.models.items()},
            'mismatch': {name: dict(of)
                         for name, of in self.mismatch.items()}}

    def to_json(self) -> dict[str, Any]:
        """The results and everything that the figures draw."""
        return {
            **self.brief(),
            'residuals_us': {
                kind: {name: tested.residuals_us
                       for name, tested in of_kind.items()}
                for kind, of_kind in self.tests.items()},
            'outcomes': {
                name: [[dataclasses.asdict(o) for o in case]
                       for case in cases]
                for name, cases in self.outcomes.items()}}


def run(settings: EvaluationSettings, mapper: runner.Mapper) -> Evaluation:
    """Builds the models, tests them, and simulates the cases.

    :raises InputError: where the settings cannot be evaluated
    """
    beds = [simulated.TESTBEDS[name] for name in settings.testbeds]
    devices = [ssd for bed in beds for ssd in bed.hosts]
    laid = (tails.measured() if settings.tails is None
            else tails.of_dataset(settings.tails))
    models = _models(settings, devices, laid, mapper)
    tests = {
        ssd.name: samples for bed in beds for ssd, samples in _measured(
            f'Testing the models of {bed.name}', [*bed.hosts],
            modeler.Purpose.TEST, modeler.tests(
                settings.seed, settings.tests, 2 * settings.tests,
                bed.volumes), settings.seed, laid, mapper)}
    fitted = [ssd for ssd in devices if ssd.name in paper.CONSOLIDATION]
    cases = [scenario.Case(bed, number, settings.seed, {
        kind: {ssd.name: of_kind[ssd.name] for ssd in bed.hosts}
        for kind, of_kind in _planned_by(models).items()}, tails=laid)
        for bed in beds for number in range(settings.cases)]
    outcomes = iter(list(mapper('Simulating the cases', scenario.run, cases)))
    return Evaluation(
        settings, models,
        {kind: {name: modeler.tested(model, tests[name])
                for name, model in of_kind.items()}
         for kind, of_kind in models.items()},
        dict(zip((ssd.name for ssd in fitted), mapper(
            'Comparing the devices with Table 6', _mismatch, fitted))),
        {bed.name: [next(outcomes) for _ in range(settings.cases)]
         for bed in beds})


def _models(settings: EvaluationSettings, devices: Sequence[ssds.Ssd],
            tails: Tails, mapper: runner.Mapper
            ) -> dict[str, dict[str, Model]]:
    models: dict[str, dict[str, Model]] = {}
    for purpose, kinds in (
            (modeler.Purpose.CONSOLIDATION, {'consolidation'}),
            (modeler.Purpose.SHORT, {'outstanding', 'tenant', 'auto'})):
        kinds &= set(settings.kinds)
        if kinds:
            measured = list(_measured(
                f'Measuring for {" and ".join(sorted(kinds))}', devices,
                purpose,
                modeler.training(purpose, settings.seed, settings.sets),
                settings.seed, tails, mapper))
            jobs = [(kind, ssd, samples, settings.predicts)
                    for kind in kinds for ssd, samples in measured]
            for (kind, ssd, *_), model in zip(jobs, mapper(
                    f'Fitting {" and ".join(sorted(kinds))}', _built, jobs)):
                models.setdefault(kind, {})[ssd.name] = model
    return {kind: models[kind] for kind in settings.kinds}


def _planned_by(models: Mapping[str, Mapping[str, Model]]
                ) -> dict[str, Mapping[str, Model]]:
    """The models, those of kind consolidation as the paper prints them."""
    return {kind: planning.as_printed(of_kind) if kind == 'consolidation'
            else of_kind for kind, of_kind in models.items()}


def _built(job: tuple[str, ssds.Ssd, list[Sample], str]) -> Model:
    return modeler.built(*job)


def _measured(title: str, devices: Sequence[ssds.Ssd],
              purpose: modeler.Purpose, runs: Sequence[Any], seed: int,
              tails: Tails, mapper: runner.Mapper
              ) -> Iterator[tuple[ssds.Ssd, list[Sample]]]:
    """The samples of each device from the same runs."""
    jobs = [job for ssd in devices
            for job in modeler.jobs(ssd, purpose, runs, seed, tails=tails)]
    done = list(zip(jobs, mapper(title, modeler.measure, jobs)))
    for ssd in devices:
        yield ssd, [sample for job, samples in done
                    if job.ssd == ssd for sample in samples]


def _mismatch(ssd: ssds.Ssd) -> dict[str, float]:
    return paper.mismatch(ssd, ssd.name)


def _hosts(outcomes: Outcomes, name: str) -> npt.NDArray[np.float64]:
    """float[cases, hosts]."""
    return np.array([[getattr(host, name) for host in outcome.hosts]
                     for outcome in outcomes])


def _tenants(outcomes: Outcomes) -> list[float]:
    """µs that each workload saw, case by case."""
    return [workload.latency_us for outcome in outcomes
            for workload in outcome.workloads if workload.latency_us]


def _slowest(outcome: scenario.PlannerResult) -> float:
    """µs that the slowest workload of a case saw."""
    return max(_tenants([outcome]), default=0.0)


def _variance(name: str) -> Callable[[Outcomes], float]:
    return lambda outcomes: float(np.mean(
        _hosts(outcomes, name).var(axis=1)))


def _slo(name: str) -> Callable[[Outcomes], float]:
    return lambda outcomes: float(np.percentile(
        [getattr(workload, name) for outcome in outcomes
         for workload in outcome.workloads], _SLO_SHARE))


FIGURES: Mapping[str, Callable[[Outcomes], float]] = {
    'variance_us2': _variance('latency_us'),
    'max_us': lambda outcomes: float(_hosts(outcomes, 'latency_us').max()),
    'mean_max_us': lambda outcomes: float(np.mean(
        _hosts(outcomes, 'latency_us').max(axis=1))),
    'mean_us': lambda outcomes: float(np.mean(
        _hosts(outcomes, 'latency_us'))),
    'p99_read_variance_us2': _variance('read_p99_us'),
    'p99_write_variance_us2': _variance('write_p99_us'),
    'tenants_us': lambda outcomes: float(np.exp(np.mean(np.log(
        _tenants(outcomes))))),
    'worst_tenant_us': lambda outcomes: float(np.mean([
        _slowest(outcome) for outcome in outcomes])),
    'slo_us': _slo('latency_us'),
    'slo_read_us': _slo('read_p99_us'),
    'slo_write_us': _slo('write_p99_us'),
}
"""Figures that balancing should lower. Variances are over the hosts of a
case, their mean over the cases; ``max_us`` is the worst host of all cases,
``mean_max_us`` the mean of each case's worst; ``mean_us`` is over all hosts.
``tenants_us`` is the geometric mean over all workloads, the same ones before
and after, so that nobody dilutes it; ``worst_tenant_us`` the mean of each
case's slowest workload.
An SLO is what 99 % of all workloads stay below: by their mean latency, by
their 99th percentile of reads, of writes."""


def figures(outcomes: Outcomes) -> dict[str, float]:
    """Every figure of :data:`FIGURES`, by name."""
    return {name: figure(outcomes) for name, figure in FIGURES.items()}


def reductions(before: Outcomes, after: Outcomes) -> dict[str, float]:
    """The fraction by which each figure fell; negative where it rose."""
    was, now = figures(before), figures(after)
    return {name: 1 - now[name] / was[name] for name in FIGURES}


def worse(before: Outcomes, after: Outcomes) -> int:
    """The number of cases that are worse than Cinder's placement."""
    was, now = (_hosts(outcomes, 'latency_us')
                for outcomes in (before, after))
    limit = 1 + WORSE_BY
    return int(np.sum((now.max(axis=1) > limit * was.max(axis=1))
                      | (now.var(axis=1) > limit * was.var(axis=1))))


def worse_tenants(before: Outcomes, after: Outcomes) -> int:
    """The number of cases whose slowest workload became slower."""
    return sum(_slowest(then) > (1 + WORSE_BY) * _slowest(was)
               for was, then in zip(before, after))


def mean_moves(outcomes: Outcomes) -> float:
    """Migrations of a case, the mean."""
    return float(np.mean([outcome.moves for outcome in outcomes]))


def mean_moved_gib(outcomes: Outcomes) -> float:
    """GiB that the migrations of a case copy, the mean."""
    return float(np.mean([outcome.moved_gib for outcome in outcomes]))
