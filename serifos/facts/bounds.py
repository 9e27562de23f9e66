# SPDX-License-Identifier: Apache-2.0
"""Refusal of a figure that is out of bounds."""

from __future__ import annotations

import math

from serifos import errors


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
