# SPDX-License-Identifier: Apache-2.0
"""Windows of time, such as mon-fri 22:00-06:00 Europe/Berlin."""

from __future__ import annotations

import dataclasses
import datetime
import re
import zoneinfo

_DAYS = ('mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun')
_TIME = '(?:[01][0-9]|2[0-3]):[0-5][0-9]'
_WINDOW = re.compile(
    rf'(?:({"|".join(_DAYS)})(?:-({"|".join(_DAYS)}))?\s+)?'
    rf'({_TIME})-({_TIME}|24:00)(?:\s+(\S+))?', re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Window:
    """A part of some days of the week, by the clocks of a time zone.

    It lasts over midnight where it ends before it begins, and belongs to the
    day on which it begins. An hour that clocks show twice, when summer ends,
    is in it twice; one that they skip is not in it.

    :param days: on which it begins, 0 for Monday
    :param begin: minutes of the day
    :param end: the same, of the next day where that is not after ``begin``
    """

    text: str
    days: frozenset[int]
    begin: int
    end: int
    zone: datetime.tzinfo

    def __str__(self) -> str:
        return self.text

    @classmethod
    def parse(cls, text: str) -> Window:
        """A window from ``[DAY[-DAY]] HH:MM-HH:MM [ZONE]``.

        :raises ValueError: a sentence, where it is none
        """
        found = _WINDOW.fullmatch(text.strip())
        if found is None:
            raise ValueError(
                f'{text!r} is no window; write one such as 22:00-06:00, or '
                'mon-fri 22:00-06:00 Europe/Berlin')
        first, last, begin, end, zone = found.groups()
        try:
            its_zone = zoneinfo.ZoneInfo(zone) if zone else datetime.UTC
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                f'this host knows no time zone {zone}; write one such as '
                'Europe/Berlin, or none for UTC') from None
        return cls(' '.join(text.split()), _days(first, last or first),
                   _minute(begin), _minute(end), its_zone)

    def has(self, now: datetime.datetime) -> bool:
        """Whether a moment is in it.

        :param now: with a time zone, whichever
        """
        here = now.astimezone(self.zone)
        minute = here.hour * 60 + here.minute
        today = here.weekday() in self.days
        if self.begin < self.end:
            return today and self.begin <= minute < self.end
        return (today and minute >= self.begin) or (
            (here.weekday() - 1) % 7 in self.days and minute < self.end)

    def clock(self, now: datetime.datetime) -> str:
        """The local weekday and time, such as Mon 13:03 Europe/Berlin."""
        here = now.astimezone(self.zone)
        return (f'{_DAYS[here.weekday()].capitalize()} {here:%H:%M} '
                f'{self.zone}')


def _days(first: str | None, last: str | None) -> frozenset[int]:
    """From one day to the other; fri-mon are four."""
    if first is None or last is None:
        return frozenset(range(7))
    begin, end = (_DAYS.index(day.lower()) for day in (first, last))
    return frozenset((begin + n) % 7 for n in range((end - begin) % 7 + 1))


def _minute(text: str) -> int:
    hours, _, minutes = text.partition(':')
    return int(hours) * 60 + int(minutes)
