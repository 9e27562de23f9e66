# SPDX-License-Identifier: Apache-2.0
"""A plan as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from serifos.plan.outlook.outlook import Outlook
from serifos.report.plan import beware
from serifos.report.plan import headline
from serifos.report.plan import plan_tables
from serifos.report.plan import wording


def text(seen: Outlook, age_s: float | None, stale_s: float) -> str:
    """Headline, shortcomings, warnings, pools, moves, and what stays.

    :param age_s: of the observation; None where it does not say
    :param stale_s: from which on that is told
    """
    return wording.lines(_lines(seen, age_s, stale_s))


def _lines(seen: Outlook, age_s: float | None,
           stale_s: float) -> Iterator[str]:
    short = wording.pools(each.pool.name for each in seen.pools)
    if seen.unexplained is not None:
        yield from wording.wrapped(seen.unexplained)
    yield from wording.wrapped(headline.headline(seen, short))
    yield from wording.wrapped(headline.basis(seen))
    for title, sentences in (
            ('But', headline.shortcomings(seen, short)),
            ('Warning', beware.warnings(seen, short, age_s, stale_s))):
        for sentence in sentences:
            yield from wording.wrapped(sentence, f'{title}: ')
    for part in (plan_tables.pools(seen), plan_tables.moves(seen, short),
                 plan_tables.stays(seen, short)):
        lines = [*part]
        if lines:
            yield from ('', *lines)
    held = plan_tables.immovable(seen)
    if held is not None:
        yield ''
        yield from wording.wrapped(held)
