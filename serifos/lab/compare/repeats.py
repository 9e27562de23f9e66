# SPDX-License-Identifier: Apache-2.0
"""Standard errors of runs that were made more than once.

Of the intervals of each configuration [1]_ takes the relative standard error
of their mean (its Figure 5); here the intervals are the runs of the same
workloads, in whichever rounds they were made.

.. [1] Noorshams, Bruhn, Kounev, Reussner: Predictive Performance Modeling
   of Virtualized Storage Systems using Optimized Statistical Regression
   Techniques, section 4.3.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import math
import statistics

from serifos.facts.dataset import Key
from serifos.facts.dataset import Sample

FIGURES = ('read_latency_us', 'write_latency_us', 'latency_us')
"""The latencies of a run that are compared: of reads, of writes, of both."""

PAPER = {
    'read_latency_us': (0.0335, 0.0845), 'write_latency_us': (0.0210, 0.0535)}
"""Mean and 90th percentile of the five intervals of a minute of the paper,
which calls its measurements sufficiently stable."""


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
