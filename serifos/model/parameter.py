# SPDX-License-Identifier: Apache-2.0
"""What may be chosen when a kind is fitted, and what is chosen else?"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from serifos import errors


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A setting of a fit, such as minsplit: its standard and its range.

    :param whole: whether it is rounded to a whole number
    """

    name: str
    standard: float
    least: float
    greatest: float
    whole: bool = True

    def valid(self, value: float) -> float:
        """The nearest value that may be used."""
        value = min(max(value, self.least), self.greatest)
        return float(round(value)) if self.whole else float(value)


def settings(parameters: Iterable[Parameter],
             given: Mapping[str, float]) -> dict[str, float]:
    """Every setting of a kind: what is given, else its standard.

    :raises InputError: where a name is none of them, or a value is outside
        of its range
    """
    by_name = {one.name: one for one in parameters}
    for name, value in given.items():
        if name not in by_name:
            raise errors.InputError(
                f'There is no setting {name} here; there is '
                f'{", ".join(by_name) or "none at all"}.')
        one = by_name[name]
        if not one.least <= value <= one.greatest or (
                one.whole and value != round(value)):
            raise errors.InputError(
                f'{name} = {value:g} cannot be used; give a '
                f'{"whole " * one.whole}number from {one.least:g} to '
                f'{one.greatest:g}.')
    return {name: float(given.get(name, one.standard))
            for name, one in by_name.items()}
