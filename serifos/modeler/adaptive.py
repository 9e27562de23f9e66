# SPDX-License-Identifier: Apache-2.0
"""Adaptive choice of `build`'s runs, and the hours that it saved."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence
import functools

from serifos.design import design as dn
from serifos.design import stopping
from serifos.facts import dataset as ds
from serifos.modeler import build
from serifos.modeler import design_runs


def held_out_error(samples: Sequence[ds.Sample]) -> float:
    """The cross-validated error of a model of some runs."""
    # statsmodels takes a second to import.
    from serifos.model import cv_error
    return cv_error.error(samples)


class Chooser:
    """Chooses the next runs from those made, until they are enough.

    :param error: as :func:`held_out_error`
    """

    def __init__(self, plan: stopping.SequentialDesign,
                 bounds: stopping.Enough,
                 error: Callable[[Sequence[ds.Sample]], float]
                 = held_out_error) -> None:
        self._plan, self._bounds = plan, bounds
        self._made: tuple[ds.Sample, ...] = ()
        self._error = functools.cache(
            lambda number: error(self._made[:number]))
        self._why = ''

    @property
    def adaptive(self) -> design_runs.Adaptive:
        return design_runs.Adaptive(self._plan.first, self._choose)

    def _choose(self, made: Sequence[ds.Sample],
                failed: Collection[ds.Key]) -> Sequence[dn.Run]:
        self._made = tuple(made)
        step = stopping.step(
            self._plan, self._bounds, [s.workloads for s in made], failed,
            self._error)
        self._why = step.why
        return step.runs

    def saved(self, design: dn.Design, paper: dn.Design) -> str:
        """Why the runs were enough, and the hours saved; '' if they were not.

        :param design: all that would have been run
        :param paper: the paper's
        """
        if not self._why:
            return ''
        took = sum(_hours(design.seconds(s.count)) for s in self._made)
        every, papers = (sum(
            n * one.rounds * _hours(one.seconds(count))
            for count, n in one.numbers.items()) for one in (design, paper))
        return (f'{len(self._made)} runs are enough: {self._why}. They took '
                f'{took:.2f} h, which saved {every - took:.2f} h of all '
                f"{design.total} runs, and {papers - took:,.0f} h of the "
                "paper's design.")


def _hours(seconds: float) -> float:
    return (seconds + build.START_S) / 3600
