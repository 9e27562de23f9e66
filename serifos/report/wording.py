# SPDX-License-Identifier: Apache-2.0
"""Names and figures of clouds as words: volumes, pools, latencies."""

from __future__ import annotations

from collections.abc import Container
from collections.abc import Iterable
from collections.abc import Iterator
import contextlib
import contextvars

from rich import cells

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts.names import short
from serifos.report import table

_NAME = 64
_ID = 8  # characters of an id by which people tell volumes apart

WIDTH = 79

_whole: contextvars.ContextVar[bool] = contextvars.ContextVar(
    'whole', default=False)

_NO_BREAK = '\xa0'


def plain(text: str, most: int) -> str:
    """What anybody may have written, without what a terminal obeys.

    It is cut where it takes more columns.
    """
    said = ''.join(c if c.isprintable() else '?' for c in text)
    return said if cells.cell_len(said) <= most else (
        f'{cells.set_cell_size(said, most - 1)}…')


def name(given: str, most: int = _NAME) -> str:
    """The same of a name or an id; where it is long, its middle is left out.

    Names of one cloud differ at their ends.
    """
    said = plain(given, 2 * len(given))
    if cells.cell_len(said) <= most:
        return said
    end = (most - 1) // 2
    return (f'{cells.set_cell_size(said, most - 1 - end)}…'
            f'{cells.set_cell_size(said[::-1], end)[::-1]}')


def volume(one: Volume, shared: Container[str] = ()) -> str:
    """A volume by its name, where it has one, else by its id.

    The beginning of its id stands behind a name that does not tell it.

    :param shared: the names that several volumes have
    """
    if not one.name:
        return name(one.id)
    said = name(one.name)
    return said if said == one.name and one.name not in shared else (
        f'{said} ({one.id[:_ID]})')


def volumes(cluster: Cluster | None) -> dict[str, str]:
    """Volume → what people call it; none without a cluster."""
    return {} if cluster is None else {
        each.id: volume(each, cluster.shared_names)
        for each in cluster.volumes}


def facts(one: Volume) -> str:
    """60 GiB, type gold, project p1, used by web1."""
    said = [f'{one.size_gib:,.6g} GiB']
    if one.volume_type:
        said.append(f'type {name(one.volume_type)}')
    if one.project_id:
        said.append(f'project {name(one.project_id)}')
    if one.server:
        said.append(f'used by {name(one.server)}')
    return ', '.join(said)


@contextlib.contextmanager
def whole_names(whole: bool = True) -> Iterator[None]:
    """Within it, pools are called by their whole names."""
    token = _whole.set(whole)
    try:
        yield
    finally:
        _whole.reset(token)


def are_whole() -> bool:
    """Whether whole names were asked for, and with them all columns."""
    return _whole.get()


def pools(names: Iterable[str]) -> dict[str, str]:
    """Pool → what people call it."""
    return {each: name(each if are_whole() else said)
            for each, said in short(names).items()}


def pools_of(cluster: Cluster | None,
             others: Iterable[str] = ()) -> dict[str, str]:
    """The same of those of a cluster, if there is one, and others."""
    return pools({*others, *(() if cluster is None else (
        pool.name for pool in cluster.pools))})


def pool(whole: str) -> str:
    """A pool by its whole name."""
    return name(whole)


def wrapped(sentence: str, title: str = '') -> list[str]:
    """A sentence in lines of a terminal, after its title."""
    return folded(title + sentence, min(WIDTH, table.width() or WIDTH),
                  ' ' * len(title))


def folded(text: str, width: int, indent: str = '') -> list[str]:
    """A text in lines of so many columns; no line begins with a %.

    :param indent: of all lines but the first
    """
    lines = table.wrapped(
        text.replace(' %', f'{_NO_BREAK}%'), width, break_long_words=False,
        break_on_hyphens=False, subsequent_indent=indent)
    return [line.replace(_NO_BREAK, ' ') for line in lines]


def lines(texts: Iterable[str]) -> str:
    """Texts below one another, without what a terminal obeys."""
    return ''.join(f'{plain(line, 10_000)}\n'
                   for several in texts for line in several.split('\n'))
