# SPDX-License-Identifier: Apache-2.0
"""serifos-model fit with a search for the settings of a kind."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
import dataclasses
import math
import pathlib
from typing import TYPE_CHECKING

from serifos.cmd.model import fit as model_fit
from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Header
from serifos.files import atomic
from serifos.files import documents
from serifos.lab.tuning import options as tuning_options
from serifos.model import fit_runs
from serifos.model import kinds
from serifos.model.model import Model

if TYPE_CHECKING:
    from serifos.lab.tuning import search


class Fit(model_fit.Fit):
    """Fit a model to a dataset and write it."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            '--tune', action='store_true',
            help='search for the best values of the settings that --set does '
            'not give; the results are kept in NAME.tune.jsonl beside the '
            'model, and NAME.tune.html shows the search')
        tuning_options.add_arguments(parser)
        return parser

    def model(self, args: argparse.Namespace, dataset: Dataset,
              given: Mapping[str, float],
              fitted: model_fit.Fitted) -> Model:
        if not args.tune:
            tuning_options.refuse_without_tune(args)
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
        with tuning_options.ready(
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
