# SPDX-License-Identifier: Apache-2.0
"""The runs of datasets as points, and a page of what a benchmark covers."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
import math
import statistics

import numpy as np

from serifos.facts import dataset
from serifos.facts.workload import Workload
from serifos.lab.coverage import coverage
from serifos.lab.coverage import words
from serifos.report import charts
from serifos.report import measured
from serifos.report import page
from serifos.report import table

CHARACTERISTICS = ('count', 'write_pct', 'log2 block_kib', 'log2 iodepth',
                   'random_pct', 'log think_time_us',
                   'log latency_us')
"""Of a run: means over its workloads. The latency only where all runs are
of one machine, for then it is a property of the workload too."""


WRITTEN = {'all': lambda w: 1.0, 'reads': lambda w: 100 - w.write_pct,
           'writes': lambda w: w.write_pct}
"""What a workload counts for, where all requests, or reads, or writes do."""


def points(datasets: Sequence[dataset.Dataset], which: str = 'all'
           ) -> tuple[list[coverage.Floats], tuple[str, ...]]:
    """A float[n, m] for each dataset, and the names of the columns.

    :param which: all, reads or writes: with either of the last two, the
        runs that have such requests, and means weighted by them
    """
    header, *others = (d.header for d in datasets)
    same = not any(header.differences(other) for other in others)
    width = len(CHARACTERISTICS) - (not same)
    weight = WRITTEN[which]
    return ([np.array([_point(s, weight)[:width] for s in d.valid()
                       if any(map(weight, s.workloads))])
             .reshape(-1, width) for d in datasets],
            CHARACTERISTICS[:width])


def _point(sample: dataset.Sample, weight: Callable[[Workload], float]
           ) -> tuple[float, ...]:
    weights = [*map(weight, sample.workloads)]

    def mean(name: str) -> float:
        return statistics.fmean(
            (getattr(w, name) for w in sample.workloads), weights)
    return (float(sample.count), mean('write_pct'),
            math.log2(mean('block_kib')), math.log2(mean('iodepth')),
            mean('random_pct'), math.log1p(mean('think_time_us')),
            math.log(sample.latency_us))


def page_of(found: coverage.Coverage, labels: Sequence[str],
            rows: Sequence[Sequence[object]],
            header: Sequence[str], files: Sequence[dataset.Header]) -> str:
    """The HTML page.

    :param labels: of the datasets, the benchmark first
    :param rows: of the table of what is not covered, under the header
    :param files: the first lines of the datasets
    :raises ToolError: where matplotlib or Jinja2 is missing
    """
    return page.render(
        f'What {labels[0]} covers',
        f'{len(found.owners)} runs in {found.clusters.max() + 1} clusters of '
        f'{found.components.shape[1]} independent components of '
        f'{", ".join(found.names)}.',
        [page.Section(
            'Coverage', words.criterion(found), tables=[table.Table(
                ('dataset', 'runs', 'covered', 'device', 'measured'),
                [(label, int((found.owners == i).sum()),
                  f'{"at most " * found.is_unsure(i)}'
                  f'{table.percent(found.share(i), ".0f")}',
                  measured.device_of(file.device),
                  measured.place_of(file.host, file.created_at))
                 for i, (label, file) in enumerate(zip(labels, files))])]),
         page.Section(
             'The clusters', 'Ward distances between their centres. Red: '
             'the benchmark has no run there.', [_dendrogram(found)]),
         page.Section(
             'The runs', 'On the first two components. Dots are the '
             'benchmark; crosses are the others, red where not covered.',
             [_scatter(found)]),
         page.Section('Not covered', '' if rows else words.whole(
             found, labels), tables=[_in_ms(header, rows)] if rows else [])],
        verdict=words.verdict(found, labels))


def _in_ms(header: Sequence[str],
           rows: Sequence[Sequence[object]]) -> table.Table:
    """What is not covered, latencies as pages show them."""
    at = [*header].index('latency_us')
    return table.Table(
        [*header[:at], 'latency, ms', *(name.replace('_', ' ')
                                        for name in header[at + 1:])],
        [[*row[:at], float(str(row[at])) / 1e3, *row[at + 1:]]
         for row in rows])


def _dendrogram(found: coverage.Coverage) -> str:
    names, colours = [], []
    for c in range(found.clusters.max() + 1):
        inside = found.clusters == c
        own = int((inside & (found.owners == 0)).sum())
        names.append(f'cluster {c + 1}: {own} of the benchmark, '
                     f'{int(inside.sum()) - own} others')
        colours.append(charts.BLUE if own else charts.RED)
    return charts.dendrogram(found.tree, names, colours, xlabel='distance')


def _scatter(found: coverage.Coverage) -> str:
    x = found.components[:, 0]
    y = (found.components[:, 1] if found.components.shape[1] > 1
         else np.zeros(len(x)))
    own, covered = found.owners == 0, found.covered
    return charts.points(
        [charts.Series(x[which], y[which], form, label,
                       look={'color': colour})
         for which, colour, form, label in (
             (own, charts.BLUE, 'o', 'benchmark'),
             (~own & covered, charts.LIGHT, 'x', 'covered'),
             (~own & ~covered, charts.RED, 'x', 'not covered'))],
        size_in=(8, 5), xlabel='component 1', ylabel='component 2')
