# SPDX-License-Identifier: Apache-2.0
"""Which time of the past is shown, as a person gives it."""

from __future__ import annotations

import time

from serifos import errors
from serifos.facts import times

_MOST_DAYS, _MOST_SLOTS = 3660, 100_000


def end(until: str | None) -> float:
    """The end of what is shown, seconds of the epoch.

    :param until: ISO 8601, None for now
    :raises InputError: where it is no time
    """
    try:
        return time.time() if until is None else times.parse(until)
    except ValueError as exc:
        raise errors.InputError(
            f'--until {until} {exc}; give one such as 2027-01-15T07:00:00Z.'
        ) from None


def seconds(days: float, step_s: int) -> float:
    """The days in seconds.

    :raises InputError: where they cannot be shown in slots of that length
    """
    if not 0 < days <= _MOST_DAYS or not (
            0 < step_s <= 86400 * days <= _MOST_SLOTS * step_s):
        raise errors.InputError(
            f'{days:g} days in slots of {step_s} s cannot be shown; '
            f'give up to {_MOST_DAYS} days and {_MOST_SLOTS} slots, none '
            'longer than that time.')
    return 86400 * days
