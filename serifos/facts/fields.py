# SPDX-License-Identifier: Apache-2.0
"""Typed reading of JSON, and figures that have to be in bounds.

The JSON is that of programs, servers and files. Where a value is not of the
type, or not in the bounds, that its reader expects, the error names the value
and its place: NaN where a size is expected, a list where a text is.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
import dataclasses
import functools
import math
import re
from typing import Any

from serifos import errors
from serifos.facts import times

_MOST_WHOLE = 2 ** 63 - 1
_MOST_NUMBER = 1e18  # products of a few of them are finite
_MOST_CHARACTERS = 255
_SHOWN = 60


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A value of a JSON document, and where it was found.

    The readers whose names end in ``_or_none`` return None for null; what an
    object lacks is null.

    :param place: such as ``jobs[0].read``; empty for a whole document
    :param error: makes the exception that is raised, of a clause
    """

    value: Any
    place: str = ''
    error: Callable[[str], Exception] = ValueError

    def __getitem__(self, name: str) -> Field:
        """The value of an object's key."""
        return self._below(self.object().get(name), name)

    def object(self) -> dict[str, Any]:
        return self._of(dict, 'an object')

    def array(self) -> list[Any]:
        return self._of(list, 'a list')

    def array_if_any(self) -> list[Any]:
        """A list; empty where it is null."""
        return [] if self.value is None else self.array()

    def items(self, least: int = 0) -> list[Field]:
        if len(self.array()) < least:
            raise self.wrong(f'a list of {least} or more')
        return [Field(value, f'{self.place}[{i}]', self.error)
                for i, value in enumerate(self.value)]

    def pairs(self) -> list[tuple[str, Field]]:
        return [(name, self._below(value, name))
                for name, value in self.object().items()]

    def text(self) -> str:
        """Any text; what UTF-8 cannot hold (half a character) becomes ?."""
        return _whole(self._of(str, 'a text'))

    def text_or_none(self) -> str | None:
        return None if self.value is None else self.text()

    def name(self) -> str:
        value = self.value
        if not isinstance(value, str) or not value.isprintable() or (
                not 0 < len(value) <= _MOST_CHARACTERS):
            raise self.wrong(
                f'a printable name of 1 to {_MOST_CHARACTERS} characters')
        return value

    def name_or_none(self) -> str | None:
        """A name; None also for an empty text."""
        return None if self.value in (None, '') else self.name()

    def texts(self) -> dict[str, str]:
        """Texts by their keys, none for null; numbers become texts."""
        if self.value is None:
            return {}
        found = self.object()
        for name, value in found.items():
            if not isinstance(value, (str, int, float)):
                raise self._below(value, name).wrong('a text')
        return {_whole(name): _whole(value if isinstance(value, str)
                                     else shown(value))
                for name, value in found.items()}

    def one_of(self, values: Collection[str]) -> str:
        if self.value not in [*values]:
            raise self.wrong(' or '.join(values))
        return self.text()

    def whole(self, least: int = 0, most: int = _MOST_WHOLE) -> int:
        """A whole number; older programs print it as text."""
        value = self.value
        if isinstance(value, str) and re.fullmatch('[0-9]{1,19}', value):
            value = int(value)
        if not is_number(value, least, most) or value != int(value):
            raise self.wrong(f'a whole number from {least} to {most}')
        return int(value)

    def number(self, least: float = 0.0,
               most: float = _MOST_NUMBER) -> float:
        if not is_number(self.value, least, most):
            raise self.wrong(f'a number from {least:g} to {most:g}')
        return float(self.value)

    def flag(self, absent: bool | None = None) -> bool:
        """True or false; older programs print 1 or 0, or these as text.

        :param absent: what null stands for, where it is no error
        """
        if self.value is None and absent is not None:
            return absent
        if self.value in ('0', '1'):
            return self.value == '1'
        if self.value not in (0, 1) or isinstance(self.value, float):
            raise self.wrong('true or false')
        return bool(self.value)

    def moment(self, zone_needed: bool = False) -> float:
        """An ISO 8601 time as seconds of the epoch; UTC without a zone.

        :param zone_needed: whether a time without a zone is refused
        """
        try:
            return times.parse(self.value, zone_needed)
        except ValueError:
            raise self.wrong('an ISO 8601 time' + ' with a zone' * zone_needed
                             ) from None

    def moment_or_none(self) -> float | None:
        return None if self.value is None else self.moment()

    def wrong(self, expected: str) -> Exception:
        """The error that says what the value should have been."""
        place = (self.place if len(self.place) <= _SHOWN
                 else f'...{self.place[-_SHOWN:]}')
        whose = f'its {place}' if place.isprintable() else (
            f'its {place!r}')
        return self.error(f'{whose if place else "it"} is '
                          f'{shown(self.value)}, not {expected}')

    def _of(self, kind: type, expected: str) -> Any:
        if not isinstance(self.value, kind):
            raise self.wrong(expected)
        return self.value

    def _below(self, value: Any, name: str) -> Field:
        return Field(value, f'{self.place}.{name}' if self.place else name,
                     self.error)


def unusable(source: str,
             error: type[errors.SerifosError] = errors.ToolError
             ) -> Callable[[str], errors.SerifosError]:
    """Makes a user's error of a clause on the output of a source.

    :param source: the program or file
    """
    return lambda why: error(f'The data from {source} cannot be used: {why}.')


def finite(value: object) -> float | None:
    """A finite number, or the text of one; None where it is neither."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or (
            isinstance(value, str) and len(value) > _MOST_CHARACTERS):
        return None
    try:
        found = float(value)
    except (OverflowError, ValueError):
        return None
    return found if math.isfinite(found) else None


def plain(doc: dict[str, Any]) -> dict[str, Any]:
    """The texts, numbers and flags of an object, and its nulls."""
    return {name: value for name, value in doc.items()
            if value is None or isinstance(value, (str, int, float))}


def document(value: Any) -> dict[str, Any]:
    """A dataclass by the names of its fields; what they hold is not copied.

    ``dataclasses.asdict`` copies it, which takes most of the time in which a
    large document is written.
    """
    return {name: getattr(value, name) for name in _names(type(value))}


@functools.cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def is_number(value: object, least: float, most: float) -> bool:
    """Within the bounds, so that it is neither NaN nor infinite."""
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and least <= value <= most)


def shown(value: object) -> str:
    """A value in a sentence: short, and no deeper than its type."""
    if isinstance(value, dict):
        return 'an object'
    if isinstance(value, list):
        return 'a list'
    if value is None:
        return 'null'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 10 ** _SHOWN:
        return f'of more than {_SHOWN} digits'
    said = repr(value) if isinstance(value, str) else str(value)
    return said if len(said) <= _SHOWN else f'{said[:_SHOWN]}...'


def _whole(text: str) -> str:
    return text.encode('utf-8', 'replace').decode()


def refuse_outside(what: str, value: float, least: float,
                   most: float = math.inf, unit: str = '') -> None:
    """Refuses NaN too.

    :param what: the option that the figure was given by, or its name
    :raises InputError: where it is below the least or above the most
    """
    if not least <= value <= most:
        # No float holds an int of some hundred digits.
        given = f'{value:g}' if isinstance(value, float) else value
        ends = 'or more' if most == math.inf else f'to {most:.12g}'
        unit = unit and f' {unit}'
        raise errors.InputError(
            f'A {what} of {given}{unit} cannot be used; give {least:.12g} '
            f'{ends}{unit}.')
