# SPDX-License-Identifier: Apache-2.0
"""What the parameters of every simulated device have in common."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from serifos import errors


def refuse_negative(device: Any) -> None:
    """Refuses what is negative, no number, or not whole where a count is.

    :param device: a dataclass whose first field is its name
    :raises InputError: of the first such field
    """
    for field in dataclasses.fields(device)[1:]:
        value = getattr(device, field.name)
        if not (math.isfinite(value) and value >= 0):
            raise errors.InputError(
                f'{field.name} of the simulated device {device.name} is '
                f'{value}; give a number that is not negative.')
        if field.type == 'int' and value % 1:
            raise errors.InputError(
                f'{field.name} of the simulated device {device.name} is '
                f'{value}; give a whole number.')


def between(rng: np.random.Generator, least: float, greatest: float) -> float:
    """A value drawn log-uniformly."""
    return float(least * math.exp(
        rng.uniform(0, math.log(greatest / least))))
