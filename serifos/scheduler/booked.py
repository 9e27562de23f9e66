# SPDX-License-Identifier: Apache-2.0
"""How much capacity is allocated by what is recorded, yet not in the file?"""

from __future__ import annotations

import collections
from collections.abc import Iterable

from serifos.scheduler import snapshot as sn


class Booked:
    """GiB by pool.

    A volume that moves is recorded here, or its copy is in the file, or
    both.
    """

    def __init__(self) -> None:
        self._of: dict[str, tuple[str, float, bool]] = {}
        self._new: collections.Counter[str] = collections.Counter()
        self._moving: collections.Counter[str] = collections.Counter()
        self._copies: dict[str, float] = {}
        self.pools: set[str] = set()

    def gib(self, pool: str) -> float:
        return self._new[pool] + max(
            self._moving[pool], self._copies.get(pool, 0.0))

    def add(self, volume_id: str, pool: str, gib: float, moves: bool,
            snapshot: sn.Snapshot | None) -> None:
        """:param moves: whether it lived elsewhere before"""
        volume = snapshot and snapshot.volumes.get(volume_id)
        if volume is None or volume.pool != pool:
            self._of[volume_id] = pool, gib, moves
            (self._moving if moves else self._new)[pool] += gib
            self.pools.add(pool)

    def remove(self, volume_id: str) -> None:
        pool, gib, moves = self._of.pop(volume_id, ('', 0.0, False))
        if gib:
            (self._moving if moves else self._new)[pool] -= gib

    def renew(self, snapshot: sn.Snapshot,
              recorded: Iterable[tuple[str, str, float, bool]]) -> None:
        """Another file; all that is recorded is looked up in it."""
        self._of.clear()
        self._new.clear()
        self._moving.clear()
        self._copies = dict(snapshot.copies_gib)
        self.pools = set(self._copies)
        for volume_id, pool, gib, moves in recorded:
            self.add(volume_id, pool, gib, moves, snapshot)
