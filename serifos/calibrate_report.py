# SPDX-License-Identifier: Apache-2.0
"""How far can a calibrated network be trusted? A page like Figure 11.

Of Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of
Virtualized Storage Systems.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import itertools
import math
from typing import Any

from serifos.model import model as mm
from serifos.model import queueing
from serifos.model import queueing_scenarios as qs
from serifos import page

_COLOURS = dict(zip(queueing.CLASSES, (
    '#4878a8', '#8fb3d3', '#b4552d', '#e0a487'), strict=True))
_COLUMNS = 2


def page_of(model: mm.Model, rows: Sequence[qs.Scenario],
            said: Iterable[tuple[str, str]]) -> str:
    """The HTML page.

    :param said: what a person can check of the network, label and text
    :raises ToolError: where matplotlib or Jinja2 is missing
    """
    classes = [label for label in queueing.CLASSES
               if any(label in row.asked for row in rows)]
    return page.render(
        f'{model.name}: a queueing network', f'Of {model.predicts}, '
        'calibrated from end-to-end response times.', [
            page.Section('The network', tables=[
                page.Table(('what', 'is'), [*said])]),
            page.Section(
                'Mean errors', 'Of the classes of requests, and of kind '
                'outstanding fitted to the same runs.', tables=[page.Table(
                    ('scenario', 'reach', 'runs', *map(_words, classes),
                     'mean', 'outstanding'),
                    [(row.name, row.reach, row.runs, *map(_percent, (
                        *map(row.mre.get, classes), row.mean,
                        row.outstanding))) for row in rows])]),
            page.Section(
                'Errors of the runs', 'A dot is a run: how much more, or '
                'less, is predicted than was measured.', [_errors(rows)])])


def _errors(rows: Sequence[qs.Scenario]) -> str:
    deep = math.ceil(len(rows) / _COLUMNS)
    figure = page.figure(9, 2.6 * deep + 0.3)
    grid = figure.subplots(deep, _COLUMNS, sharex=True, sharey=True,
                           squeeze=False)
    drawn: dict[str, Any] = {}
    for row, axes in itertools.zip_longest(rows, grid.flat):
        if row is None:
            axes.set_visible(False)
            continue
        axes.axhline(0, color='#8c95a0', lw=1)
        for label, pairs in row.asked.items():
            drawn[label] = axes.scatter(
                [measured / 1e3 for measured, _ in pairs],
                [100 * (predicted / measured - 1)
                 for measured, predicted in pairs],
                s=12, color=_COLOURS[label])
        axes.set(xscale='log', title=f'{row.name}, {row.reach}')
        axes.title.set_fontsize(10)
        axes.tick_params(labelbottom=True)
    figure.supxlabel('measured, ms', fontsize=10)
    figure.supylabel('error, %', fontsize=10)
    figure.legend([*drawn.values()], [*map(_words, drawn)],
                  loc='outside upper center', ncols=len(drawn))
    return page.svg(figure)


def _words(label: str) -> str:
    return label.replace('_', ' ')


def _percent(share: float | None) -> str | None:
    return None if share is None else f'{share:.1%}'
