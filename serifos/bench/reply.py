# SPDX-License-Identifier: Apache-2.0
"""JSON from programs and files, read with the types that are expected.

What is not as expected is one sentence that names the program or file and
the place in it; who reads a value has it in its type and bounds.
"""

from __future__ import annotations

from collections.abc import Collection
import dataclasses
import math
import re
from typing import Any

from serifos import errors
from serifos.files import strict_json

MOST = 2 ** 63 - 1
"""The greatest whole number that is taken, if nothing less."""

MOST_FIGURE = 1e18
"""The greatest figure: products of a few of them are finite numbers."""

_LONG_PLACE = 60


@dataclasses.dataclass(frozen=True)
class Reply:
    """A value, and where it was found.

    :param source: the program or file, as errors shall name it
    :param at: the place in it, such as ``jobs[0].read``
    :param error: what is raised where the value is not as expected
    """

    value: Any
    source: str
    at: str = ''
    error: type[errors.SerifosError] = errors.ToolError

    def __getitem__(self, name: str) -> Reply:
        """What an object has by a name; null where it lacks it."""
        return self._below(self.object().get(name), f'.{name}')

    def object(self) -> dict[str, Any]:
        return self._of(dict, 'an object')

    def items(self, least: int = 0) -> list[Reply]:
        values = self._of(list, 'a list')
        if len(values) < least:
            raise self.wrong(f'a list of {least} or more')
        return [self._below(v, f'[{i}]') for i, v in enumerate(values)]

    def pairs(self) -> list[tuple[str, Reply]]:
        return [(k, self._below(v, f'.{k}'))
                for k, v in self.object().items()]

    def text(self) -> str:
        return self._of(str, 'text')

    def text_or_none(self) -> str | None:
        return None if self.value is None else self.text()

    def one_of(self, values: Collection[str]) -> str:
        if self.value not in [*values]:
            raise self.wrong(' or '.join(values))
        return self.text()

    def whole(self, least: int = 0, most: int = MOST) -> int:
        """A whole number; older programs print it as text."""
        value = self.value
        if isinstance(value, str) and re.fullmatch('[0-9]{1,19}', value):
            value = int(value)
        if (isinstance(value, bool) or not isinstance(value, (int, float))
                or not least <= value <= most or value != int(value)):
            raise self.wrong(f'a whole number from {least} to {most}')
        return int(value)

    def figure(self, least: float = 0.0) -> float:
        value = self.value
        if (isinstance(value, bool) or not isinstance(value, (int, float))
                or not least <= value <= MOST_FIGURE
                or not math.isfinite(value)):
            raise self.wrong(f'a number from {least:g} to {MOST_FIGURE:g}')
        return float(value)

    def flag(self) -> bool:
        """True or false; older programs print 1 or 0, or these as text."""
        if self.value in ('0', '1'):
            return self.value == '1'
        if self.value not in (0, 1) or isinstance(self.value, float):
            raise self.wrong('true or false')
        return bool(self.value)

    def wrong(self, expected: str) -> errors.SerifosError:
        """The error that says what should have been here."""
        said = (repr(self.value) if isinstance(
            self.value, (str, int, float, type(None)))
            else 'an object' if isinstance(self.value, dict) else 'a list')
        if len(said) > 60:
            said = f'{said[:50]}...'
        at = self.at.removeprefix('.')
        at = at if len(at) <= _LONG_PLACE else f'...{at[-_LONG_PLACE:]}'
        place = f'has {said} as {at}' if at else f'is {said}'
        return self.error(
            f'What {self.source} says cannot be used: it {place}, where '
            f'serifos expects {expected}.')

    def _of(self, kind: type, words: str) -> Any:
        if not isinstance(self.value, kind):
            raise self.wrong(words)
        return self.value

    def _below(self, value: Any, step: str) -> Reply:
        return Reply(value, self.source, self.at + step, self.error)


def read(text: str | bytes, source: str,
         error: type[errors.SerifosError] = errors.ToolError) -> Reply:
    """What a text says.

    :raises SerifosError: of the class that is given, where it is not JSON
    """
    try:
        return Reply(strict_json.loads(text), source, '', error)
    except ValueError as exc:
        raise error(
            f'What {source} says cannot be used: {exc}.') from None
