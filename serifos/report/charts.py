# SPDX-License-Identifier: Apache-2.0
"""Charts as inline SVG: points and lines, boxes, bars, Pareto, dendrogram.

matplotlib is imported only when a chart is drawn. The same values give the
same text. Every chart takes what ``Axes.set`` takes: xlabel, yscale, xlim;
a scale that is a number is symmetrically logarithmic, linear up to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import io
import itertools
import math
from typing import Any

from serifos.report import page

BLUE, RED, GREY, LIGHT = '#4878a8', '#b4552d', '#8c95a0', '#c3ccd6'
BAND = '#dce6f2'
_ROW_IN = 0.3


@dataclasses.dataclass(frozen=True)
class Series:
    """Points of one style.

    :param form: marker and line as matplotlib's ``plot`` writes them
    :param label: for the legend, or the colour bar of a shade
    :param shade: an integer for each point, shown as its colour
    :param look: what else ``plot`` takes
    """

    x: Sequence[float]
    y: Sequence[float]
    form: str = 'o'
    label: str = ''
    shade: Sequence[float] | None = None
    look: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Boxes:
    """A box for each name, and the interval that they are compared with."""

    title: str
    values: Mapping[str, Sequence[float]]
    colour: str = BLUE
    band: tuple[float, float] | None = None


def points(series: Sequence[Series], *,
           band: tuple[Any, Any, Any] | None = None,
           level: float | None = None, size_in: tuple[float, float] = (8, 4),
           **settings: Any) -> str:
    """Points and lines.

    :param band: x, low and high of a shaded area
    :param level: y of a dashed line
    """
    figure = _figure(*size_in)
    axes = figure.subplots()
    if band:
        axes.fill_between(*band, color=BAND, lw=0)
    _points(axes, series, level)
    _finish(axes, **settings)
    return _svg(figure)


def grid(panels: Mapping[str, Sequence[Series]], *, xlabel: str, ylabel: str,
         columns: int = 2, **settings: Any) -> str:
    """Points in panels of one scale, with a line at 0; title → series."""
    deep = math.ceil(len(panels) / columns)
    figure = _figure(9, 2.6 * deep + 0.3)
    cells = figure.subplots(deep, columns, sharex=True, sharey=True,
                            squeeze=False)
    for axes, (title, series) in itertools.zip_longest(
            cells.flat, panels.items(), fillvalue=('', ())):
        axes.set_visible(bool(series))
        _points(axes, series, level=0)
        axes.tick_params(labelbottom=True)
        _finish(axes, title=title, **settings)
    figure.supxlabel(xlabel, fontsize=10)
    figure.supylabel(ylabel, fontsize=10)
    return _svg(figure)


def boxes(panels: Sequence[Boxes], *, whiskers: tuple[float, float] = (5, 95),
          title: str = '', size_in: tuple[float, float] = (10, 3.4),
          sharey: bool = False, **settings: Any) -> str:
    """Boxes of the middle half, with whiskers at two percentiles."""
    figure = _figure(*size_in)
    figure.suptitle(title, fontsize=11)
    cells, = figure.subplots(1, len(panels), sharey=sharey, squeeze=False)
    for axes, panel in zip(cells, panels):
        if panel.band:
            axes.axhspan(*panel.band, color='#f3dfb8')
        axes.axhline(0, color=GREY, lw=1)
        axes.boxplot(
            [*panel.values.values()], tick_labels=[*panel.values],
            whis=whiskers, showfliers=False, patch_artist=True, widths=0.6,
            boxprops={'facecolor': panel.colour, 'edgecolor': '#333'},
            medianprops={'color': '#000'})
        axes.tick_params(axis='x', labelsize=8)
    for axes, panel in zip(cells, panels):  # limits hold what all have
        _finish(axes, title=panel.title, **settings)
    return _svg(figure)


def bars(names: Sequence[object],
         series: Mapping[str, Sequence[float | None]], *,
         colours: Sequence[str] = (BLUE, '#c98b2b', '#2f8f5b', RED, GREY),
         **settings: Any) -> str:
    """A group of bars for each name, in it one of each series."""
    figure, axes = _rows(names, max(1, 0.6 * len(series)))
    height = 0.8 / len(series)
    for i, (label, values) in enumerate(series.items()):
        places = [n + (i + 0.5) * height - 0.4 for n in range(len(names))]
        drawn = axes.barh(
            places, [math.nan if v is None else v for v in values], height,
            label=label, color=colours[i % len(colours)])
        axes.bar_label(drawn, fmt='%.1f', fontsize=8, padding=2)
    axes.margins(x=0.1)
    _finish(axes, **settings)
    return _svg(figure)


def pareto(names: Sequence[str], shares_pct: Sequence[float],
           marked: Sequence[bool], **settings: Any) -> str:
    """Shares, the greatest first, and the line of their sums."""
    figure, axes = _rows(names)
    axes.barh(range(len(names)), shares_pct,
              color=[BLUE if mark else LIGHT for mark in marked])
    axes.plot([*itertools.accumulate(shares_pct)], range(len(names)),
              color=RED, marker='.', lw=1)
    axes.axvline(50, color=GREY, lw=1, ls=':')
    _finish(axes, xlim=(0, 105), **settings)
    return _svg(figure)


def dendrogram(tree: Any, names: Sequence[str], colours: Sequence[str],
               **settings: Any) -> str:
    """A linkage as scipy has it, the names of its leaves in colours."""
    from scipy.cluster import hierarchy  # takes half a second
    figure = _figure(9, 1.2 + _ROW_IN * len(names))
    axes = figure.subplots()
    drawn = hierarchy.dendrogram(
        tree, orientation='right', labels=names, ax=axes,
        link_color_func=lambda _: '#4a525c')
    for text, leaf in zip(axes.get_yticklabels(), drawn['leaves']):
        text.set_color(colours[leaf])
    _finish(axes, **settings)
    return _svg(figure)


def _figure(width_in: float, height_in: float) -> Any:
    return page.needed('matplotlib.figure').Figure(
        figsize=(width_in, height_in), layout='constrained')


def _rows(names: Sequence[object], rows: float = 1) -> tuple[Any, Any]:
    """A figure whose y axis has a name for each row, from the top."""
    figure = _figure(9, 1.2 + _ROW_IN * rows * len(names))
    axes = figure.subplots()
    axes.set_yticks(range(len(names)), [str(name) for name in names])
    axes.invert_yaxis()
    return figure, axes


def _points(axes: Any, series: Sequence[Series],
            level: float | None) -> None:
    if level is not None:
        axes.axhline(level, color=GREY, lw=1, ls='--')
    for one in series:
        if one.shade is None:
            axes.plot(one.x, one.y, one.form, label=one.label,
                      **{'ms': 4, 'lw': 1.5, **one.look})
        else:
            dots = axes.scatter(one.x, one.y, c=one.shade, s=14)
            axes.figure.colorbar(dots, ax=axes, label=one.label,
                                 ticks=sorted(set(one.shade)))


def _finish(axes: Any, **settings: Any) -> None:
    for axis in 'x', 'y':
        scale = settings.pop(f'{axis}scale', None)
        if isinstance(scale, float):
            getattr(axes, f'set_{axis}scale')('symlog', linthresh=scale)
        elif scale:
            getattr(axes, f'set_{axis}scale')(scale)
    axes.set(**settings)
    axes.title.set_fontsize(10)
    axes.spines[['top', 'right']].set_visible(False)
    axes.grid(color='#e4e7eb', lw=0.7)
    axes.set_axisbelow(True)


def _svg(figure: Any) -> str:
    labelled = {
        label: handle for axes in figure.axes for handle, label
        in zip(*axes.get_legend_handles_labels())}
    if len(labelled) > 1:
        figure.legend(labelled.values(), labelled.keys(), fontsize=8,
                      frameon=False, loc='outside right upper')
    text = io.StringIO()
    with page.needed('matplotlib').rc_context(
            {'svg.hashsalt': 'serifos', 'svg.fonttype': 'none',
             'font.family': 'sans-serif'}):
        figure.savefig(text, format='svg', metadata={
            'Date': None, 'Creator': None, 'Format': None, 'Type': None})
    return text.getvalue()[text.getvalue().index('<svg'):].strip()
