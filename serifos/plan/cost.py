# SPDX-License-Identifier: Apache-2.0
"""What does it cost to carry a plan out?

A migration copies a volume whole, whatever it holds: all of it is read on
the source and written on the target. Where the source wipes what it deletes
(thick LVM with ``volume_clear = zero``, Cinder's default) as much is
written there again.
"""

from __future__ import annotations

from collections.abc import Iterable
import dataclasses

from serifos.plan import plan as pl
from serifos import workload as wl

COPY_BLOCK_KIB = 1024.0

READ = wl.Workload(write_pct=0.0, block_kib=COPY_BLOCK_KIB, iodepth=1.0,
                   random_pct=0.0)
"""What a migration adds to its source while it copies: one sequential
stream in the blocks of Cinder's ``dd``."""

WRITE = dataclasses.replace(READ, write_pct=100.0)
"""What it adds to its target, and to its source while that is wiped."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cost:
    """What moves transfer in all.

    :param read_gib: on their sources
    :param written_gib: on their targets
    :param zeroed_gib: written once more on their sources, to wipe them
    """

    read_gib: float
    written_gib: float
    zeroed_gib: float

    @classmethod
    def of(cls, moves: Iterable[pl.Move], wipes: bool = True) -> Cost:
        """:param wipes: whether the source zeroes a volume that it deletes"""
        gib = float(sum(move.size_gib for move in moves))
        return cls(gib, gib, gib if wipes else 0.0)
