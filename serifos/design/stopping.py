# SPDX-License-Identifier: Apache-2.0
"""When has a campaign that chooses its runs one after another made enough?

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
from serifos.facts import dataset as ds

FIRST, BATCH, MOST = 12, 4, 80
"""Runs of the first batch, of every other one, and of all."""

LEAST, WINDOW = 20, 3
"""Runs before which nothing is enough, and batches that must bring a gain."""

ERROR, GAIN = 0.05, 0.05
"""The bounds if nothing else is asked for, fractions."""


class Plan(Protocol):
    """What chooses the runs, as :class:`.sequential.Sequential` does."""

    first: int

    def following(self, made: Sequence[design.Run],
                  without: Collection[ds.Key] = ()) -> tuple[design.Run, ...]:
        """The rest of the batch that the runs made are in."""


@dataclasses.dataclass(frozen=True)
class Enough:
    """When a campaign may end before its last run.

    :param error: it is enough where the model errs by less than this on
        runs that it was not fitted on, a fraction
    :param gain: it is enough where the last :data:`WINDOW` batches lowered
        that error by less than this, a fraction of it
    :param least: runs below which nothing is enough
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
        """Why it is enough, in words; none where it is not.

        :param found: the error after each batch so far, fractions
        """
        if found[-1] < self.error:
            return f'the error of {found[-1]:.1%} is below {self.error:.1%}'
        if len(found) > WINDOW and self.gain:
            gain = 1 - found[-1] / found[-1 - WINDOW]
            if gain < self.gain:
                return (f'the last {WINDOW * BATCH} runs changed the error '
                        f'of {found[-1]:.1%} by {-gain:+.1%} of it')
        return ''


@dataclasses.dataclass(frozen=True)
class Step:
    """What is to be done next.

    :param runs: to be made now; none where it is over
    :param why: it is enough, in words
    """

    runs: tuple[design.Run, ...]
    why: str = ''


def step(plan: Plan, bounds: Enough, made: Sequence[design.Run],
         without: Collection[ds.Key],
         error: Callable[[int], float]) -> Step:
    """What follows when these runs are made.

    :param made: in the order in which they were
    :param error: how many of them, the first ones, a model is fitted on →
        its error on runs that it was not fitted on, a fraction
    """
    runs = plan.following(made, without)
    least = max(bounds.least, plan.first)
    if len(runs) == BATCH and len(made) >= least:
        # A batch is over: the errors of the last ones, the newest last.
        batches = range(len(made), least - 1, -BATCH)[:WINDOW + 1]
        why = bounds.why([error(n) for n in reversed(batches)])
        if why:
            return Step((), why)
    return Step(runs)
