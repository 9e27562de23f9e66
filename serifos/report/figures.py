# SPDX-License-Identifier: Apache-2.0
"""The figures of charts: scales with plain ticks, and the SVG of it all."""

from __future__ import annotations

import io
from typing import Any

from serifos.report import marks
from serifos.report import page
from serifos.report import style


def figure(width_in: float, height_in: float) -> Any:
    """An empty figure of matplotlib."""
    return page.needed('matplotlib.figure').Figure(
        figsize=(width_in, height_in), layout='constrained')


def finish(axes: Any, **settings: Any) -> None:
    """Sets what ``Axes.set`` takes, and what all axes have."""
    for axis in 'x', 'y':
        scale = settings.pop(f'{axis}scale', None)
        if isinstance(scale, float):
            getattr(axes, f'set_{axis}scale')('symlog', linthresh=scale)
        elif scale:
            getattr(axes, f'set_{axis}scale')(scale)
        if scale == 'log':
            _plain(getattr(axes, f'{axis}axis'))
    axes.set(**settings)
    axes.title.set_fontsize(10)
    axes.spines[['top', 'right']].set_visible(False)
    axes.grid(color=style.COLOURS['rule'][0], lw=0.7)
    axes.set_axisbelow(True)


def _plain(axis: Any) -> None:
    """Ticks of a logarithmic axis as 0.5, 20, 1,000."""
    ticker = page.needed('matplotlib.ticker')
    low, high = sorted(axis.get_view_interval())
    wide = high > 300 * max(low, 1e-300)
    axis.set_major_locator(ticker.LogLocator(
        subs=(1,) if wide else (1, 2, 5)))
    axis.set_major_formatter(ticker.FuncFormatter(
        lambda value, _: f'{value:,.10g}'))
    axis.set_minor_formatter(ticker.NullFormatter())


def _says(figure: Any) -> str:
    """What a chart shows, by its titles and axes."""
    said = [figure.get_suptitle(), *(
        text for axes in figure.axes for text in (
            axes.get_title(), axes.get_ylabel(), axes.get_xlabel())),
            figure.get_supylabel(), figure.get_supxlabel()]
    return ', '.join(dict.fromkeys(filter(None, said)))


def svg(figure: Any) -> str:
    """The drawing as an element of HTML."""
    labelled = {
        label: handle for axes in figure.axes for handle, label
        in zip(*axes.get_legend_handles_labels())}
    if len(labelled) > 1:
        figure.legend(labelled.values(), labelled.keys(), fontsize=8,
                      frameon=False, loc='outside right upper')
    text = io.StringIO()
    marks.numbered(figure)
    with page.needed('matplotlib').rc_context(
            {'svg.hashsalt': 'serifos', 'svg.fonttype': 'none',
             'font.family': 'sans-serif'}):
        figure.savefig(text, format='svg', transparent=True, metadata={
            'Date': None, 'Creator': None, 'Format': None, 'Type': None})
    return marks.titled(text.getvalue(), figure, _says(figure))
