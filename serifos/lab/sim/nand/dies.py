# SPDX-License-Identifier: Apache-2.0
"""A die of a flash device: what waits for it, and what it does next."""

from __future__ import annotations

import collections
from typing import Any
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from serifos.lab.sim.nand import nand

READ, PROGRAM, COLLECT, RESUME = range(4)
"""What a die does; ``RESUME`` is to go on with what was suspended."""


class Die:
    """The requests that wait for a die, and the garbage it owes.

    ``turn`` is how many reads it has served since the last of the others,
    ``debt`` the times of collections to come, µs, ``worn`` how many pages
    were overwritten since the last.
    """

    __slots__ = ('reads', 'programs', 'debt', 'busy', 'turn', 'until',
                 'paused', 'worn', 'channel')

    def __init__(self, channel: int) -> None:
        self.reads: collections.deque[Any] = collections.deque()
        self.programs, self.worn = 0, 0.0
        self.debt: collections.deque[float] = collections.deque()
        self.busy: int | None = None
        self.turn, self.until = 0, 0
        self.paused: tuple[int, float] | None = None
        self.channel = channel

    def chooses(self, device: nand.Nand) -> int | None:
        """What comes next, None for nothing.

        Reads before all others, but not for ever.
        """
        others = self.programs or self.debt or self.paused
        if self.reads and (self.turn < device.turns or not others):
            self.turn += 1
            return READ
        if not others:
            return None
        self.turn = 0
        if self.paused:
            return RESUME
        return COLLECT if self.debt and (
            len(self.debt) >= device.pieces or not self.programs) else PROGRAM

    def programmed(self, device: nand.Nand, pace: float) -> None:
        """A page was programmed; a block may have to be collected then.

        :param pace: what all times are multiplied by
        """
        dead = device.block_pages * (1 - device.valid)
        if device.block_pages and self.worn >= dead:
            self.worn -= dead
            us = pace * (
                device.block_pages * device.valid
                * (device.read_us + device.program_us) + device.erase_us)
            self.debt.extend([us / device.pieces] * device.pieces)
