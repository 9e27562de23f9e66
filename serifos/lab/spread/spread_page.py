# SPDX-License-Identifier: Apache-2.0
"""The page of how far repeated runs are apart (Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence

from serifos.facts.dataset import Header
from serifos.lab.spread import spread
from serifos.report import charts
from serifos.report import measured
from serifos.report import page
from serifos.report import table

NAMES = {'read_latency_us': 'reads', 'write_latency_us': 'writes',
         'latency_us': 'both'}

PAPER: Mapping[str, tuple[float, float]] = {
    'read_latency_us': (0.0335, 0.0845), 'write_latency_us': (0.0210, 0.0535)}
"""Mean and 90th percentile of the five intervals of a minute of the paper,
which calls its measurements sufficiently stable."""

_LEAST = 1e-5  # an error of 0 has no place on a logarithmic axis
_WORST = 10


def page_of(name: str, found: Sequence[spread.Spread],
            header: Header) -> str:
    """The HTML page.

    :param name: of the dataset
    :raises ToolError: where matplotlib or Jinja2 is missing
    """
    return page.render(
        f'Repeated runs of {name}',
        'The relative standard error of the mean of runs of the same '
        'workloads: their standard deviation, divided by the root of their '
        f'number and by their mean.\n{measured.of(header)}',
        [page.Section(
            'The distribution of the errors',
            'The share of the configurations whose error is below a bound.',
            [_distribution(found)], [table.Table(
                ('requests', 'configurations', 'runs', 'mean', 'median',
                 '90th percentile', "the paper's mean",
                 "the paper's 90th percentile"),
                [(NAMES[one.figure], len(one.repeated), one.runs,
                  *(table.percent(share, '.2f') for share in (
                      one.mean, one.median, one.p90,
                      *PAPER.get(one.figure, (None, None)))))
                 for one in found])]),
         page.Section(
             'The least sure',
             'The configurations of the largest errors. A workload is '
             'written as it is given to predict, '
             'write_pct:block_kib:iodepth:random_pct.',
             tables=[_worst(one) for one in found])],
        verdict=verdict(found))


def verdict(found: Sequence[spread.Spread]) -> str:
    """Whether the runs repeat as well as the paper's."""
    said = ' and '.join(f'{_percent(one.p90)} for {NAMES[one.figure]}'
                        for one in _apart(found))
    said = ('Of nine configurations in ten the mean is sure to '
            f'{said} (a standard error). ')
    theirs = [one for one in found if one.figure in PAPER]
    if not theirs:
        return said + 'Reads and writes were not measured apart.'
    unsure = [one for one in theirs if one.p90 > PAPER[one.figure][1]]
    if not unsure:
        return said + "That is at least as stable as the paper's runs."
    bounds = ' and '.join(f'{_percent(PAPER[one.figure][1])} for '
                          f'{NAMES[one.figure]}' for one in unsure)
    return said + (f"That is less stable than the paper's runs, {bounds}: "
                   'measure longer, or on a device that does nothing else.')


def _percent(fraction: float) -> str:
    return f'{100 * fraction:.3g} %'


def _apart(found: Sequence[spread.Spread]) -> Sequence[spread.Spread]:
    """Reads and writes; both together where they are not known apart."""
    return [one for one in found if one.figure in PAPER] or found


def _distribution(found: Sequence[spread.Spread]) -> str:
    return charts.points(
        [charts.cumulative(
            [100 * max(error, _LEAST) for error in one.errors],
            NAMES[one.figure], color=charts.SERIES[i])
         for i, one in enumerate(found)],
        level=0.9, size_in=(9, 4), xscale='log', ylim=(0, 1.02),
        xlabel='relative standard error of the mean, %',
        ylabel='share of the configurations')


def _worst(of: spread.Spread) -> table.Table:
    return table.Table(
        ('workloads', 'runs', 'mean, ms', 'error'),
        [(one.words, len(one.values),
          sum(one.values) / len(one.values) / 1e3,
          table.percent(one.rse, '.2f')) for one in of.repeated[:_WORST]],
        NAMES[of.figure])
