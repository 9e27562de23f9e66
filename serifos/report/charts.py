# SPDX-License-Identifier: Apache-2.0
"""Charts as inline SVG: those of matplotlib, and elements of SVG itself.

Their colours are those of the page, light or dark; a mark has a title, which
browsers show where a pointer rests. The same values give the same text.

matplotlib draws points and lines, boxes, bars, Pareto and dendrogram, and is
imported only then. Each of these takes what ``Axes.set`` takes: xlabel,
yscale, xlim; a scale that is a number is symmetrically logarithmic, linear
up to it.

The other functions make elements whose text keeps its size: places across
are percent of the width that there is, so that a drawing fits a telephone as
well as a screen.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import html
import io
import itertools
import math
from typing import Any
from xml.etree import ElementTree

from serifos.report import page

(BLUE, RED, GREEN, BROWN, PURPLE, GREY, LIGHT, BAND, INK, SOFT, RULE) = (
    page.COLOURS[name][0] for name in (
        'blue', 'red', 'green', 'brown', 'purple', 'grey', 'pale', 'band',
        'ink', 'soft', 'rule'))
SERIES = tuple(page.COLOURS[name][0] for name in page.SERIES)
"""Colours of several lines that can be told apart by everybody."""

FEW = 5
"""Values of which each is drawn, since a box would hide how few they are."""

_ROW_IN = 0.3
_SVG = 'http://www.w3.org/2000/svg'
_BLACK = ('#000000', '#000')
_STEPS = (1.0, 2.0, 5.0, 10.0)
_LEAST = 1e-9


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
    figure = _empty(*size_in)
    axes = figure.subplots()
    if band:
        axes.fill_between(*band, color=BAND, lw=0)
    _points(axes, series, level)
    _finish(axes, **settings)
    return _svg(figure)


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
    figure = _empty(9, 2.6 * deep + 0.3)
    cells = figure.subplots(deep, columns, sharex=sharex, sharey=True,
                            squeeze=False)
    for axes, (title, series) in itertools.zip_longest(
            cells.flat, panels.items(), fillvalue=('', ())):
        axes.set_visible(bool(series))
        _points(axes, series, level)
        axes.tick_params(labelbottom=True)
        _finish(axes, title=title, **settings)
    figure.supxlabel(xlabel, fontsize=10)
    figure.supylabel(ylabel, fontsize=10)
    return _svg(figure)


def boxes(panels: Sequence[Boxes], *, whiskers: tuple[float, float] = (5, 95),
          title: str = '', size_in: tuple[float, float] = (10, 3.4),
          sharey: bool = False, **settings: Any) -> str:
    """Boxes of the middle half, with whiskers at two percentiles."""
    figure = _empty(*size_in)
    figure.suptitle(title, fontsize=11)
    cells, = figure.subplots(1, len(panels), sharey=sharey, squeeze=False)
    for axes, panel in zip(cells, panels):
        if panel.band:
            axes.axhspan(*panel.band, color=BAND)
        axes.axhline(0, color=GREY, lw=1)
        _boxes(axes, panel, whiskers)
        axes.tick_params(axis='x', labelsize=8)
    for axes, panel in zip(cells, panels):  # limits hold what all have
        _finish(axes, title=panel.title, **settings)
    return _svg(figure)


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
            drawn.serifos_titles = [f'{value:.3g}' for value in each]
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
                patch.serifos_titles = [
                    f'{name}: {label} {value:.3g}'.replace(':  ', ': ')]
    axes.margins(x=0.1)
    _finish(axes, **settings)
    return _svg(figure)


def pareto(names: Sequence[str], shares_pct: Sequence[float],
           marked: Sequence[bool], **settings: Any) -> str:
    """Shares, the greatest first, and the line of their sums."""
    figure, axes = _rows(names)
    drawn = axes.barh(range(len(names)), shares_pct,
                      color=[BLUE if mark else LIGHT for mark in marked])
    for patch, name, share in zip(drawn, names, shares_pct):
        patch.serifos_titles = [f'{name}: {share:.3g} %']
    axes.plot([*itertools.accumulate(shares_pct)], range(len(names)),
              color=RED, marker='.', lw=1)
    axes.axvline(50, color=GREY, lw=1, ls=':')
    _finish(axes, xlim=(0, 105), **settings)
    return _svg(figure)


def dendrogram(tree: Any, names: Sequence[str], colours: Sequence[str],
               **settings: Any) -> str:
    """A linkage as scipy has it, the names of its leaves in colours."""
    from scipy.cluster import hierarchy  # takes half a second
    figure = _empty(9, 1.2 + _ROW_IN * len(names))
    axes = figure.subplots()
    drawn = hierarchy.dendrogram(
        tree, orientation='right', labels=names, ax=axes,
        link_color_func=lambda _: SOFT)
    for text, leaf in zip(axes.get_yticklabels(), drawn['leaves']):
        text.set_color(colours[leaf])
    _finish(axes, **settings)
    return _svg(figure)


def _rows(names: Sequence[object], rows: float = 1) -> tuple[Any, Any]:
    """A figure whose y axis has a name for each row, from the top."""
    figure = _empty(9, 1.2 + _ROW_IN * rows * len(names))
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
            drawn.serifos_titles = [
                f'{one.label}: {x:.4g}, {y:.4g}'.removeprefix(': ')
                for x, y in zip(one.x, one.y)]
        else:
            dots = axes.scatter(one.x, one.y, c=one.shade, s=14,
                                cmap=_shades())
            axes.figure.colorbar(dots, ax=axes, label=one.label,
                                 ticks=sorted(set(one.shade)))
            dots.serifos_titles = [
                f'{x:.4g}, {y:.4g}; {one.label} {shade:g}' for x, y, shade
                in zip(one.x, one.y, one.shade)]


def _shades() -> Any:
    """From violet to orange, which can be seen on white and in the dark."""
    found = page.needed('matplotlib')
    return found.colors.LinearSegmentedColormap.from_list(
        'shades', found.colormaps['plasma']([0.35, 0.45, 0.57, 0.7]))


def _empty(width_in: float, height_in: float) -> Any:
    """An empty figure of matplotlib."""
    return page.needed('matplotlib.figure').Figure(
        figsize=(width_in, height_in), layout='constrained')


def _finish(axes: Any, **settings: Any) -> None:
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
    axes.grid(color=RULE, lw=0.7)
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


def _label_of(figure: Any) -> str:
    """Titles and axes of a chart, as its label."""
    said = [figure.get_suptitle(), *(
        text for axes in figure.axes for text in (
            axes.get_title(), axes.get_ylabel(), axes.get_xlabel())),
            figure.get_supylabel(), figure.get_supxlabel()]
    return ', '.join(dict.fromkeys(filter(None, said)))


def _svg(figure: Any) -> str:
    """The drawing as an element of HTML."""
    labelled = {
        label: handle for axes in figure.axes for handle, label
        in zip(*axes.get_legend_handles_labels())}
    if len(labelled) > 1:
        figure.legend(labelled.values(), labelled.keys(), fontsize=8,
                      frameon=False, loc='outside right upper')
    text = io.StringIO()
    titled = figure.findobj(lambda one: hasattr(one, 'serifos_titles'))
    for number, artist in enumerate(titled, 1):
        artist.set_gid(f'marks{number}')
    with page.needed('matplotlib').rc_context(
            {'svg.hashsalt': 'serifos', 'svg.fonttype': 'none',
             'font.family': 'sans-serif'}):
        figure.savefig(text, format='svg', transparent=True, metadata={
            'Date': None, 'Creator': None, 'Format': None, 'Type': None})
    return _titled(text.getvalue(), titled, _label_of(figure))


def _titled(svg: str, titled: Sequence[Any], label: str) -> str:
    """The SVG of a figure with its titles, role, label, and colours by name.

    matplotlib has no titles: they wait in ``serifos_titles`` of the artist
    that draws the marks. Marks that lie outside are not drawn; where their
    number shows that, none of the artist has a title.

    :param titled: the artists whose marks have titles
    :param label: what the figure shows
    """
    ElementTree.register_namespace('', _SVG)
    ElementTree.register_namespace('xlink', 'http://www.w3.org/1999/xlink')
    tree = ElementTree.fromstring(svg)
    tree.set('role', 'img')
    tree.set('aria-label', label or 'Chart')
    for artist in titled:
        titles = artist.serifos_titles
        group = tree.find(f".//*[@id='{artist.get_gid()}']")
        marks = [] if group is None else _marks(group)
        if len(marks) == len(titles):
            for mark, title in zip(marks, titles):
                ElementTree.SubElement(mark, f'{{{_SVG}}}title').text = title
    text = ElementTree.tostring(tree, encoding='unicode')
    for black in _BLACK:
        text = text.replace(f'{black};', INK + ';')
        text = text.replace(f'{black}"', INK + '"')
    return page.themed(text)


def _marks(group: ElementTree.Element) -> list[ElementTree.Element]:
    """The marks of one artist: those that are repeated, else its path."""
    used = group.findall(f'.//{{{_SVG}}}use')
    if used:
        return used
    paths = group.findall(f'./{{{_SVG}}}path')
    return paths if len(paths) == 1 else []


def element(name: str, *inside: str, **attributes: object) -> str:
    """An element of XML; ``a_b`` is the attribute a-b, class_ is class.

    :param inside: elements, or text that is escaped already
    """
    said = ''.join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(_shown(value))}"'
        for key, value in attributes.items())
    return f'<{name}{said}>{"".join(inside)}</{name}>'


def _shown(value: object) -> str:
    """A value of an attribute; numbers to a hundredth."""
    return f'{value:.2f}'.rstrip('0').rstrip('.') if isinstance(
        value, float) else str(value)


def text(said: str, x: float, y: float, anchor: str = 'start',
         name: str = 'ink') -> str:
    """Words at a place; x in percent."""
    return element('text', html.escape(said), x=_pct(x), y=float(y),
                   text_anchor=anchor, style=f'fill: {page.colour(name)}')


def line(x1: float, y1: float, x2: float, y2: float, name: str = 'rule',
         width: float = 1.0, dash: str = 'none') -> str:
    """A line; x in percent, y in pixels."""
    return element('line', x1=_pct(x1), y1=float(y1), x2=_pct(x2),
                   y2=float(y2), stroke_dasharray=dash,
                   stroke_width=width, style=_stroke(name))


def dot(x: float, y: float, name: str, title: str = '',
        radius: float = 5.0) -> str:
    """A filled circle."""
    return element('circle', _title(title), cx=_pct(x), cy=float(y),
                   r=radius, style=_fill(name))


def diamond(x: float, y: float, name: str, title: str = '') -> str:
    """A square on its corner, hollow."""
    inside = element('path', _title(title), d='M0-6 6 0 0 6-6 0z',
                     stroke_width=2, style=(
                         f'fill: {page.colour("ground")}; '
                         f'stroke: {page.colour(name)}'))
    return element('svg', inside, x=_pct(x), y=float(y), overflow='visible')


def bar(x: float, y: float, width: float, height: float, name: str,
        title: str = '') -> str:
    """A rectangle; x and width in percent."""
    return element('rect', _title(title), x=_pct(x), y=float(y),
                   width=_pct(max(0.0, width)), height=float(height), rx=2,
                   style=_fill(name))


def picture(label: str, height: float, *inside: str) -> str:
    """A drawing as wide as there is room.

    :param label: what it shows, for who does not see it
    :param height: pixels
    """
    return element('svg', *inside, role='img', aria_label=label,
                   width='100%', height=float(height))


def captioned(caption: str, *inside: str) -> str:
    """Drawings under a caption.

    :param caption: elements, or text that is escaped already
    """
    return element('figure', element('figcaption', caption), element(
        'div', *inside))


def row(name: str, drawn: str, value: str) -> str:
    """A drawing between a name and a value."""
    return element(
        'div', element('span', html.escape(name)), drawn,
        element('span', html.escape(value)), class_='row')


def legend(marks: Iterable[tuple[str, str]]) -> str:
    """What marks mean: (drawing at 8, 8 in 16 pixels; words) each."""
    return ' &nbsp; '.join(element(
        'span', element('svg', drawn, width=16, height=16,
                        aria_hidden='true',
                        style='display: inline-block; margin: 0; '
                              'vertical-align: -3px')
        + ' ' + html.escape(words), style='white-space: nowrap')
        for drawn, words in marks)


@dataclasses.dataclass(frozen=True)
class Scale:
    """Values from 0 to the most, in percent of the width.

    :param most: above 0
    """

    most: float

    @classmethod
    def to(cls, values: Iterable[float | None]) -> Scale:
        """One that holds these."""
        most = max((value for value in values if value is not None
                    and math.isfinite(value)), default=0.0)
        return cls(most * 1.02 if most > _LEAST else 1.0)

    def __call__(self, value: float) -> float:
        return 100.0 * min(max(value / self.most, 0.0), 1.0)

    def ticks(self, number: int = 5) -> list[float]:
        """About so many round values, from 0."""
        rough = self.most / number
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * next(each for each in _STEPS
                            if each * power >= rough * 0.999)
        return [step * i for i in range(int(self.most / step + 1e-9) + 1)]

    def grid(self, top: float, bottom: float) -> str:
        """Lines from top to bottom at the ticks."""
        return ''.join(line(self(tick), top, self(tick), bottom)
                       for tick in self.ticks())

    def axis(self, unit: str) -> str:
        """The ticks with their values, for a drawing of 20 pixels."""
        ticks = self.ticks()
        return ''.join(text(
            f'{tick:g}' + f' {unit}' * (tick == ticks[-1]), self(tick), 14,
            'start' if not tick else
            'end' if self(tick) > 90 else 'middle', 'soft')
            for tick in ticks)


def _pct(x: float) -> str:
    return f'{_shown(float(x))}%'


def _fill(name: str) -> str:
    return f'fill: {page.colour(name)}'


def _stroke(name: str) -> str:
    return f'stroke: {page.colour(name)}'


def escaped(said: str) -> str:
    """Text as it may stand in an element."""
    return html.escape(said)


def _title(said: str) -> str:
    return element('title', html.escape(said)) if said else ''
