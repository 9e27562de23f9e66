# SPDX-License-Identifier: Apache-2.0
"""Settings of a fit: standard value and range of each."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import dataclasses

from serifos import errors


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A setting of a fit, such as minsplit: its standard value and its range.

    :param whole: whether it is rounded to a whole number
    :param searched: whether a search for settings tries other values
    """

    name: str
    standard: float
    least: float
    greatest: float
    whole: bool = True
    searched: bool = True

    def valid(self, value: float) -> float:
        """The nearest value that may be used."""
        value = min(max(value, self.least), self.greatest)
        return float(round(value)) if self.whole else float(value)


def settings(parameters: Iterable[Parameter],
             given: Mapping[str, float]) -> dict[str, float]:
    """Every setting of a kind: the value given, else its standard.

    :raises InputError: where a name is unknown, or a value out of range
    """
    by_name = {one.name: one for one in parameters}
    for name, value in given.items():
        if name not in by_name:
            raise errors.InputError(
                f'There is no setting {name} here; there is '
                f'{", ".join(by_name) or "none"}.')
        one = by_name[name]
        if not one.least <= value <= one.greatest or (
                one.whole and value != round(value)):
            raise errors.InputError(
                f'{name} = {value:g} cannot be used; give a '
                f'{"whole " * one.whole}number from {one.least:g} to '
                f'{one.greatest:g}.')
    return {name: float(given.get(name, one.standard))
            for name, one in by_name.items()}
