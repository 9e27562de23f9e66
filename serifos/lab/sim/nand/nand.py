# SPDX-License-Identifier: Apache-2.0
"""The parameters of a simulated flash device."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from serifos import errors
from serifos.lab.sim import parameters


@dataclasses.dataclass(frozen=True)
class Nand:
    """A simulated flash device; planners and models never read it.

    :param queue: commands that it takes at once; 0 for any number
    :param command_us: the controller's time for a command
    :param half_duplex: whether reads and writes share one way of the link
    :param page_kib: what a die reads or programs at once, planes together
    :param gathers: whether small writes share a page
    :param turns: reads of a die that may pass a waiting program
    :param suspend_us: what suspending a program for a read costs; 0 where
        a read waits for its end
    :param block_pages: pages of a block; 0 for no garbage collection
    :param valid: share of a collected block that is copied, below 1
    :param pieces: parts of a collection, between which a die serves others
    :param thread_us: time of a request in its volume's thread of the host,
        which serves one after another; 0 where none waits for it
    :param thread_us_per_kib: the same of each KiB
    """

    name: str
    channels: int
    dies: int
    page_kib: float
    read_us: float
    program_us: float
    channel_us_per_kib: float
    link_us_per_kib: float
    write_us: float
    buffer_kib: float
    half_duplex: bool = False
    queue: int = 0
    command_us: float = 1.0
    gathers: bool = True
    turns: int = 4
    suspend_us: float = 0.0
    block_pages: int = 0
    valid: float = 0.0
    erase_us: float = 3000.0
    pieces: int = 16
    readahead: float = 0.0
    noise_cv: float = 0.1
    run_cv: float = 0.012
    thread_us: float = 0.0
    thread_us_per_kib: float = 0.0

    def __post_init__(self) -> None:
        parameters.refuse_negative(self)
        if not (self.dies and self.channels and self.page_kib
                and self.pieces and self.turns
                and self.buffer_kib >= 2 * self.page_kib):
            raise errors.InputError(
                f'The simulated device {self.name} needs a die, a channel, '
                'a page, a piece of a collection, a turn of reads, and a '
                'buffer of two pages; give at least that.')
        if self.valid >= 1 or self.readahead > 1:
            raise errors.InputError(
                f'The simulated device {self.name} copies all of a collected '
                'block, or reads ahead more than is read; give a valid below '
                '1 and a readahead of 1 at the most.')


def drawn(rng: np.random.Generator) -> Nand:
    """A device drawn at random: SATA or NVMe, its dies busier than its link.

    Blocks are smaller than real ones, so that a run of some thousand
    requests sees many collections.
    """
    between = functools.partial(parameters.between, rng)
    sata = bool(rng.random() < 0.5)
    channels, cells = int(rng.choice([4, 8, 16])), int(rng.integers(1, 3))
    return Nand(
        f'nand-{rng.integers(10 ** 9):09}', channels,
        dies=channels * int(rng.choice([1, 2])),
        page_kib=float(rng.choice([8, 16])),
        read_us=between(40, 60) * (1 + 0.4 * cells),
        program_us=between(300, 500) * cells,
        channel_us_per_kib=between(1.5, 6.0),
        link_us_per_kib=between(1.8, 2.6) if sata else between(0.15, 0.8),
        write_us=between(8, 40), buffer_kib=float(rng.choice([256, 1024])),
        half_duplex=sata, queue=32 if sata else 0,
        command_us=between(3, 10) if sata else between(0.7, 4),
        gathers=bool(rng.random() < 0.7), turns=int(rng.choice([1, 4, 16])),
        suspend_us=float(rng.choice([0, 0, 20, 60])),
        block_pages=int(rng.choice([16, 32, 64])),
        valid=float(rng.uniform(0.1, 0.7)), erase_us=between(1500, 5000),
        pieces=int(rng.choice([1, 4, 16])),
        readahead=float(rng.uniform(0.3, 0.95)),
        noise_cv=float(rng.uniform(0.05, 0.3)),
        run_cv=float(rng.uniform(0.005, 0.02)))
