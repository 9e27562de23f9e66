# SPDX-License-Identifier: Apache-2.0
"""Stopping rule of a campaign that chooses its runs one after another.

Standard library only, as is :mod:`serifos.design.design`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
import dataclasses
from typing import Protocol

from serifos.design import design
from serifos import errors
from serifos.facts.dataset import Key

FIRST, BATCH, MOST = 12, 4, 80
"""Runs of the first batch, of every other one, and of all."""

LEAST, WINDOW = 20, 3
"""Runs before which a campaign never ends, and batches that must gain."""

ERROR, GAIN = 0.05, 0.05
"""The default bounds, fractions."""


class SequentialDesign(Protocol):
    """A sequential design, such as :class:`.sequential.Sequential`."""

    @property
    def first(self) -> int:
        """Runs that are made in any case."""

    @property
    def runs(self) -> tuple[design.Run, ...]:
        """All runs in order, if none fails and none is left out."""

    def following(self, made: Sequence[design.Run],
                  without: Collection[Key] = ()) -> tuple[design.Run, ...]:
        """The rest of the batch that the runs made are in."""


@dataclasses.dataclass(frozen=True)
class Enough:
    """The bounds at which a campaign ends before its last run.

    :param error: cross-validated error of the model below which it ends, a
        fraction
    :param gain: it ends where the last :data:`WINDOW` batches lowered that
        error by less than this, a fraction of it
    :param least: runs before which it never ends
    """

    error: float = ERROR
    gain: float = GAIN
    least: int = LEAST

    def __post_init__(self) -> None:
        for what, value in (('--enough-error', self.error),
                            ('--enough-gain', self.gain)):
            if not 0 <= value < 1:
                raise errors.InputError(
                    f'A {what} of {value:g} cannot be used; give a fraction '
                    'such as 0.05, or 0 for never.')

    def why(self, found: Sequence[float]) -> str:
        """The reason to end, in words; empty where there is none.

        :param found: the error after each batch so far, fractions
        """
        if found[-1] < self.error:
            return (f'the error of {100 * found[-1]:.1f} % is below '
                    f'{100 * self.error:.1f} %')
        if len(found) > WINDOW and self.gain:
            gain = 1 - found[-1] / found[-1 - WINDOW]
            if gain < self.gain:
                return (f'the last {WINDOW * BATCH} runs changed the error '
                        f'of {100 * found[-1]:.1f} % by {-100 * gain:+.1f} % '
                        'of it')
        return ''


@dataclasses.dataclass(frozen=True)
class NextRuns:
    """The next runs of a campaign.

    :param runs: to be made now; none at its end
    :param why: the reason where the stopping rule ended it
    """

    runs: tuple[design.Run, ...]
    why: str = ''


def step(plan: SequentialDesign, bounds: Enough, made: Sequence[design.Run],
         without: Collection[Key],
         error: Callable[[int], float]) -> NextRuns:
    """The next step after these runs.

    :param made: in their order
    :param error: number of first runs → cross-validated error of a model
        fitted to them, a fraction
    """
    runs = plan.following(made, without)
    least = max(bounds.least, plan.first)
    if len(runs) == BATCH and len(made) >= least:
        # A batch is over: the errors of the last ones, the newest last.
        batches = range(len(made), least - 1, -BATCH)[:WINDOW + 1]
        why = bounds.why([error(n) for n in reversed(batches)])
        if why:
            return NextRuns((), why)
    return NextRuns(runs)
