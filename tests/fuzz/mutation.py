# SPDX-License-Identifier: Apache-2.0
"""Inputs like the good ones, but broken: by JSON, by words or by bytes.

Chance is an argument, so that the same seed makes the same inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
import json
import random
import re
from typing import Any

NUMBERS = ('0', '-0.0', '-1', '1', '0.5', '1e-320', '1e15', '1e16', '-1e18',
           '1e308', '-1e308', '1e400', '-1e400', '1' + '0' * 310,
           '9' * 5000, 'NaN', 'Infinity', '-Infinity', '2147483648',
           '9223372036854775808', '1e3', '0.1', '100', '101', '1048577')
"""As JSON writes them; most are none."""

VALUES = ('null', 'true', 'false', '""', '"a"', '[]', '{}', '[null]', '[[]]',
          '[0, 1]', '[1, 0]', '{"a": 1}', '"\\ud800"', '"\\u0000"', '"1e400"',
          '"nan"', '"../x"', '"%s"', '"' + 'x' * 300 + '"', '"١٢"',
          '"2026-11-20T12:00:00Z"', '"9999-99-99T99:99:99"', '"-1"', '"\\n"')

BYTES = (b'\x00', b'\xff', b'\n', b'"', b'{', b'}', b'[', b']', b',', b':',
         b'-', b'.', b'e', b'\\', b'\xed\xa0\x80', b'\xef\xbb\xbf', b'<',
         b'nan', b'inf', b'1e400', b'9' * 400, b'=', b'/', b'#', b' ')

_MOST = 1 << 16
_RAW = '\x01raw:'


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A few changes to an input."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        data = (_by_values(data, chance) if chance.random() < 0.6
                else _by_bytes(data, chance))
    return data[:_MOST]


def _by_values(data: bytes, chance: random.Random) -> bytes:
    """One value of one line's JSON is another, or gone, or there twice."""
    whole = data.split(b'\n')
    lines = [n for n, line in enumerate(whole) if line.strip()]
    try:
        docs, number = [json.loads(data)], None
    except (ValueError, RecursionError):
        if not lines:
            return _by_bytes(data, chance)
        number = chance.choice(lines)
        try:
            docs = [json.loads(whole[number])]
        except (ValueError, RecursionError):
            whole[number] = _by_words(whole[number], chance)
            return b'\n'.join(whole)
    try:
        _change(docs, chance)
        text = _text(docs[0]) if docs else ''
    except RecursionError:
        return _by_bytes(data, chance)
    changed = text.encode('utf-8', 'surrogatepass')
    if number is None:
        return changed
    whole[number] = changed
    return b'\n'.join(whole)


def _by_words(line: bytes, chance: random.Random) -> bytes:
    """One field of a line of CSV, of options or of arguments is another."""
    words = re.split(rb'([\s,:=]+)', line)
    words[2 * chance.randrange(len(words) // 2 + 1)] = chance.choice(
        NUMBERS if chance.random() < 0.6 else VALUES).encode()
    return b''.join(words)


def _text(value: Any) -> str:
    """JSON, but what was put in as text of JSON stays as it is."""
    if isinstance(value, str) and value.startswith(_RAW):
        return value[len(_RAW):]
    if isinstance(value, dict):
        return '{%s}' % ', '.join(
            f'{json.dumps(key)}: {_text(its)}' for key, its in value.items())
    if isinstance(value, list):
        return '[%s]' % ', '.join(map(_text, value))
    return json.dumps(value)


def _change(docs: list[Any], chance: random.Random) -> None:
    """Replaces, removes, renames or repeats what is somewhere inside."""
    places: list[tuple[Any, Any]] = [(docs, 0)]
    for container, key in places:
        value = container[key]
        places += [(value, k) for k in (
            value if isinstance(value, dict) else
            range(len(value)) if isinstance(value, list) else ())][:500]
    container, key = chance.choice(places)
    how = chance.random()
    if how < 0.5:
        container[key] = _RAW + chance.choice(
            NUMBERS if chance.random() < 0.6 else VALUES)
    elif how < 0.65:
        del container[key]
    elif how < 0.8:
        other, its = chance.choice(places)
        container[key] = other[its] if not _holds(
            other[its], container) else None
    elif isinstance(container, dict):
        container[chance.choice(('', 'x', str(key).upper(), '1', '5+'))] = (
            container.pop(key) if how < 0.9 else container[key])
    elif how < 0.95:
        container.insert(key, container[key])
    else:
        container[key] = _RAW + '[' * 2000 + ']' * 2000


def _holds(value: Any, container: Any) -> bool:
    inside = [value]
    for one in inside:
        if one is container:
            return True
        inside += (one.values() if isinstance(one, dict) else
                   one if isinstance(one, list) else ())
    return False


def _by_bytes(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    to = min(len(data), at + chance.choice((0, 1, 1, 2, 8, 64)))
    how = chance.random()
    if how < 0.5:
        return data[:at] + chance.choice(BYTES) + data[to:]
    if how < 0.7:
        return data[:at] + data[to:]
    if how < 0.9:
        return data[:at] + data[at:to] * chance.choice(
            (2, 3, 1000)) + data[to:]
    if how < 0.95:
        return data[:at]
    return data[:at] + bytes([chance.randrange(256)]) + data[to:]


def inputs(seeds: Sequence[bytes], chance: random.Random,
           many: int) -> list[bytes]:
    """The seeds themselves, and so many changes of them."""
    return [*seeds, *(mutated(chance.choice(seeds), chance)
                      for _ in range(many))]
