# SPDX-License-Identifier: Apache-2.0
"""The page of a search for the settings of a kind.

The points of each iteration, as Figure 7 of Noorshams et al. has them, and
the error that they lead to.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses
import itertools
import math
from typing import Any

from serifos.lab.tuning import search
from serifos.model.model import Model
from serifos.model import verdict as model_verdict
from serifos.report import charts
from serifos.report import page
from serifos.report import table

_BEST = 10
_WORTH = 0.05  # of the RMSE


def page_of(model: Model, trace: search.Trace, about: str) -> str:
    """An HTML page on the search that chose a model's settings.

    :param about: the device, where and when it was measured
    """
    found = trace.rmse
    best = sorted(found, key=lambda point: (found[point], point))[:_BEST]
    numbers = range(len(trace.parameters))
    pairs = [*itertools.combinations(numbers, 2)] or [(0, None)]
    return page.render(
        f'{model.name}: the settings of kind {model.kind}',
        f'{len(found)} settings were evaluated in {len(trace.steps) - 1} '
        'iterations by the mean RMSE of a 10-fold cross-validation. The '
        f'best is {table.percent(trace.gain)} below that of the standard.\n'
        f'{about}',
        [page.Section(
            'The error, iteration by iteration',
            'Each dot is a setting when it was evaluated; the line is the '
            'best so far, the dashed one the standard.', [_errors(trace)]),
         page.Section(
             'The points of the search',
             'Lighter dots were evaluated later. Rings are the pivots around '
             'which the space was split, the star is the chosen one, the '
             'cross the standard.',
             [_points(trace, i, j) for i, j in pairs]),
         page.Section('The best settings', tables=[table.Table(
             (*(one.name for one in trace.parameters), 'RMSE'),
             [(*(f'{value:.6g}' for value in point), found[point])
              for point in dict.fromkeys((*best, trace.standard))],
             'The last row is the standard, where it is not among them.')])],
        verdict=verdict(model, trace))


def verdict(model: Model, trace: search.Trace) -> str:
    """A sentence on the gain of the search and on the model."""
    found = ('Not worth it: none of the settings that were tried is better '
             'than the standard' if trace.best == trace.standard else
             ('Worth it: ' if trace.gain >= _WORTH else 'Hardly worth it: ')
             + 'the settings that were found lower the cross-validated error '
             f'(RMSE) by {model_verdict.percent(trace.gain)}')
    return (f'{found}. The model is {model_verdict.verdict(model).headline}.')


def _errors(trace: search.Trace) -> str:
    dots = [(number, value) for number, step in enumerate(trace.steps)
            for value in step.evaluated.values() if math.isfinite(value)]
    iterations = range(len(trace.steps))
    return charts.points(
        [charts.Series(*zip(*dots), look={'color': charts.LIGHT}),
         charts.Series(iterations, trace.lowest, '-',
                       look={'color': charts.BLUE})],
        level=trace.rmse[trace.standard], xlabel='iteration',
        ylabel='mean RMSE', yscale='log', xticks=iterations)


def _points(trace: search.Trace, first: int, second: int | None) -> str:
    """The points over two parameters, or over one and the RMSE."""
    def series(points: Iterable[search.Point], form: str = 'o',
               **look: object) -> charts.Series:
        points = [*points]
        return charts.Series(
            [point[first] for point in points],
            [trace.rmse[point] if second is None else point[second]
             for point in points], form, look=look)
    iteration_of = {point: number for number, step in enumerate(trace.steps)
                    for point in step.evaluated}
    pivots = sorted({p for step in trace.steps for p in step.pivots})
    y = ({'ylabel': 'mean RMSE', 'yscale': 'log'} if second is None
         else _axis('y', trace, second))
    return charts.points(
        [dataclasses.replace(series(iteration_of), label='iteration',
                             shade=[*iteration_of.values()]),
         series(pivots, mfc='none', mec=charts.RED, ms=7),
         series([trace.standard], 'x', color='black', ms=9),
         series([trace.best], '*', color=charts.RED, ms=14)],
        **_axis('x', trace, first), **y)


def _axis(axis: str, trace: search.Trace, number: int) -> dict[str, Any]:
    """A log scale for a parameter that reaches down to 0."""
    one = trace.parameters[number]
    label = {f'{axis}label': one.name}
    if one.whole or one.least != 0:
        return label
    return {**label, f'{axis}scale': float(min(
        (point[number] for point in trace.rmse if point[number] > 0),
        default=one.greatest))}
