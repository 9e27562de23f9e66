# SPDX-License-Identifier: Apache-2.0
"""How well does a model describe a dataset? One page to look at.

Predicted against measured, the residuals by count (Figure 2 of the Serifos
paper), and the error by count and by block size.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from serifos import errors
from serifos.model import dataset as ds
from serifos.model import fit
from serifos.model import linear
from serifos.model import model as mm
from serifos.model import quality
from serifos import page


def page_of(model: mm.Model, dataset: ds.Dataset) -> str:
    """An HTML page on the valid round of a dataset.

    :raises InputError: where no run has the figure that the model predicts
    """
    samples = [s for s in dataset.valid() if s.figure(model.predicts)]
    if not samples:
        raise errors.InputError(
            f'No run of the dataset has a {model.predicts}, which the model '
            'predicts; there is nothing to draw.')
    data = fit.runs(samples, model.predicts)
    predicted = np.array([model.predict(load) for load in data.loads])
    counts = data.counts
    blocks = [_mean_block(sample) for sample in samples]
    return page.render(
        f'{model.name}: {model.predicts}',
        f'A model of kind {model.kind} against {len(samples)} runs.',
        [page.Section(
            'Predicted against measured',
            f'Mean relative error on these runs '
            f'{quality.mre(data.y, predicted):.1%}; cross-validated when it '
            f'was fitted {_percent(model.quality.get("mre"))}. The band is '
            'the 90 % interval.',
            [_against(model, data.y, predicted, counts)]),
         page.Section(
             'Residuals by number of workloads',
             'Measured minus predicted. Boxes hold the middle half, whiskers '
             'reach from the 5th to the 95th percentile.',
             [_residuals(model, data.y - predicted, counts)]),
         page.Section(
             'Error by number of workloads and by block size',
             figures=[
                 _bars('workloads run together', quality.mre_by(
                     counts, data.y, predicted)),
                 _bars('mean block size of the run, KiB', quality.mre_by(
                     blocks, data.y, predicted))]),
         page.Section('The model', tables=[page.Table(
             ('', 'term', 'coefficient'), _terms(model))])])


def _mean_block(sample: ds.Sample) -> int:
    """The mean block size to the next power of two, KiB."""
    mean = np.mean([w.block_kib for w in sample.workloads])
    return 2 ** round(float(np.log2(max(1.0, mean))))


def _percent(fraction: float | None) -> str:
    return 'unknown' if fraction is None else f'{fraction:.1%}'


def _terms(model: mm.Model) -> list[tuple[str, str, Any]]:
    if not isinstance(model.form, linear.Linear):
        return [(*line, '') for line in model.form.lines()]
    rows = (model.parameters if model.kind == 'consolidation'
            else {'any count': model.parameters})
    return [(label, term, value) for label, row in rows.items()
            for term, value in row.items()]


def _axes(width: float = 7, height: float = 4) -> tuple[Any, Any]:
    figure = page.figure(width, height)
    return figure, figure.subplots()


def _against(model: mm.Model, measured: fit.Floats, predicted: fit.Floats,
             counts: Sequence[int]) -> str:
    figure, axes = _axes(7, 5)
    axes.set(xscale='log', yscale='log')
    ends = np.array([min(measured.min(), predicted[predicted > 0].min(
        initial=measured.min())), max(measured.max(), predicted.max())])
    low, high = model.relative_interval
    axes.fill_between(ends, np.maximum(ends * (1 + low), ends[0] / 10),
                      ends * (1 + high), color='#dce6f2', lw=0)
    axes.plot(ends, ends, color='#8c95a0', lw=1)
    dots = axes.scatter(predicted, measured, c=counts, s=14, cmap='viridis')
    figure.colorbar(dots, label='workloads run together',
                    ticks=sorted(set(counts)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter('')
    axes.set(xlabel=f'predicted {model.predicts}',
             ylabel=f'measured {model.predicts}')
    return page.svg(figure)


def _residuals(model: mm.Model, residuals: fit.Floats,
               counts: Sequence[int]) -> str:
    figure, axes = _axes()
    labels = sorted(set(counts))
    count_of = np.array(counts)
    axes.axhline(0, color='#8c95a0', lw=1)
    axes.boxplot([residuals[count_of == n] for n in labels],
                 tick_labels=labels, whis=(5, 95), showfliers=False)
    axes.set(xlabel='workloads run together',
             ylabel=f'measured - predicted {model.predicts}')
    return page.svg(figure)


def _bars(xlabel: str, error_by: Mapping[Any, float]) -> str:
    figure, axes = _axes(7, 3)
    axes.bar([str(label) for label in error_by],
             [100 * error for error in error_by.values()], color='#4878a8')
    axes.set(xlabel=xlabel, ylabel='mean relative error, %')
    return page.svg(figure)
