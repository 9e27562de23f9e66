# SPDX-License-Identifier: Apache-2.0
"""serifos-model calibrate: a queueing network from end-to-end times."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from cliff import lister

from serifos.cmd import app
from serifos.cmd import options
from serifos.cmd import output
from serifos.cmd import paging
from serifos.facts import dataset
from serifos.facts import fields
from serifos.files import atomic
from serifos.files import documents
from serifos.model.queueing import predict as queueing

if TYPE_CHECKING:  # scipy and statsmodels take a second to import
    from serifos.lab.calibrate import scenarios

_TIMES = tuple(name for name in dataset.FIGURES if name.endswith('latency_us'))


class Calibrate(app.Fails, lister.Lister):
    """Calibrate a queueing network and print its errors.

    The network is fitted to the end-to-end response times of a dataset and
    written as a model of kind queueing. Printed is its error by class of
    requests: on the runs themselves, on runs held out between them, beyond
    those it was calibrated on, in clients and in volumes, and on the runs
    themselves by clients and by size of a request.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'datasets', nargs='+', metavar='DATASET',
            help='the runs, NAME.jsonl, as build writes them; with several '
            'datasets, of one machine and targets of different sizes, times '
            'depend on the size, and the model is of the largest')
        parser.add_argument('--out', required=True, metavar='MODEL',
                            help='write the model to this file, NAME.json')
        parser.add_argument('--name', help='name of the model (default: the '
                            'name of the file without .json)')
        parser.add_argument(
            '--predicts', choices=_TIMES, default='latency_us',
            metavar='FIGURE', help='figure of a run that the model predicts: '
            f'{", ".join(_TIMES)} (default: latency_us)')
        parser.add_argument(
            '--stations', type=int, choices=(1, 2), default=2,
            help='1: model only the cache; 2: model the cache and the media '
            'where the times tell them apart (default: 2)')
        options.add_number(parser, '--alpha', 0.05, 'P',
                           'remove terms whose p-value is above this')
        options.add_seed(parser, 'the cross-validation and the simulation')
        paging.add_argument(parser, 'the error of every run')
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        from serifos.lab.calibrate import calibrate
        from serifos.lab.calibrate import calibrate_page as calibrate_report
        from serifos.lab.calibrate import scenarios
        from serifos.model import kinds
        from serifos.report import measured as measured_at
        args, out = parsed_args, pathlib.Path(parsed_args.out)
        fields.refuse_outside('--seed', args.seed, 0)
        atomic.refuse_unwritable(out, 'model')
        paging.refuse_absurd(args)
        given = kinds.valid_settings(queueing.QUEUEING.settings, {
            'stations': args.stations, 'alpha': args.alpha})
        datasets = [documents.read_dataset(path) for path in args.datasets]
        measured = calibrate.runs(datasets, args.predicts)
        largest = max(range(len(datasets)), key=lambda i: float(
            datasets[i].header.device.get('size_gib') or 0))
        model = calibrate.model(
            measured, datasets[largest].header, args.name or out.stem,
            args.predicts, given, args.seed,
            {'sha256': documents.digest(args.datasets[largest])})
        measured = dataclasses.replace(
            measured, cached_gib=model.parameters.get('cached_gib', {}))
        rows = scenarios.scenarios(measured, given, args.seed)
        shapes = scenarios.shapes(measured.data.samples)
        if shapes:
            rows.append(scenarios.in_order(measured, model.parameters, shapes,
                                           args.seed))
        groups = scenarios.grouped(measured, model.parameters)
        documents.write_model(out, model)
        said = [*model.predictor.lines(), *(
            (f'p1 of {label}', its.words)
            for label, its in measured.hits().items()), *(
            (f'gamma shape of {name}s', f'{shape:.3g}')
            for name, shape in shapes.items()), *(
            (f'R² of {label}', f'{value:.4f}')
            for label, value in model.quality['r2'].items())]
        for label, text in said:
            self.note(f'{label}: {text}')
        paging.write(args, lambda: calibrate_report.page_of(
            model, rows, groups, said,
            measured_at.of(datasets[largest].header)), self.say)
        return _table([*rows, *groups])


def _table(rows: list[scenarios.Scenario]) -> Any:
    from serifos.lab.calibrate import scenarios
    columns = scenarios.columns(rows)
    return (('scenario', 'reach', 'runs', *columns, 'mean', 'outstanding'),
            [(row.name, row.reach, row.runs, *map(output.percent, (
                *map(row.columns.get, columns), row.mean, row.outstanding)))
             for row in rows])
