# SPDX-License-Identifier: Apache-2.0
"""serifos-model fit with a search for the settings of a kind."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import math
import pathlib
from typing import Any
from typing import TYPE_CHECKING

from serifos.cmd.model import fit as model_fit
from serifos.cmd import options as cmd_options
from serifos.cmd import progress
from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Header
from serifos.files import atomic
from serifos.files import documents
from serifos.model import fit_runs
from serifos.model import kinds
from serifos.model.model import Model

if TYPE_CHECKING:  # scipy and statsmodels take a second to import
    from serifos.lab.tuning import search
    from serifos.lab.tuning import tuner


class Fit(model_fit.Fit):
    """Fit a model to a dataset and write it."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--tune', action='store_true',
            help='search for the best values of the settings that --set does '
            'not give; the results are kept in NAME.tune.jsonl beside the '
            'model, and NAME.tune.html shows the search')
        add_arguments(parser)
        return parser

    def model(self, args: argparse.Namespace, dataset: Dataset,
              given: Mapping[str, float],
              fitted: model_fit.Fitted) -> Model:
        if not args.tune:
            refuse_without_tune(args)
            return fitted(given)
        from serifos.model import quality
        out = pathlib.Path(args.out)
        with_settings = [name for name, kind in kinds.every().items()
                         if kind.settings]
        if args.kind not in with_settings:
            raise errors.InputError(
                f'There is nothing to tune in kind {args.kind}; give --kind '
                f'{" or ".join(with_settings)}.')
        standard = fitted(given)  # refuses what cannot be fitted at all
        with ready(
                args, out.with_suffix('.tune.jsonl'),
                {'dataset': {'sha256': documents.digest(args.dataset)},
                 'seed': args.seed, 'folds': quality.FOLDS}) as searcher:
            trace = searcher.search(
                args.kind, args.predicts,
                fit_runs.runs(dataset.valid(), args.predicts), args.seed,
                given)
        model = fitted({**given, **trace.settings(trace.best)})
        self._draw(out.with_suffix('.tune.html'), model, trace,
                   dataset.header)
        return dataclasses.replace(model, quality={
            **model.quality, 'tuning': {
                'rmse_standard': _known(trace.rmse[trace.standard]),
                'rmse': _known(trace.rmse[trace.best]),
                'mre_standard': standard.quality['mre'],
                'evaluated': len(trace.rmse),
                'iterations': len(trace.steps) - 1}})

    def _draw(self, path: pathlib.Path, model: Model,
              trace: search.Trace, header: Header) -> None:
        from serifos.lab.tuning import tuning_page as tune_report
        from serifos.report import measured
        try:
            atomic.replace(path, tune_report.page_of(
                model, trace, measured.of(header)))
            self.note(f'The search is drawn in {path.resolve()}.')
        except errors.ToolError as exc:  # the search is worth keeping
            self.say(str(exc))


def _known(rmse: float) -> float | None:
    return rmse if math.isfinite(rmse) else None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options that :func:`options` reads."""
    group = parser.add_argument_group('the search for settings')
    cmd_options.add_number(group, '--iterations', 10, 'N',
                           'stop after N iterations')
    cmd_options.add_number(
        group, '--least-gain', 0.0, 'FRACTION',
        'stop also where three iterations in a row lower the error by less '
        'than this, such as 0.001; the first ones seldom lower it; 0 makes '
        'all iterations')
    cmd_options.add_number(
        group, '--splits', 4, 'K',
        'values tried of each setting between two known ones, in each '
        'iteration')
    cmd_options.add_number(
        group, '--explorations', 5, 'N',
        'search next around the N best settings found so far')
    cmd_options.add_jobs(group)


def options(args: argparse.Namespace) -> search.SearchOptions:
    """:raises InputError: where one is out of bounds"""
    from serifos.lab.tuning import search
    cmd_options.check_jobs(args.jobs)
    return search.SearchOptions(
        args.splits, args.explorations, args.iterations, args.least_gain)


def refuse_without_tune(args: argparse.Namespace) -> None:
    """:raises InputError: where there are options of a search"""
    given = cmd_options.given(args, cmd_options.standard(add_arguments))
    if given:
        raise errors.InputError(
            f'{", ".join(given)} would change nothing; give --tune to search '
            'for settings, too.')


@contextlib.contextmanager
def ready(args: argparse.Namespace, path: pathlib.Path,
          facts: Mapping[str, Any]) -> Iterator[tuner.Searcher]:
    """A searcher as :func:`.tuner.ready` makes it, with progress shown."""
    from serifos.lab.tuning import tuner
    with (progress.Stop() as stop, progress.shown() as shown,
          tuner.ready(options(args), args.jobs, path, facts, shown,
                      stop) as searcher):
        yield searcher
