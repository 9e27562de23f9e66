# SPDX-License-Identifier: Apache-2.0
"""Parse a large JSON document part by part.

The parser of the standard library takes a text whole: half a second for
that of a cloud of 10,000 pools. This one hands out the members of the
outermost object, and of chosen lists the elements, one at a time; in between
the reader may do something else.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
import json
import re
from typing import Any
from typing import NamedTuple
from typing import NoReturn
from typing import TextIO

AT_ONCE = 1 << 18
"""Characters that are read from a file at a time."""

_CUT = 2  # characters that the end of a number may lack
_LONGEST = 1 << 24  # characters of one part
_SPACE = re.compile(r'[ \t\n\r]*')


class Part(NamedTuple):
    """A member of the object, or an element of a list that is one.

    :param length: characters that it takes
    :param element: of a list, which itself comes empty after the last one
    """

    name: str
    value: Any
    length: int
    element: bool = False


def of(file: TextIO, lists: Collection[str],
       at_once: int = AT_ONCE) -> Iterator[Part]:
    """The parts of a document.

    :param lists: names of the members whose elements come one by one
    :param at_once: characters that are read at a time
    :raises ValueError: with a clause that says why it is not a JSON object
    """
    text = _Text(file, at_once)
    text.skip('{')
    last = text.peek() == '}' and text.skip('}')
    while not last:
        name, length = text.value()
        if not isinstance(name, str):
            raise ValueError('it is not JSON (a key is not a string)')
        text.skip(':')
        if name in lists and text.peek() == '[':
            yield from _elements(text, name)
            yield Part(name, [], 0)
        else:
            yield Part(name, *text.value())
        last = text.skip(',}') == '}'
    if text.peek():
        raise ValueError('it is not JSON (text follows its end)')


def _elements(text: _Text, name: str) -> Iterator[Part]:
    text.skip('[')
    last = text.peek() == ']' and text.skip(']')
    while not last:
        value, length = text.value()
        yield Part(name, value, length, True)
        last = text.skip(',]') == ']'


def _refuse(name: str) -> NoReturn:
    raise ValueError(f'{name} is not a number')


_DECODER = json.JSONDecoder(parse_constant=_refuse)


class _Text:
    """A text that is read from its file as needed."""

    def __init__(self, file: TextIO, at_once: int) -> None:
        self._file = file
        self._at_once = at_once
        self._text = ''
        self._at = 0
        self._ended = False

    def _more(self) -> None:
        rest = self._text[self._at:]
        if len(rest) > _LONGEST:
            raise ValueError('one of its values is too long')
        new = self._file.read(max(self._at_once, len(rest)))
        self._ended = not new
        self._text, self._at = rest + new, 0

    def peek(self) -> str:
        """The next character but spaces; empty at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()
            if self._at < len(self._text) or self._ended:
                return self._text[self._at:self._at + 1]
            self._more()

    def skip(self, wanted: str) -> str:
        """The next character, which must be one of these."""
        found = self.peek()
        if not found or found not in wanted:
            raise ValueError(
                f'it is not JSON ({" or ".join(wanted)} is missing)')
        self._at += 1
        return found

    def value(self) -> tuple[Any, int]:
        """The next value, and its length in characters."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as exc:
                if self._ended:
                    raise ValueError(f'it is not JSON ({exc.msg})') from None
            except RecursionError:
                raise ValueError('it is nested too deeply') from None
            else:
                # A number that is cut behind "1e-" reads as a whole one.
                if end + _CUT < len(self._text) or self._ended:
                    length, self._at = end - self._at, end
                    return value, length
            self._more()
