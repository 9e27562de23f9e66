# SPDX-License-Identifier: Apache-2.0
"""Charts as inline SVG: points and lines, boxes, bars, Pareto, dendrogram.

Their colours are those of the page, light or dark; a mark shows its values
where a pointer rests.

matplotlib is imported only when a chart is drawn. The same values give the
same text. Every chart takes what ``Axes.set`` takes: xlabel, yscale, xlim;
a scale that is a number is symmetrically logarithmic, linear up to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools
import math
from typing import Any

from serifos.report import figures
from serifos.report import marks
from serifos.report import page
from serifos.report import style

(BLUE, RED, GREEN, BROWN, PURPLE, GREY, LIGHT, BAND, INK, SOFT, RULE) = (
    style.COLOURS[name][0] for name in (
        'blue', 'red', 'green', 'brown', 'purple', 'grey', 'pale', 'band',
        'ink', 'soft', 'rule'))
SERIES = tuple(style.COLOURS[name][0] for name in style.SERIES)
"""Colours of several lines that can be told apart by everybody."""

FEW = 5
"""Values of which each is drawn, since a box would hide how few they are."""

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
    figure = figures.figure(*size_in)
    axes = figure.subplots()
    if band:
        axes.fill_between(*band, color=BAND, lw=0)
    _points(axes, series, level)
    figures.finish(axes, **settings)
    return figures.svg(figure)


def cumulative(values: Sequence[float], label: str,
               form: str = '-', **look: Any) -> Series:
    """The share of values that are at most x, as a line of steps."""
    return Series(sorted(values),
                  [(i + 1) / len(values) for i in range(len(values))],
                  form, label, look={'drawstyle': 'steps-post', **look})


def grid(panels: Mapping[str, Sequence[Series]], *, xlabel: str = '',
         ylabel: str, columns: int = 2, sharex: bool = True,
         level: float | None = 0, **settings: Any) -> str:
    """Points in panels of one scale, with a line at 0; title → series.

    :param sharex: whether the panels have one scale of x, too
    """
    deep = math.ceil(len(panels) / columns)
    figure = figures.figure(9, 2.6 * deep + 0.3)
    cells = figure.subplots(deep, columns, sharex=sharex, sharey=True,
                            squeeze=False)
    for axes, (title, series) in itertools.zip_longest(
            cells.flat, panels.items(), fillvalue=('', ())):
        axes.set_visible(bool(series))
        _points(axes, series, level)
        axes.tick_params(labelbottom=True)
        figures.finish(axes, title=title, **settings)
    figure.supxlabel(xlabel, fontsize=10)
    figure.supylabel(ylabel, fontsize=10)
    return figures.svg(figure)


def boxes(panels: Sequence[Boxes], *, whiskers: tuple[float, float] = (5, 95),
          title: str = '', size_in: tuple[float, float] = (10, 3.4),
          sharey: bool = False, **settings: Any) -> str:
    """Boxes of the middle half, with whiskers at two percentiles."""
    figure = figures.figure(*size_in)
    figure.suptitle(title, fontsize=11)
    cells, = figure.subplots(1, len(panels), sharey=sharey, squeeze=False)
    for axes, panel in zip(cells, panels):
        if panel.band:
            axes.axhspan(*panel.band, color=BAND)
        axes.axhline(0, color=GREY, lw=1)
        _boxes(axes, panel, whiskers)
        axes.tick_params(axis='x', labelsize=8)
    for axes, panel in zip(cells, panels):  # limits hold what all have
        figures.finish(axes, title=panel.title, **settings)
    return figures.svg(figure)


def _boxes(axes: Any, panel: Boxes, whiskers: tuple[float, float]) -> None:
    places = range(1, len(panel.values) + 1)
    many = [(place, each) for place, each in zip(places, panel.values.values())
            if len(each) >= FEW]
    if many:
        axes.boxplot(
            [each for _, each in many], positions=[at for at, _ in many],
            whis=whiskers, showfliers=False, patch_artist=True, widths=0.6,
            boxprops={'facecolor': panel.colour, 'edgecolor': INK},
            medianprops={'color': INK}, whiskerprops={'color': INK},
            capprops={'color': INK})
    for place, each in zip(places, panel.values.values()):
        if len(each) < FEW:
            drawn, = axes.plot([place] * len(each), each, 'o', ms=5,
                               color=panel.colour)
            marks.told(drawn, [f'{value:.3g}' for value in each])
    axes.set_xticks(places, [*panel.values])
    axes.set_xlim(0.5, len(panel.values) + 0.5)


def bars(names: Sequence[object],
         series: Mapping[str, Sequence[float | None]], *,
         colours: Sequence[str] = (BLUE, BROWN, GREEN, RED, GREY),
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
        for patch, name, value in zip(drawn, names, values):
            if value is not None:
                marks.told(patch, [f'{name}: {label} {value:.3g}'.replace(
                    ':  ', ': ')])
    axes.margins(x=0.1)
    figures.finish(axes, **settings)
    return figures.svg(figure)


def pareto(names: Sequence[str], shares_pct: Sequence[float],
           marked: Sequence[bool], **settings: Any) -> str:
    """Shares, the greatest first, and the line of their sums."""
    figure, axes = _rows(names)
    drawn = axes.barh(range(len(names)), shares_pct,
                      color=[BLUE if mark else LIGHT for mark in marked])
    for patch, name, share in zip(drawn, names, shares_pct):
        marks.told(patch, [f'{name}: {share:.3g} %'])
    axes.plot([*itertools.accumulate(shares_pct)], range(len(names)),
              color=RED, marker='.', lw=1)
    axes.axvline(50, color=GREY, lw=1, ls=':')
    figures.finish(axes, xlim=(0, 105), **settings)
    return figures.svg(figure)


def dendrogram(tree: Any, names: Sequence[str], colours: Sequence[str],
               **settings: Any) -> str:
    """A linkage as scipy has it, the names of its leaves in colours."""
    from scipy.cluster import hierarchy  # takes half a second
    figure = figures.figure(9, 1.2 + _ROW_IN * len(names))
    axes = figure.subplots()
    drawn = hierarchy.dendrogram(
        tree, orientation='right', labels=names, ax=axes,
        link_color_func=lambda _: SOFT)
    for text, leaf in zip(axes.get_yticklabels(), drawn['leaves']):
        text.set_color(colours[leaf])
    figures.finish(axes, **settings)
    return figures.svg(figure)


def _rows(names: Sequence[object], rows: float = 1) -> tuple[Any, Any]:
    """A figure whose y axis has a name for each row, from the top."""
    figure = figures.figure(9, 1.2 + _ROW_IN * rows * len(names))
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
            drawn, = axes.plot(one.x, one.y, one.form, label=one.label,
                               **{'ms': 4, 'lw': 1.5, **one.look})
            marks.told(drawn, [
                f'{one.label}: {x:.4g}, {y:.4g}'.removeprefix(': ')
                for x, y in zip(one.x, one.y)])
        else:
            dots = axes.scatter(one.x, one.y, c=one.shade, s=14,
                                cmap=_shades())
            axes.figure.colorbar(dots, ax=axes, label=one.label,
                                 ticks=sorted(set(one.shade)))
            marks.told(dots, [
                f'{x:.4g}, {y:.4g}; {one.label} {shade:g}' for x, y, shade
                in zip(one.x, one.y, one.shade)])


def _shades() -> Any:
    """From violet to orange, which can be seen on white and in the dark."""
    found = page.needed('matplotlib')
    return found.colors.LinearSegmentedColormap.from_list(
        'shades', found.colormaps['plasma']([0.35, 0.45, 0.57, 0.7]))
