# SPDX-License-Identifier: Apache-2.0
"""A plan as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from serifos.plan.outlook import outlook as ol
from serifos.report.plan import beware
from serifos.report.plan import headline as hl
from serifos.report.plan import tables
from serifos.report.plan import wording as wd


def text(seen: ol.Outlook, age_s: float | None, stale_s: float) -> str:
    """Headline, shortcomings, warnings, pools, moves, and what stays.

    :param age_s: of the observation; None where it does not say
    :param stale_s: from which on that is told
    """
    return wd.lines(_lines(seen, age_s, stale_s))


def _lines(seen: ol.Outlook, age_s: float | None,
           stale_s: float) -> Iterator[str]:
    short = wd.pools(each.pool.name for each in seen.pools)
    if seen.unexplained is not None:
        yield from wd.wrapped(seen.unexplained)
    yield from wd.wrapped(hl.headline(seen, short))
    yield from wd.wrapped(hl.basis(seen))
    for title, sentences in (
            ('But', hl.shortcomings(seen, short)),
            ('Beware', beware.warnings(seen, short, age_s, stale_s))):
        for sentence in sentences:
            yield from wd.wrapped(sentence, f'{title}: ')
    for part in (tables.pools(seen), tables.moves(seen, short),
                 tables.stays(seen, short)):
        lines = [*part]
        if lines:
            yield from ('', *lines)
    held = tables.frozen(seen)
    if held is not None:
        yield ''
        yield from wd.wrapped(held)
