# SPDX-License-Identifier: Apache-2.0
"""What may a price be, by the price of something else in the same place?"""

from __future__ import annotations

import math


class Line:
    """The straight line of least squares through points, never falling."""

    def __init__(self) -> None:
        self._sums = (0.0,) * 5
        self._line: tuple[float, float] | None = 0.0, 1.0

    def add(self, x: float, y: float) -> None:
        n, sum_x, sum_y, sum_xx, sum_xy = self._sums
        sums = n + 1, sum_x + x, sum_y + y, sum_xx + x * x, sum_xy + x * y
        if math.isfinite(sum(sums)):
            self._sums, self._line = sums, None

    def at(self, x: float) -> float:
        """y, never negative; x itself where there is no point."""
        if self._line is None:
            self._line = self._fit()
        at_zero, slope = self._line
        y = at_zero + slope * x
        return y if y > 0 else 0.0

    def _fit(self) -> tuple[float, float]:
        n, sum_x, sum_y, sum_xx, sum_xy = self._sums
        spread = n * sum_xx - sum_x * sum_x
        if n < 2 or spread <= 1e-9 * sum_xx * n:
            return (0.0, sum_y / sum_x) if sum_x > 0 else (sum_y / n, 0.0)
        slope = max(0.0, (n * sum_xy - sum_x * sum_y) / spread)
        return (sum_y - slope * sum_x) / n, slope


class Lines:
    """A line for each model, and one of all for those without points."""

    def __init__(self) -> None:
        self._of: dict[str, Line] = {}
        self._all = Line()

    def knows(self, model: str) -> bool:
        return model in self._of

    def add(self, model: str, x: float, y: float) -> None:
        self._of.setdefault(model, Line()).add(x, y)
        self._all.add(x, y)

    def at(self, model: str, x: float) -> float:
        return self._of.get(model, self._all).at(x)
