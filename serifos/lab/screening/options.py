# SPDX-License-Identifier: Apache-2.0
"""The options of a screening."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from serifos.bench import fio
from serifos import errors
from serifos.facts import bounds

ROUNDS = 3
"""Repeats of every run where none are asked for, as in the paper."""

RESPONSES = {'bandwidth': 'bandwidth_kib_s', 'iops': 'iops',
             'latency': 'latency_us'}


@dataclasses.dataclass(frozen=True)
class ScreeningOptions:
    """The options of `screen`; errors are raised for those out of range.

    :param target: a directory, a block device or the journal of a screening
    :param runs: of the design, None for the smallest that fits
    :param rounds: how often every run is made; None for three times, and of
        a journal as often as it has every run
    :param parameters: to vary, None for all
    :param levels: (parameter, its two levels, or one to hold it at)
    :param keys: the key parameters, None to choose them by their effects
    :param runtime: of a run, seconds
    :param size_gib: of all files of a run together
    :param output: the journal, None for one after the target
    :param hang_after: seconds beyond its time after which a fio is killed
    :param yes_destroy: the answer to the confirmation, None to ask
    :param remount: mount the directory's file system anew before each run
    """

    target: str
    runs: int | None
    foldover: bool
    rounds: int | None
    seed: int
    parameters: tuple[str, ...] | None
    levels: Sequence[tuple[str, tuple[str, ...]]]
    factorial: bool
    keys: tuple[str, ...] | None
    runtime: float
    size_gib: float
    output: str | None
    hang_after: float
    yes_destroy: str | None
    response: str
    scale: str
    remount: bool = False

    def __post_init__(self) -> None:
        bounds.refuse_outside('--runtime', self.runtime, 0.5, 86400, 's')
        fio.refuse_hang(self.hang_after)
        bounds.refuse_outside('--rounds', 1 if self.rounds is None
                              else self.rounds, 1, 100)
        if self.keys and not 1 <= len(set(self.keys)) == len(self.keys) <= 8:
            raise errors.InputError(
                '--keys takes 1 to 8 parameters, each once.')
