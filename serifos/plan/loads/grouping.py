# SPDX-License-Identifier: Apache-2.0
"""Items in groups, as arrays of indices."""

from __future__ import annotations

from collections.abc import Hashable
from collections.abc import Iterable
from typing import Any

import numpy as np

from serifos.plan.predictions import Ints


def by_device(items: Ints, device: Ints, count: int) -> tuple[Ints, Ints]:
    """Items sorted by their device, and where each device begins."""
    order = np.argsort(device, kind='stable')
    return items[order], np.searchsorted(device[order], np.arange(count + 1))


def distinct(items: Iterable[Hashable]) -> tuple[list[Any], Ints]:
    """The distinct items, and for each item its place among them."""
    place: dict[Hashable, int] = {}
    index = [place.setdefault(item, len(place)) for item in items]
    return list(place), np.array(index, np.intp)
