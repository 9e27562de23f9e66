# SPDX-License-Identifier: Apache-2.0
"""Page and sentences about the coverage by a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from serifos.facts import dataset
from serifos.lab.coverage import coverage
from serifos.report import charts
from serifos.report import measured
from serifos.report import page
from serifos.report import table


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
        f'Coverage by {labels[0]}',
        f'{len(found.owners)} runs in {found.clusters.max() + 1} clusters of '
        f'{found.components.shape[1]} independent components of '
        f'{", ".join(found.names)}.',
        [page.Section(
            'Coverage', criterion(found), tables=[table.Table(
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
         page.Section('Not covered', '' if rows else whole(
             found, labels), tables=[_in_ms(header, rows)] if rows else [])],
        verdict=verdict(found, labels))


def _in_ms(header: Sequence[str],
           rows: Sequence[Sequence[object]]) -> table.Table:
    """The runs that are not covered, latencies in ms."""
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


def summary(found: coverage.Coverage, owner: int, benchmark: str,
            name: str) -> str:
    """The share that it covers of a dataset, by cluster and by distance."""
    if found.is_unsure(owner):
        return (f'{benchmark} covers at most {100 * found.share(owner):.0f} % '
                f'of {name}, by cluster only: {few(found)}')
    if found.share(owner) == 1:
        return f'{benchmark} covers every run of {name}.'
    its = found.owners == owner
    return (f'{benchmark} covers {100 * found.share(owner):.0f} % of {name}: '
            f'{100 * found.by_cluster[its].mean():.0f} % by cluster, '
            f'{100 * found.by_distance[its].mean():.0f} % by distance (up to '
            f'{found.reach:.3g} standard deviations).')


def share(found: coverage.Coverage) -> str:
    """The share that it covers of the one other dataset."""
    if found.is_unsure(1):
        return (f'at most {100 * found.share(1):.0f} % covered, by cluster '
                f'only: {_too_few(found)}.')
    return f'{100 * found.share(1):.0f} % covered.'


def criterion(found: coverage.Coverage) -> str:
    """The rule by which a run is covered."""
    if found.reach is None:
        return ('A run may be covered where the benchmark has one in the same '
                f'cluster: {few(found)}')
    return ('A run is covered where the benchmark has one in the same '
            f'cluster, at a distance of no more than {found.reach:.3g} '
            'standard deviations.')


def few(found: coverage.Coverage) -> str:
    """A sentence for a benchmark of too few runs, and what helps."""
    return (f'{_too_few(found)} to measure how far a benchmark reaches; give '
            f'one of {coverage.ENOUGH} or more, or --distance.')


def whole(found: coverage.Coverage, labels: Sequence[str]) -> str:
    """A sentence where no run is known to be uncovered."""
    if _is_any_unsure(found, labels):
        return f'No run for certain: {few(found)}'
    return 'Every run is covered.'


def verdict(found: coverage.Coverage, labels: Sequence[str]) -> str:
    """A sentence on the runs that the benchmark has nothing like."""
    shares = {label: found.share(i) for i, label in enumerate(labels) if i}
    unsure = _is_any_unsure(found, labels)
    gaps = [f'{math.ceil(100 * (1 - covered))} % of {label}'
            for label, covered in shares.items() if covered < 1]
    if gaps:
        return (f'{labels[0]} leaves gaps: {"at least " * unsure}'
                f'{", ".join(gaps)} is unlike any of its runs, and what its '
                'model predicts there was never measured. Measure such runs '
                'too; they are at the end of this page.')
    if unsure:
        return f'Not decided: {few(found)}'
    return (f'{labels[0]} covers all of {", ".join(shares)}: a model of it '
            'was fitted to runs like every one of them.')


def _is_any_unsure(found: coverage.Coverage, labels: Sequence[str]) -> bool:
    return any(found.is_unsure(i) for i in range(1, len(labels)))


def _too_few(found: coverage.Coverage) -> str:
    runs = ('1 run is' if found.different == 1 else
            f'{found.different} different runs are')
    return f'{runs} too few for distances'
