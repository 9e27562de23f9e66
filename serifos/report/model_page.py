# SPDX-License-Identifier: Apache-2.0
"""A model against the runs of a dataset, on one page.

Predicted against measured, the residuals by count (Figure 2 of the Serifos
paper), and the error by count and by block size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.model import fit_runs
from serifos.model.linear import predict as linear
from serifos.model.model import Model
from serifos.model import quality
from serifos.report import charts
from serifos.report.measured import text
from serifos.report import model_text
from serifos.report import page
from serifos.report import table

_COUNT = 'workloads run together'


def page_of(model: Model, dataset: Dataset) -> str:
    """An HTML page on the valid round of a dataset.

    :raises InputError: where no run has the figure that the model predicts
    """
    samples = [s for s, _ in fit_runs.usable(
        dataset.valid(), model.predicts)]
    if not samples:
        raise errors.InputError(
            f'No run of the dataset has a {model.predicts}, which the model '
            'predicts; there is nothing to draw.')
    data = fit_runs.runs(samples, model.predicts)
    figure, unit = _shown(model.predicts)
    measured, counts = data.y / unit, np.array(data.counts)
    predicted = np.array([model.predict(load) for load in data.loads]) / unit
    off_pct = 100 * (measured / predicted - 1)
    error = table.percent(quality.mre(measured, predicted))
    fitted = table.percent(model.quality.get('mre')) or 'unknown'
    return page.render(
        f'{model.name}: {figure}', _about(model, dataset, len(samples)),
        [page.Section(
            'Predicted against measured',
            f'The mean relative error on these runs is {error}; the '
            f'cross-validated error of the fit is {fitted}. The band is the '
            '90 % interval.', [_against(
                 model, figure, measured, predicted, counts)]),
         page.Section(
             'Residuals by number of workloads',
             'How far what was measured is above what was predicted. Boxes '
             'hold the middle half, whiskers reach from the 5th to the 95th '
             f'percentile; of fewer than {charts.FEW} runs each is a dot.',
             [charts.boxes(
                 [charts.Boxes('', {
                     str(n): off_pct[counts == n] for n in np.unique(counts)
                 })], size_in=(7, 4), xlabel=_COUNT,
                 ylabel='measured above predicted, %')]),
         page.Section(
             'Error by number of workloads and by block size',
             charts=[_error_by(label, of, measured, predicted)
                     for label, of in (
                         (_COUNT, data.counts),
                         ('mean block size of the run, KiB',
                          [_mean_block(sample) for sample in samples]))]),
         page.Section('The model', tables=[table.Table(
             ('', 'term', 'coefficient'), _terms(model))])],
        verdict=model_text.paragraph(model))


def _shown(predicts: str) -> tuple[str, float]:
    """A figure of runs as it is shown, and its unit: latency in ms."""
    return (f'{predicts.removesuffix("_us").replace("_", " ")}, ms', 1e3) if (
        predicts.endswith('_us')) else (predicts, 1.0)


def _about(model: Model, dataset: Dataset, runs: int) -> str:
    """The device, and where and when it was measured."""
    return (f'A model of kind {model.kind} against {runs:,} runs.\n'
            + text(model.device, dataset.header.host,
                   dataset.header.created_at))


def _mean_block(sample: Sample) -> int:
    """The mean block size to the next power of two, KiB."""
    mean = np.mean([w.block_kib for w in sample.workloads])
    return 2 ** round(float(np.log2(max(1.0, mean))))


def _terms(model: Model) -> list[tuple[str, str, Any]]:
    if not isinstance(model.predictor, linear.Linear):
        return [(*line, '') for line in model.predictor.lines()]
    rows = (model.parameters if model.kind == 'consolidation'
            else {'any count': model.parameters})
    return [(label, term, value) for label, row in rows.items()
            for term, value in row.items()]


def _against(model: Model, figure: str, measured: quality.Floats,
             predicted: quality.Floats, counts: quality.Floats) -> str:
    ends = np.array([min(measured.min(), predicted[predicted > 0].min(
        initial=measured.min())), max(measured.max(), predicted.max())])
    low, high = model.relative_interval
    return charts.points(
        [charts.Series(ends, ends, '-', look={'color': charts.GREY}),
         charts.Series(predicted, measured, label=_COUNT, shade=counts)],
        band=(ends, np.maximum(ends * (1 + low), ends[0] / 10),
              ends * (1 + high)), size_in=(7, 5), xscale='log', yscale='log',
        xlabel=f'predicted {figure}',
        ylabel=f'measured {figure}')


def _error_by(label: str, of: Sequence[int], measured: quality.Floats,
              predicted: quality.Floats) -> str:
    errors_by = quality.mre_by(of, measured, predicted)
    return charts.bars(
        [*errors_by], {'': [100 * e for e in errors_by.values()]},
        ylabel=label, xlabel='mean relative error, %')
