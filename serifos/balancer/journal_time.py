# SPDX-License-Identifier: Apache-2.0
"""When did the entries of the journal happen, if a clock was wrong?

Pure. An entry that lies in the future was written by a clock that was ahead.
It happened before whatever was written after it by a clock that is not, and
else before now: so no cool-down, no back-off, no settling and no time limit
lasts longer than its own length from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses

from serifos.facts import journal as jn
from serifos.facts import times

AHEAD_S = 60.0
"""By which an entry may be ahead: of a clock that is being slewed."""


def bounded(entries: Sequence[jn.Entry], now: float) -> tuple[jn.Entry, ...]:
    """The entries, none of them in the future.

    :param now: seconds of the epoch
    """
    latest, found = now, []
    for entry in reversed(entries):
        at = times.parse(entry.at)
        if at > now + AHEAD_S:
            found.append(_moved(entry, at, latest))
        else:
            latest = at
            found.append(entry)
    return tuple(reversed(found))


def unbounded(entries: Iterable[jn.Entry], now: float) -> int:
    """How many entries in the future no later one bounds."""
    count = 0
    for entry in entries:
        count = count + 1 if times.parse(entry.at) > now + AHEAD_S else 0
    return count


def _moved(entry: jn.Entry, at: float, to: float) -> jn.Entry:
    facts = dict(entry.facts)
    if entry.kind == 'back-off':
        facts['until'] = times.text(
            to + times.parse(facts['until']) - at, 'milliseconds')
    return dataclasses.replace(
        entry, at=times.text(to, 'milliseconds'), facts=facts)
