# SPDX-License-Identifier: Apache-2.0
"""Rates by volume and slot, in an array that grows as lines come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serifos.facts import times
from serifos.lab.backtest.rates import COLUMNS
from serifos.lab.backtest.rates import Rates

MOST_CELLS = 250_000_000
"""Volumes times slots of a history, at most: 9 GB while it is read."""

FEW_CELLS = 5_000_000
"""Of which any may be empty: 0.2 GB."""

_EMPTY = 300  # of more, for each line

_OFF_GRID = 0.1  # of a slot, that a begin may be away from it
_LINES = 65536  # that wait


class Wrong(Exception):
    """What is wrong with a line, a clause.

    :ivar line: its number where it is not the last one read
    """

    def __init__(self, clause: str, line: int | None = None) -> None:
        super().__init__(clause)
        self.line = line


class Grid:
    """Values by volume and slot, which grow as lines come."""

    def __init__(self) -> None:
        self.volumes: dict[str, int] = {}
        self._step = 0.0
        self._begin = 0.0
        self._slots = (0, 0)  # the first, and the one after the last
        self._values = np.empty((0, 0, 4), np.float32)
        self._first = 0  # the slot of the first column
        self._lines: list[tuple[int, int, int, float, float, float, float]]
        self._lines = []
        self._read = 1

    def add(self, volume: str, begin: float, seconds: float,
            rates: Sequence[float]) -> None:
        self._read += 1
        if not self._step:
            self._step, self._begin = seconds, begin
        if seconds != self._step:
            raise Wrong(f'it lasts {seconds:g} s, others {self._step:g} s; '
                        'all lines must be of slots of one length')
        at = (begin - self._begin) / self._step
        slot = round(at)
        if abs(at - slot) > _OFF_GRID:
            raise Wrong(f'it begins between two slots of {self._step:g} s '
                        f'counted from {times.text(self._begin)}')
        if volume not in self.volumes:
            self.volumes[volume] = len(self.volumes)
        low, high = self._slots
        self._slots = min(low, slot), max(high, slot + 1)
        cells = (self._slots[1] - self._slots[0]) * len(self.volumes)
        if cells > MOST_CELLS:
            raise Wrong(f'{len(self.volumes):,} volumes from the first to '
                        f'the last slot are more than {MOST_CELLS:,} '
                        'values; shorten it')
        self._lines.append((self.volumes[volume], slot, self._read, *rates))
        if len(self._lines) >= _LINES:
            self.flush()

    def flush(self) -> None:
        """Puts the lines that wait into the array."""
        if not self._lines:
            return
        self._grow()
        lines = np.array(self._lines)
        who, slot, at = lines[:, :3].astype(np.intp).T
        slot -= self._first
        flat = who * self._values.shape[1] + slot
        values = self._values.reshape(-1, 4)
        order = np.argsort(flat, kind='stable')
        twice = order[1:][np.diff(flat[order]) == 0]
        again = np.flatnonzero(~np.isnan(values[flat, 0]))
        if len(twice) or len(again):
            raise Wrong('its volume has this slot twice', int(
                at[np.concatenate([twice, again])].min()))
        values[flat] = lines[:, 3:]
        self._lines.clear()

    def _grow(self) -> None:
        volumes, slots = self._values.shape[:2]
        low, high = self._slots
        if (len(self.volumes) <= volumes and low >= self._first
                and high <= self._first + slots):
            return
        self._refuse_empty()
        # A quarter more, so that copies stay few.
        first = min(low, self._first) if slots else low
        if low < self._first:
            first -= (high - low) // 4
        more = max(slots, high - first)
        more += more // 4 if more > slots > 0 else 0
        rows = len(self.volumes)
        rows = rows if rows <= volumes else rows + rows // 4
        grown = np.full((max(rows, volumes), more, 4), np.nan, np.float32)
        shift = self._first - first
        grown[:volumes, shift:shift + slots] = self._values[
            :, :more - shift]
        self._values, self._first = grown, first

    def _refuse_empty(self) -> None:
        low, high = self._slots
        lines = self._read - 1
        if (high - low) * len(self.volumes) > FEW_CELLS + _EMPTY * lines:
            since, until = (times.text(self._begin + slot * self._step)
                            for slot in self._slots)
            raise Wrong(f'{lines:,} lines are too few for '
                        f'{len(self.volumes):,} volumes from {since} to '
                        f'{until} in slots of {self._step:g} s; correct '
                        'their begins')

    def series(self) -> Rates:
        low, high = (slot - self._first for slot in self._slots)
        seen = self._values[:len(self.volumes), low:high]
        values = np.empty((*seen.shape[:2], len(COLUMNS)), np.float32)
        values[..., :2] = seen[..., :2]
        values[..., 2] = 1024 * (seen[..., 2] + seen[..., 3])
        # Where requests went is not in the file: at random, the usual case.
        values[..., 3] = seen[..., 0] + seen[..., 1]
        values[..., 4] = np.nan
        return Rates(self._begin + self._slots[0] * self._step,
                     self._step, tuple(self.volumes), values)
