# SPDX-License-Identifier: Apache-2.0
"""Titles of the marks of a chart, which browsers show on hovering.

matplotlib has no such thing: the titles wait in the artist that draws the
marks, and are put into the SVG that it makes.
"""

from __future__ import annotations

from collections.abc import Sequence
import itertools
from typing import Any
from xml.etree import ElementTree

from serifos.report import style

_SVG = 'http://www.w3.org/2000/svg'
_BLACK = ('#000000', '#000')


def told(artist: Any, titles: Sequence[str]) -> None:
    """Gives an artist the titles of its marks, in their order."""
    artist.serifos_titles = titles


def titled(svg: str, figure: Any, says: str) -> str:
    """The SVG of a figure with its titles, role, label, and colours by name.

    Marks that lie outside are not drawn; where their number shows that, none
    of the artist has a title.

    :param says: what the figure shows
    """
    ElementTree.register_namespace('', _SVG)
    ElementTree.register_namespace('xlink', 'http://www.w3.org/1999/xlink')
    tree = ElementTree.fromstring(svg)
    tree.set('role', 'img')
    tree.set('aria-label', says or 'Chart')
    for artist in figure.findobj(lambda one: hasattr(one, 'serifos_titles')):
        titles = artist.serifos_titles
        group = tree.find(f".//*[@id='{artist.get_gid()}']")
        marks = [] if group is None else _marks(group)
        if len(marks) == len(titles):
            for mark, title in zip(marks, titles):
                ElementTree.SubElement(mark, f'{{{_SVG}}}title').text = title
    text = ElementTree.tostring(tree, encoding='unicode')
    for black in _BLACK:
        text = text.replace(f'{black};', style.COLOURS['ink'][0] + ';')
        text = text.replace(f'{black}"', style.COLOURS['ink'][0] + '"')
    return style.themed(text)


def numbered(figure: Any) -> None:
    """Gives each artist with titles an id, by which it is found again."""
    ids = itertools.count(1)
    for artist in figure.findobj(lambda one: hasattr(one, 'serifos_titles')):
        artist.set_gid(f'marks{next(ids)}')


def _marks(group: ElementTree.Element) -> list[ElementTree.Element]:
    """The marks of one artist: those that are repeated, else its path."""
    used = group.findall(f'.//{{{_SVG}}}use')
    if used:
        return used
    paths = group.findall(f'./{{{_SVG}}}path')
    return paths if len(paths) == 1 else []
