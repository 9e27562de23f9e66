# SPDX-License-Identifier: Apache-2.0
"""Functions of numbers, or of arrays, for code that computes with both.

Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import math
from typing import Any

Number = Any
"""A float, or an array of them."""


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """The functions that differ between numbers and arrays."""

    exp: Callable[[Number], Number]
    log: Callable[[Number], Number]
    sqrt: Callable[[Number], Number]
    larger: Callable[[Number, Number], Number]
    smaller: Callable[[Number, Number], Number]


NUMBERS = Arithmetic(math.exp, math.log, math.sqrt, max, min)


def arrays() -> Arithmetic:
    import numpy as np  # the scheduler, which has none, never calls this
    return Arithmetic(np.exp, np.log, np.sqrt, np.maximum, np.minimum)
