# SPDX-License-Identifier: Apache-2.0
"""Charts that are drawn by hand: SVG whose text keeps its size.

Places across are percent of the width that there is, so that a drawing fits
a telephone as well as a screen, and its text is as large on both. A mark has
a title, which browsers show where a pointer rests.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses
import html
import math

from serifos.report import style

_STEPS = (1.0, 2.0, 5.0, 10.0)
_LEAST = 1e-9


def element(name: str, *inside: str, **attributes: object) -> str:
    """An element of XML; ``a_b`` is the attribute a-b, class_ is class.

    :param inside: elements, or text that is escaped already
    """
    said = ''.join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(shown(value))}"'
        for key, value in attributes.items())
    return f'<{name}{said}>{"".join(inside)}</{name}>'


def shown(value: object) -> str:
    """A value of an attribute; numbers to a hundredth."""
    return f'{value:.2f}'.rstrip('0').rstrip('.') if isinstance(
        value, float) else str(value)


def text(said: str, x: float, y: float, anchor: str = 'start',
         name: str = 'ink') -> str:
    """Words at a place; x in percent."""
    return element('text', html.escape(said), x=_pct(x), y=float(y),
                   text_anchor=anchor, style=f'fill: {style.colour(name)}')


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
                         f'fill: {style.colour("ground")}; '
                         f'stroke: {style.colour(name)}'))
    return element('svg', inside, x=_pct(x), y=float(y), overflow='visible')


def bar(x: float, y: float, width: float, height: float, name: str,
        title: str = '') -> str:
    """A rectangle; x and width in percent."""
    return element('rect', _title(title), x=_pct(x), y=float(y),
                   width=_pct(max(0.0, width)), height=float(height), rx=2,
                   style=_fill(name))


def curve(points: Sequence[tuple[float, float]], name: str,
          dash: str = 'none', width: float = 1.8) -> str:
    """A line through places, 0 to 100 each way, over all of its parent."""
    path = 'M' + ' '.join(f'{x:.2f} {y:.2f}' for x, y in points)
    return element('svg', element(
        'path', d=path, fill='none', vector_effect='non-scaling-stroke',
        stroke_width=width, stroke_dasharray=dash, style=_stroke(name)),
        viewBox='0 0 100 100', preserveAspectRatio='none', width='100%',
        height='100%')


def picture(says: str, height: float, *inside: str) -> str:
    """A drawing as wide as there is room.

    :param says: what it shows, for who does not see it
    :param height: pixels
    """
    return element('svg', *inside, role='img', aria_label=says,
                   width='100%', height=float(height))


def figure(caption: str, *inside: str, class_: str = '') -> str:
    """Drawings under a caption.

    :param caption: elements, or text that is escaped already
    """
    return element('figure', element('figcaption', caption), element(
        'div', *inside, class_=class_))


def row(name: str, drawn: str, value: str, kind: str = '') -> str:
    """A drawing between a name and a value."""
    return element(
        'div', element('span', html.escape(name)), drawn,
        element('span', html.escape(value)), class_=f'row {kind}'.strip())


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
    return f'{shown(float(x))}%'


def _fill(name: str) -> str:
    return f'fill: {style.colour(name)}'


def _stroke(name: str) -> str:
    return f'stroke: {style.colour(name)}'


def escaped(said: str) -> str:
    """Text as it may stand in an element."""
    return html.escape(said)


def _title(said: str) -> str:
    return element('title', html.escape(said)) if said else ''
