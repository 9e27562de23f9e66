# SPDX-License-Identifier: Apache-2.0
"""Times of journal entries that a clock ahead of this one wrote.

Such an entry lies in the future. It counts as of the next entry that does
not, or as of now, so that no cool-down, back-off or time limit lasts longer
than its own length from then.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence
import dataclasses

from serifos.facts.journal import Entry
from serifos.facts import times

AHEAD_S = 60.0
"""Tolerated, as from a clock that is being slewed."""


def corrected(entries: Sequence[Entry], now: float) -> tuple[Entry, ...]:
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


def uncorrected(entries: Iterable[Entry], now: float) -> int:
    """The number of entries in the future that no later entry corrects."""
    count = 0
    for entry in entries:
        count = count + 1 if times.parse(entry.at) > now + AHEAD_S else 0
    return count


def _moved(entry: Entry, at: float, to: float) -> Entry:
    facts = dict(entry.facts)
    if entry.kind == 'back-off':
        facts['until'] = times.text(
            to + times.parse(facts['until']) - at, 'milliseconds')
    return dataclasses.replace(
        entry, at=times.text(to, 'milliseconds'), facts=facts)
