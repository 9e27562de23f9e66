# SPDX-License-Identifier: Apache-2.0
"""What is asked of simulated devices."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.intp]


@dataclasses.dataclass(frozen=True, eq=False)
class Demand:
    """What volumes ask for, float[n] each.

    :param reads_s: requests per second that read
    :param writes_s: the same that write
    :param random: share of requests at a random offset
    """

    reads_s: Floats
    writes_s: Floats
    kib: Floats
    random: Floats

    def beside(self, other: Demand) -> Demand:
        """These and then others."""
        return Demand(*(np.concatenate([getattr(each, field.name)
                                        for each in (self, other)])
                        for field in dataclasses.fields(self)))
