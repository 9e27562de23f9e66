# SPDX-License-Identifier: Apache-2.0
"""JSON from files, programs and servers: every number is finite.

Python's own reader takes NaN, turns 1e400 into infinity, keeps integers that
no float can hold, drops all but the last of equal keys, makes text that no
file can hold of half a character, and runs out of stack on deep nesting.
Whoever reads outside text reads it here, so that what follows may compute
with any number in it, and write any text.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
import contextlib
import json
import math
import re
from typing import Any
from typing import NoReturn

from serifos import errors
from serifos.facts import fields

_MOST_BEGINS = 100

_SURE_DIGITS = 300
"""An integer of no more is less than the largest float."""


def loads(text: str | bytes, checks: bool = False) -> Any:
    """The value of a JSON text.

    :param checks: whether the caller checks all numbers, which may then be
        infinite
    :raises ValueError: with a clause that says why this is not JSON, or which
        number cannot be computed with
    """
    try:
        if not isinstance(text, str):
            text = text.decode()
        decoder = _CHECKED if checks else _decoder(_object)
        return _whole(text, decoder.decode(text))
    except json.JSONDecodeError as exc:
        raise ValueError(
            f'it is not JSON ({exc.msg}, line {exc.lineno}, column '
            f'{exc.colno})') from None
    except UnicodeEncodeError:
        raise ValueError(
            'it holds half a character (a lone surrogate)') from None
    except UnicodeDecodeError:
        raise ValueError('it is not UTF-8 text') from None
    except RecursionError:
        raise ValueError('it is nested too deeply') from None


def read(text: str | bytes, source: str,
         error: type[errors.SerifosError] = errors.ToolError
         ) -> fields.Field:
    """The document that a program or file holds, to be read by type.

    Faults of it, here and further on, are of the class that is given.

    :raises SerifosError: where it is not JSON
    """
    fault = fields.unusable(source, error)
    try:
        return fields.Field(loads(text), error=fault)
    except ValueError as exc:
        raise fault(str(exc)) from None


def within(text: str, key: str, source: str,
           error: type[errors.SerifosError] = errors.ToolError,
           last: bool = False) -> fields.Field:
    """The object with a key among the lines that a program printed.

    Lines may stand before and after it, and hold braces. What an object has
    twice it has not: nobody knows which one counts.

    :param last: of equal keys the last one counts
    :raises SerifosError: where there is none
    """
    begins = [found.start() for found in re.finditer(r'^\{', text, re.M)
              ] or [max(text.find('{'), 0)]
    decoder = _decoder(dict if last else _unambiguous)
    for begin in begins[:_MOST_BEGINS]:
        with contextlib.suppress(ValueError, RecursionError):
            value, end = decoder.raw_decode(text, begin)
            if key in value and not text[end:].partition('\n')[0].strip():
                return fields.Field(_whole(text, value),
                                    error=fields.unusable(source, error))
    return read(text[begins[0]:], source, error)


def _decoder(hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]
             ) -> json.JSONDecoder:
    return json.JSONDecoder(parse_constant=_refuse, parse_float=_number,
                            parse_int=_integer, object_pairs_hook=hook)


def _whole(text: str, value: Any) -> Any:
    if not text.isascii():
        text.encode()
    if '\\ud' in text or '\\uD' in text:
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = collections.Counter(key for key, _ in pairs)
        key = _short(keys.most_common(1)[0][0])
        raise ValueError(f'it has the key {key!r} twice')
    return found


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = collections.Counter(key for key, _ in pairs)
        found = {key: found[key] for key in found if keys[key] == 1}
    return found


def _short(text: str) -> str:
    return text if len(text) <= 40 else f'{text[:40]}...'


def _refuse(text: str) -> NoReturn:
    if len(text) > 20:
        text = f'{text[:12]}... of {len(text)} characters'
    raise ValueError(f'{text} is not a finite number')


def _number(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text)


def _integer(text: str) -> int:
    if len(text) > _SURE_DIGITS:
        _number(text)
    return int(text)


_CHECKED = json.JSONDecoder(parse_constant=_refuse,
                            object_pairs_hook=_object)
