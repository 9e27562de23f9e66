# SPDX-License-Identifier: Apache-2.0
"""How did a search for settings go? One page to look at.

The points of each iteration, as Figure 7 of Noorshams et al. has them, and
the error that they lead to.
"""

from __future__ import annotations

from collections.abc import Sequence
import itertools
import math
from typing import Any

from serifos.model import model as mm
from serifos.model import parameter as pm
from serifos.model import tune
from serifos import page

_BEST = 10


def page_of(model: mm.Model, trace: tune.Trace) -> str:
    """An HTML page on the search that chose a model's settings."""
    found = trace.rmse
    best = sorted(found, key=lambda point: (found[point], point))[:_BEST]
    numbers = range(len(trace.parameters))
    pairs = [*itertools.combinations(numbers, 2)] or [(0, None)]
    return page.render(
        f'{model.name}: the settings of kind {model.kind}',
        f'{len(found)} settings were evaluated in {len(trace.steps) - 1} '
        'iterations by the mean RMSE of a 10-fold cross-validation. The '
        f'best is {trace.gain:.1%} below that of the standard.',
        [page.Section(
            'The error, iteration by iteration',
            'Each dot is a setting when it was evaluated; the line is the '
            'best so far, the dashed one the standard.', [_errors(trace)]),
         page.Section(
             'Where it looked',
             'Darker dots were evaluated first. Rings are the pivots around '
             'which the space was split, the star is what was chosen, the '
             'cross the standard.',
             [_points(trace, i, j) for i, j in pairs]),
         page.Section('The best settings', tables=[page.Table(
             (*(one.name for one in trace.parameters), 'RMSE'),
             [(*(f'{value:.6g}' for value in point), found[point])
              for point in [*dict.fromkeys((*best, trace.standard))]],
             'The last row is the standard, where it is not among them.')])])


def _errors(trace: tune.Trace) -> str:
    figure = page.figure(7, 4)
    axes = figure.subplots()
    dots = [(number, value) for number, step in enumerate(trace.steps)
            for value in step.evaluated.values() if math.isfinite(value)]
    axes.scatter(*zip(*dots), s=8, color='#a9bdd6', lw=0)
    axes.plot(range(len(trace.steps)), trace.lowest, color='#1f4e79')
    axes.axhline(trace.rmse[trace.standard], color='#8c95a0', lw=1, ls='--')
    axes.set(xlabel='iteration', ylabel='mean RMSE', yscale='log')
    axes.set_xticks(range(len(trace.steps)))
    return page.svg(figure)


def _points(trace: tune.Trace, first: int, second: int | None) -> str:
    """The points over two parameters, or over one and the RMSE."""
    def place(points: Sequence[tune.Point]) -> tuple[list[float], ...]:
        return ([point[first] for point in points],
                [trace.rmse[point] if second is None else point[second]
                 for point in points])
    figure = page.figure(7, 4.5)
    axes = figure.subplots()
    step_of = {point: number for number, step in enumerate(trace.steps)
               for point in step.evaluated}
    pivots = sorted({p for step in trace.steps for p in step.pivots})
    dots = axes.scatter(*place([*step_of]), c=[*step_of.values()], s=12,
                        cmap='viridis')
    axes.scatter(*place(pivots), s=50, facecolors='none',
                 edgecolors='#c0392b', lw=0.8)
    axes.plot(*place([trace.standard]), 'x', color='black', ms=9)
    axes.plot(*place([trace.best]), '*', color='#c0392b', ms=14)
    figure.colorbar(dots, label='iteration')
    _scale(axes, 'x', trace, first)
    if second is None:
        axes.set(ylabel='mean RMSE', yscale='log')
    else:
        _scale(axes, 'y', trace, second)
    return page.svg(figure)


def _scale(axes: Any, axis: str, trace: tune.Trace, number: int) -> None:
    """What reaches down to 0 is searched in ever smaller steps there."""
    one: pm.Parameter = trace.parameters[number]
    axes.set(**{f'{axis}label': one.name})
    if one.whole or one.least != 0:
        return
    least = min((point[number] for point in trace.rmse if point[number] > 0),
                default=one.greatest)
    getattr(axes, f'set_{axis}scale')('symlog', linthresh=least)
