# SPDX-License-Identifier: Apache-2.0
"""Times as text (ISO 8601) and as seconds of the epoch."""

from __future__ import annotations

import datetime

_FIRST, _LAST = (
    datetime.datetime(*day, tzinfo=datetime.UTC).timestamp()
    for day in ((1, 1, 1), (9999, 12, 31)))


def parse(text: object, zone_needed: bool = False) -> float:
    """An ISO 8601 text as seconds of the epoch; without a zone it is UTC.

    :param zone_needed: whether to refuse a text without a zone
    :raises ValueError: with a clause that says what is wrong
    """
    try:
        at = datetime.datetime.fromisoformat(text)  # type: ignore[arg-type]
        if at.tzinfo is None and not zone_needed:
            at = at.replace(tzinfo=datetime.UTC)
        if at.tzinfo is not None:
            return at.timestamp()
    except (OverflowError, TypeError, ValueError):
        raise ValueError('is not an ISO 8601 time') from None
    raise ValueError('is a time without a zone')


def text(at: float, timespec: str = 'seconds') -> str:
    """Seconds of the epoch as ISO 8601, UTC, such as 2027-01-15T07:00:00Z.

    Times outside the years 1 to 9999 become the nearest inside.

    :param timespec: of :meth:`datetime.datetime.isoformat`
    """
    return datetime.datetime.fromtimestamp(
        min(max(at, _FIRST), _LAST), datetime.UTC).isoformat(
            timespec=timespec).replace('+00:00', 'Z')
