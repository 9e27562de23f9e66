# SPDX-License-Identifier: Apache-2.0
"""Column types that check values when they are read.

SQLite keeps any value in any column. One that is not of its type would be
computed with, or printed, far from here.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy

from serifos.facts import fields

_MOST = 1e300


class Wrong(ValueError):
    """A value is not of the type of its column."""


class _Checked(sqlalchemy.types.TypeDecorator[Any]):

    kinds: type | tuple[type, ...]
    expected: str

    def process_result_value(self, value: Any,
                             dialect: sqlalchemy.Dialect) -> Any:
        if value is None or self.holds(value):
            return value
        raise Wrong(f'one of its values is {fields.shown(value)}, not '
                    f'{self.expected}')

    def holds(self, value: Any) -> bool:
        return isinstance(value, self.kinds)


class Name(_Checked):
    """A text of a length."""

    impl, cache_ok = sqlalchemy.String, True
    kinds, expected = str, 'a text'


class Whole(_Checked):
    """A whole number of up to 64 bits."""

    impl, cache_ok = sqlalchemy.BigInteger, True
    kinds, expected = int, 'a whole number'


class Number(_Checked):
    """A finite number of double precision."""

    impl, cache_ok = sqlalchemy.Float(53), True
    expected = 'a finite number'

    def holds(self, value: Any) -> bool:
        return fields.is_number(value, -_MOST, _MOST)
