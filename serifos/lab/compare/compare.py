# SPDX-License-Identifier: Apache-2.0
"""Comparison of the kinds of model on the runs of one or more devices.

The evaluation of [1]_ for one's own devices: fitted on a part of the runs,
every kind predicts runs inside of that part's ranges (its Figures 8 and 9)
and runs beyond them (Figure 10). The relative standard error of the mean of
runs that were made more than once is its Figure 5 (section 4.3): here the
intervals are the runs of the same workloads, in whichever rounds.

.. [1] Noorshams, Bruhn, Kounev, Reussner: Predictive Performance Modeling
   of Virtualized Storage Systems using Optimized Statistical Regression
   Techniques, section 6.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import math
import statistics

import numpy as np
from scipy import stats

from serifos import errors
from serifos.facts.dataset import Key
from serifos.facts.dataset import Sample
from serifos.lab.regression import inputs
from serifos.model import conditions
from serifos.model import fit_runs
from serifos.model import held_out
from serifos.model import kinds
from serifos.model import quality

INSIDE = 'interpolation'
BEYOND = ('small blocks', 'large blocks', 'high counts')
"""The parts of test runs: held out within the ranges, and beyond."""

OTHERS = 'other runs'
"""The part of a dataset of its own that no kind is fitted on."""

LEAST_RUNS = 20
_EDGE, _WIDEST_EDGE = 0.10, 0.25
"""Shares of the runs that an edge of a range takes at least and at most."""

_RATES = ('iops', 'read_iops', 'write_iops')
_TIMES = {'latency_us': 'iops', 'read_latency_us': 'read_iops',
          'write_latency_us': 'write_iops'}
"""Latency → the rate of the requests that it is the mean of."""

UNFIT = (errors.SerifosError, ArithmeticError, ValueError, ImportError)
"""Errors of a kind that cannot be fitted to the runs."""

MEAN = 'mean'

FIGURES = ('read_latency_us', 'write_latency_us', 'latency_us')
"""The latencies of a run that are compared: of reads, of writes, of both."""

PAPER = {
    'read_latency_us': (0.0335, 0.0845), 'write_latency_us': (0.0210, 0.0535)}
"""Mean and 90th percentile of the five intervals of a minute of the paper,
which calls its measurements sufficiently stable."""


@dataclasses.dataclass(frozen=True)
class Parts:
    """The division of a dataset's runs, by index.

    :param training: what every kind is fitted and tuned on
    :param tested: name (of INSIDE and BEYOND) → runs that no fit sees
    """

    training: quality.Ints
    tested: Mapping[str, quality.Ints]


def parts(data: fit_runs.Runs, seed: int = 0, held_out: float = 0.2) -> Parts:
    """Divide the runs: the edges first, then a share of what lies inside.

    An edge is the least or greatest tenth of the runs by mean block size,
    and the tenth of most workloads; it is left out where equal runs would
    make it more than a quarter, or less than three values are there.

    :param held_out: the share of the inner runs that is held out; with 0
        every run is trained on, and only other runs are tested
    :raises InputError: where too few runs are left, or the share is absurd
    """
    if held_out and not 0.05 <= held_out <= 0.5:
        raise errors.InputError(
            f'A share of {held_out:g} cannot be held out; give 0.05 to 0.5, '
            'or 0 to test on the runs of --test only.')
    if len(set(data.keys)) < LEAST_RUNS:
        raise errors.InputError(
            f'The dataset has {len(set(data.keys))} different runs that have '
            f'the figure; comparing kinds needs {LEAST_RUNS}: measure more.')
    if not held_out:
        return Parts(np.arange(len(data.y)), {})
    rows = np.array([inputs.of(load) for load in data.loads])
    count, block = rows[:, 0], rows[:, inputs.INPUTS.index('block_kib')]
    edges = {name: _least(values) for name, values
             in zip(BEYOND, (block, -block, -count))}
    beyond = {name: which for name, which in edges.items() if which.any()}
    inner = np.flatnonzero(~np.any([*edges.values()], axis=0))
    keys = sorted({data.keys[i] for i in inner})
    chosen = np.random.default_rng(seed).permutation(len(keys))[
        :max(1, round(held_out * len(keys)))]
    out = {keys[i] for i in chosen}
    apart = np.array([data.keys[i] in out for i in inner])
    return Parts(inner[~apart], {
        INSIDE: inner[apart],
        **{name: np.flatnonzero(which) for name, which in beyond.items()}})


def _least(values: quality.Floats
           ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """bool[n]: the runs of the least values, none where there is no edge."""
    bound = np.sort(values)[max(0, round(_EDGE * len(values)) - 1)]
    which = values <= bound
    if which.mean() > _WIDEST_EDGE or len(np.unique(values)) < 3:
        return np.zeros(len(values), bool)
    return which


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The errors of a kind with some settings.

    :param dataset: the name of that of the runs
    :param r2: of the runs that it was fitted on, None where all are alike
    :param errors: part → |predicted - measured| / measured of its runs
    :param mre_by_count: of all test runs
    """

    kind: str
    predicts: str
    tuned: bool
    settings: Mapping[str, float]
    r2: float | None
    errors: Mapping[str, quality.Floats]
    mre_by_count: Mapping[int, float]
    dataset: str = ''

    @property
    def main(self) -> str:
        """The part that kinds are compared by: INSIDE, if it is there."""
        return next(iter(self.errors))

    @property
    def mre(self) -> dict[str, float]:
        return {part: float(values.mean())
                for part, values in self.errors.items()}


def with_others(data: fit_runs.Runs, divided: Parts, others: fit_runs.Runs
                ) -> tuple[fit_runs.Runs, Parts]:
    """The runs and their division, with another dataset's to test on.

    Such runs are the paper's points beyond the ranges (Table 5), or its
    workload distributed on two and three machines (Figures 11 and 12).

    :raises InputError: where none of the others has the figure
    """
    if not len(others.y):
        raise errors.InputError(
            f'No run of the --test dataset has a {others.predicts}; leave '
            'that figure out, or measure it.')
    number = len(data.y)
    samples = data.samples + others.samples
    return (dataclasses.replace(
        data, loads=data.loads + others.loads,
        y=np.concatenate([data.y, others.y]), keys=data.keys + others.keys,
        samples=samples,
        conditions=conditions.of([sample.condition for sample in samples])),
        dataclasses.replace(divided, tested={
            **divided.tested,
            OTHERS: np.arange(number, number + len(others.y))}))


def as_one(sample: Sample) -> Sample:
    """A run as if its workloads were one of all their requests.

    The workload distribution of the paper (section 6.2): the requests of one
    machine are spread over two and three, and the model of the one is held
    against what they see together.

    Outstanding requests and rates are summed, latencies are means over all
    requests; 99th percentiles, which cannot be added up, are left out.

    :raises InputError: where workloads differ in more than their iodepth
    """
    first = sample.workloads[0]
    for workload in sample.workloads:
        if dataclasses.replace(
                workload, iodepth=first.iodepth).pattern != first.pattern:
            raise errors.InputError(
                f'A run of {sample.words} is not one workload on several '
                'volumes; leave out --test-as-one, or test on runs whose '
                'workloads differ only in their iodepth.')
    seen = sample.seen or ({},) * sample.count
    whole = {}
    for name in _RATES:
        rates = [saw.get(name) for saw in seen]
        if None not in rates:
            whole[name] = sum(rates)
    for name, rate in _TIMES.items():
        known = [saw for saw in seen if saw.get(name)]
        if known:
            weights = [saw.get(rate) for saw in known]
            whole[name] = statistics.fmean(
                (saw[name] for saw in known),
                weights if all(weights) else None)
    return Sample(
        (dataclasses.replace(first, iodepth=sum(
            workload.iodepth for workload in sample.workloads)),),
        whole.get('latency_us', sample.latency_us),
        sample.request_latency_us, sample.round, (whole,))


def judge(kind: str, predicts: str, data: fit_runs.Runs, divided: Parts,
          settings: Mapping[str, float] | None = None,
          dataset: str = '') -> Verdict:
    """Fits a kind on the training part and tests it on the others.

    :param settings: the tuned ones; None is the kind's standard
    :param dataset: the name of that of the runs
    :raises UNFIT: where the kind cannot be fitted to these runs
    """
    given = settings or {}
    every = np.arange(len(data.y))
    predicted = held_out.refit(kind, data, given)(divided.training, every)
    if not np.isfinite(predicted).all():
        raise errors.InputError('Its prediction is not a finite number.')
    wrong = quality.relative_errors(data.y, predicted)
    unseen = np.setdiff1d(every, divided.training)
    training = divided.training
    return Verdict(
        kind, predicts, settings is not None,
        {**{one.name: one.standard for one in kinds.of(kind).settings},
         **given},
        quality.adjusted_r2(data.y[training], predicted[training], 0),
        {name: wrong[which] for name, which in divided.tested.items()},
        quality.mre_by([data.counts[i] for i in unseen], data.y[unseen],
                       predicted[unseen]), dataset)


def p_value(ours: Sequence[quality.Floats],
            theirs: Sequence[quality.Floats]) -> float | None:
    """The paired t-test of the errors of two kinds, figures pooled.

    :param ours: for each figure the errors of the same runs, in order
    :returns: the probability of such a difference by chance, two-sided;
        None of a single run
    """
    apart = np.concatenate(ours) - np.concatenate(theirs)
    if len(apart) < 2:
        return None
    if np.ptp(apart) == 0:
        return 1.0 if apart[0] == 0 else 0.0
    return float(stats.ttest_1samp(apart, 0.0).pvalue)


@dataclasses.dataclass(frozen=True)
class ComparisonRow:
    """A kind with its settings, on one figure or in the mean of several.

    :param mre: part → mean relative error, the main part first
    :param change: of a tuned kind: by which fraction its error in the main
        part is larger than with the standard settings; in the mean
    :param p_of_tuning: that tuning changed nothing
    :param p_of_best: that the best kind is not better; None of itself
    """

    dataset: str
    kind: str
    tuned: bool
    predicts: str
    r2: float | None
    mre: Mapping[str, float]
    change: float | None
    p_of_tuning: float | None
    p_of_best: float | None
    settings: Mapping[str, float]

    @property
    def main(self) -> float:
        """The mean relative error in the main part."""
        return next(iter(self.mre.values()))


def lines(verdicts: Sequence[Verdict]) -> list[ComparisonRow]:
    """A table of verdicts, figure by figure, then in the mean of them.

    Of several datasets each, then in the mean of them.
    """
    def groups(names: Sequence[str]) -> dict[str, Sequence[str]]:
        unique = [*dict.fromkeys(names)]
        return {**{name: [name] for name in unique},
                **({MEAN: unique} if len(unique) > 1 else {})}
    return [line for dataset, datasets in groups(
                [v.dataset for v in verdicts]).items()
            for figure, figures in groups(
                [v.predicts for v in verdicts]).items()
            for line in _lines(dataset, figure, [*itertools.product(
                datasets, figures)], verdicts)]


def _lines(dataset: str, figure: str, group: Sequence[tuple[str, str]],
           verdicts: Sequence[Verdict]) -> list[ComparisonRow]:
    of_key = {(v.kind, v.tuned, v.dataset, v.predicts): v for v in verdicts}
    rows = {(kind, tuned): [of_key[kind, tuned, *which] for which in group]
            for kind, tuned in dict.fromkeys(
                (v.kind, v.tuned) for v in verdicts)
            if all((kind, tuned, *which) in of_key for which in group)}
    if not rows:
        return []
    best = min(rows.values(), key=lambda its: _mean(its, its[0].main))
    return [_line(dataset, figure, its, rows[kind, False], best)
            for (kind, _), its in rows.items()]


def _line(dataset: str, figure: str, its: Sequence[Verdict],
          standard: Sequence[Verdict], best: Sequence[Verdict]
          ) -> ComparisonRow:
    first = its[0]
    main = first.main
    r2 = [v.r2 for v in its if v.r2 is not None]
    return ComparisonRow(
        dataset, first.kind, first.tuned, figure,
        float(np.mean(r2)) if len(r2) == len(its) else None,
        {part: _mean(its, part) for part in (INSIDE, *BEYOND, OTHERS)
         if all(part in v.errors for v in its)},
        float(np.mean([v.mre[main] / w.mre[main] - 1 for v, w
                       in zip(its, standard) if w.mre[main]] or [0.0]))
        if first.tuned else None,
        _p(its, standard) if first.tuned else None,
        None if its is best else _p(its, best),
        first.settings if len(its) == 1 else {})


def _mean(its: Sequence[Verdict], part: str) -> float:
    return float(np.mean([v.mre[part] for v in its]))


def _p(ours: Sequence[Verdict],
       theirs: Sequence[Verdict]) -> float | None:
    return p_value(*([v.errors[v.main] for v in its]
                     for its in (ours, theirs)))


@dataclasses.dataclass(frozen=True)
class Repeated:
    """Runs of the same workloads that have a figure.

    :param words: the workloads, as predict takes them
    :param values: the figure of each run, in its unit; two or more
    """

    words: str
    values: tuple[float, ...]

    @property
    def rse(self) -> float:
        """The relative standard error of their mean, a fraction."""
        return relative_standard_error(self.values)


@dataclasses.dataclass(frozen=True)
class Spread:
    """The relative standard errors of one figure, as fractions.

    :param repeated: a configuration each, the least sure first; one or more
    :param dataset: the name of that of the runs
    """

    figure: str
    repeated: tuple[Repeated, ...]
    dataset: str = ''

    @property
    def errors(self) -> list[float]:
        return [one.rse for one in self.repeated]

    @property
    def runs(self) -> int:
        return sum(len(one.values) for one in self.repeated)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.errors)

    @property
    def median(self) -> float:
        return statistics.median(self.errors)

    @property
    def p90(self) -> float:
        """The 90th percentile, linear between the two nearest errors."""
        if len(self.repeated) == 1:
            return self.errors[0]
        return statistics.quantiles(self.errors, n=10, method='inclusive')[-1]


def relative_standard_error(values: Sequence[float]) -> float:
    """s / sqrt(n) / mean of n values, s with n - 1 below; a fraction.

    :param values: two or more, whose mean is not 0
    """
    return (statistics.stdev(values) / math.sqrt(len(values))
            / statistics.fmean(values))


def words(one: Spread) -> str:
    """The errors of a figure, in a sentence."""
    theirs = PAPER.get(one.figure)
    return (
        f'{one.dataset}{": " * bool(one.dataset)}{one.figure} of '
        f'{len(one.repeated)} configurations was measured more than once; '
        'the relative standard error of its mean is '
        f'{100 * one.mean:.3g} % in the mean and {100 * one.p90:.3g} % at '
        'the 90th percentile' + (
            f" (in the paper {100 * theirs[0]:.3g} and "
            f'{100 * theirs[1]:.3g} %)' if theirs else '') + '.')


def spreads(samples: Iterable[Sample], dataset: str = '') -> list[Spread]:
    """The spread of each of FIGURES that was measured twice or more.

    :param samples: runs of one machine, of all rounds
    :param dataset: their name
    """
    runs: dict[Key, list[Sample]] = collections.defaultdict(list)
    for sample in samples:
        runs[sample.key].append(sample)
    found = [Spread(figure, tuple(sorted(
        _repeated(runs.values(), figure),
        key=lambda one: one.rse, reverse=True)), dataset)
        for figure in FIGURES]
    return [one for one in found if one.repeated]


def _repeated(runs: Iterable[Sequence[Sample]],
              figure: str) -> Iterable[Repeated]:
    for same in runs:
        values = tuple(value for sample in same
                       if (value := sample.figure(figure)))
        if len(values) > 1:
            yield Repeated(' '.join(filter(None, (
                same[0].words, same[0].condition.words))), values)
