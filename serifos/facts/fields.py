# SPDX-License-Identifier: Apache-2.0
"""What does a field of a JSON reply hold? One reader for each type.

Every reader raises ValueError, with a clause that names the field, where it
holds something else: NaN where a size is expected, a list where a text is.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

from serifos.facts import times

_SHOWN = 60
_MOST_CHARACTERS = 255


def document(value: object) -> Mapping[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise ValueError(f'it is {shown(value)}, no object')
    return value


def items(doc: Mapping[str, Any], name: str) -> list[Any]:
    """A list; none where it is null or absent."""
    value = doc.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f'its {name} {shown(value)} is no list')
    return value


def text(doc: Mapping[str, Any], name: str) -> str:
    """A name: printable, not empty, of at most 255 characters."""
    value = doc.get(name)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f'its {name} {shown(value)} is no name')
    if len(value) > _MOST_CHARACTERS:
        raise ValueError(
            f'its {name} {shown(value)} is of {len(value)} characters')
    return value


def text_or_none(doc: Mapping[str, Any], name: str) -> str | None:
    """A name, or None where it is null, absent or empty."""
    return None if doc.get(name) in (None, '') else text(doc, name)


def words(doc: Mapping[str, Any], name: str) -> str | None:
    """Any text at all, what a tenant wrote; halves of characters are ?."""
    value = doc.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f'its {name} {shown(value)} is no text')
    return None if value is None else _whole(value)


def texts(doc: Mapping[str, Any], name: str) -> dict[str, str]:
    """Texts by their names; numbers and booleans become texts."""
    found = doc.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError(f'its {name} {shown(found)} is no object')
    for key, value in found.items():
        if not isinstance(value, (str, int, float)):
            raise ValueError(
                f'its {name} {shown(key)} is {shown(value)}, no text')
    return {_whole(key): _whole(value if isinstance(value, str)
                                else shown(value))
            for key, value in found.items()}


def _whole(value: str) -> str:
    """A text that UTF-8 can hold: JSON may say half a character."""
    return value.encode('utf-8', 'replace').decode()


def flag(doc: Mapping[str, Any], name: str) -> bool:
    """True or false; false where it is null or absent."""
    value = doc.get(name)
    if value is not None and not isinstance(value, bool):
        raise ValueError(f'its {name} {shown(value)} is neither true nor '
                         'false')
    return bool(value)


def number(doc: Mapping[str, Any], name: str, most: float) -> float:
    """A finite number from 0 to ``most``."""
    value = doc.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (
            not 0 <= value <= most):
        raise ValueError(
            f'its {name} {shown(value)} is no number from 0 to {most:g}')
    return float(value)


def moment(doc: Mapping[str, Any], name: str) -> float | None:
    """An ISO 8601 time as seconds of the epoch, UTC where no zone is said.

    None where it is null or absent.
    """
    value = doc.get(name)
    if value is None:
        return None
    try:
        return times.parse(value)
    except ValueError:
        raise ValueError(f'its {name} {shown(value)} is no time') from None


def figure(value: object) -> float | None:
    """A finite number, or the text of one; None where it is neither."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or (
            isinstance(value, str) and len(value) > _MOST_CHARACTERS):
        return None
    try:
        found = float(value)
    except (OverflowError, ValueError):
        return None
    return found if math.isfinite(found) else None


def name(value: str) -> str:
    """A name in a sentence: as it is, where it can be one."""
    return value if value.isprintable() and (
        len(value) <= _MOST_CHARACTERS) else shown(value)


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
