# SPDX-License-Identifier: Apache-2.0
"""The error of a calibrated queueing network: Figures 5, 7 and 11.

Of Noorshams, Rostami, Kounev, Reussner: I/O Performance Modeling of
Virtualized Storage Systems.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import itertools

from serifos.facts import phrases
from serifos.lab.calibrate import scenarios
from serifos.model.model import Model
from serifos.model.queueing import predict as queueing
from serifos.report import charts
from serifos.report import model_text
from serifos.report import page
from serifos.report import table

_COLOURS = dict(zip(queueing.CLASSES, (
    charts.BLUE, charts.GREEN, charts.RED, charts.PURPLE), strict=True))


def page_of(model: Model, rows: Sequence[scenarios.Scenario],
            groups: Sequence[scenarios.Scenario],
            said: Iterable[tuple[str, str]], about: str) -> str:
    """The HTML page.

    :param groups: the errors by clients and by size of a request
    :param about: the device, where and when it was measured
    :param said: what a person can check of the network, label and text
    :raises ToolError: where matplotlib or Jinja2 is missing
    """
    columns = scenarios.columns(rows)
    classes = [name for name in columns if name in queueing.CLASSES]
    return page.render(
        f'{model.name}: a queueing network', 'A network that predicts '
        f'{model.predicts}, calibrated from end-to-end response times.\n'
        f'{about}', [
            page.Section('The network', tables=[
                table.Table(('part', 'value'), [*said])]),
            page.Section(
                'Mean errors', 'By class of requests, beside those of kind '
                'outstanding fitted to the same runs. Of some runs it is '
                'known whether the cache served most of their requests '
                '(cached) or not (uncached).' if columns != classes else
                'By class of requests, beside those of kind outstanding '
                'fitted to the same runs.',
                tables=[_table(rows, columns)]),
            page.Section(
                'Errors by clients and by size of a request', 'On the runs '
                'that it was fitted to. A box is the middle half of the '
                'runs, its whiskers are 5 and 95 %.', [charts.boxes(
                    [charts.Boxes(label, {
                        row.reach.removesuffix(scenarios.KIB): _errors(
                            itertools.chain(*row.pairs.values()))
                        for row in groups if row.name == name})
                     for name, label in (
                         (scenarios.CLIENTS, 'by clients'),
                         (scenarios.SIZES, 'by mean size of a request, KiB'))],
                    sharey=True, ylabel='error, %')],
                tables=[_table(groups, columns)]),
            page.Section(
                'Errors of the runs', 'Each dot is a run. Above 0, the '
                'prediction is higher than the measurement.',
                [charts.grid(
                    {f'{row.name}, {row.reach}': [
                        _dots(label, pairs)
                        for label, pairs in row.pairs.items()]
                     for row in rows},
                    xlabel='measured, ms', ylabel='error, %',
                    xscale='log')])],
        verdict=f'{model_text.paragraph(model)} {_beside(rows)}')


def _beside(rows: Sequence[scenarios.Scenario]) -> str:
    """How it compares with the kind that needs no network."""
    better = sum(row.mean < row.outstanding for row in rows)
    return (f'It is closer than kind outstanding in {better} of '
            f'{phrases.count(len(rows), "scenario")}.' if rows else '')


def _table(rows: Sequence[scenarios.Scenario],
           columns: Sequence[str]) -> table.Table:
    return table.Table(
        ('scenario', 'reach', 'runs', *map(_words, columns), 'mean',
         'outstanding'),
        [(row.name, row.reach, row.runs, *map(table.percent, (
            *map(row.columns.get, columns), row.mean, row.outstanding)))
         for row in rows])


def _dots(label: str,
          pairs: Sequence[tuple[float, float]]) -> charts.Series:
    return charts.Series(
        [measured / 1e3 for measured, _ in pairs], _errors(pairs),
        label=_words(label), look={'color': _COLOURS[label]})


def _errors(pairs: Iterable[tuple[float, float]]) -> list[float]:
    return [100 * (predicted / measured - 1) for measured, predicted in pairs]


def _words(label: str) -> str:
    return label.replace('_', ' ')
