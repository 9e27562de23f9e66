# SPDX-License-Identifier: Apache-2.0
"""Choice of `build`'s runs by what earlier ones measured."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import functools
from typing import TYPE_CHECKING

from serifos.design.design import Design
from serifos.design.design import Run
from serifos.design import stopping
from serifos.facts.dataset import Key
from serifos.facts.dataset import Sample
from serifos.modeler import build
from serifos.modeler import design_runs

if TYPE_CHECKING:
    from serifos.model import fit_runs
    from serifos.model import held_out


MORE = 2
"""Times that a pattern is measured again: of three runs, the median is none
that a wild one moves."""


def held_out_error(samples: Sequence[Sample]) -> float:
    """The cross-validated error of a model of some runs."""
    # statsmodels takes a second to import.
    from serifos.model import held_out
    return held_out.cv_error(samples)


class Chooser:
    """Chooses the next runs from those made, until they are enough.

    :param error: as :func:`held_out_error`
    """

    def __init__(self, plan: stopping.SequentialDesign,
                 bounds: stopping.Enough,
                 error: Callable[[Sequence[Sample]], float]
                 = held_out_error) -> None:
        self._plan, self._bounds = plan, bounds
        self._made: tuple[Sample, ...] = ()
        self._error = functools.cache(
            lambda number: error(self._made[:number]))
        self._why = ''

    @property
    def adaptive(self) -> design_runs.Adaptive:
        return design_runs.Adaptive(self._plan.first, self._choose)

    def _choose(self, made: Sequence[Sample],
                failed: Collection[Key]) -> Sequence[Run]:
        self._made = tuple(made)
        step = stopping.step(
            self._plan, self._bounds, [s.workloads for s in made], failed,
            self._error)
        self._why = step.why
        return step.runs

    def saved(self, design: Design, paper: Design) -> str:
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


class Deciding:
    """Has the lone pattern that decides a model's kind measured again.

    It then has three runs, of which the median counts. That is one pattern of
    a dataset at the most, so that a stopped build resumes with the same runs.

    :param say: tells the user a sentence
    :param predictions: as :func:`.fit.predictions`
    :ivar held_out: the predictions of each kind for the runs made, where
        they were the last that :meth:`again` was asked of
    """

    def __init__(self, design: Design,
                 say: Callable[[str], None],
                 predictions: Callable[[fit_runs.Runs], Mapping[
                     str, held_out.HeldOut]] | None = None) -> None:
        self._design, self._say = design, say
        self._predictions = predictions
        self._asked, self._found = 0, ()
        self.held_out: Mapping[str, held_out.HeldOut] | None = None

    def again(self, made: Sequence[Sample]) -> Sequence[Sample]:
        """The runs to make once more; none where no lone pattern decides."""
        _, more = design_runs.split(self._design, made)
        if more:
            self.held_out = None
            return more[:1] * (MORE - len(more))
        if self._asked != len(made):
            self._asked, self._found = len(made), self._deciding(made)
        return self._found * MORE

    def _deciding(self, made: Sequence[Sample]) -> tuple[Sample, ...]:
        # statsmodels takes a second to import.
        from serifos.model import choice
        from serifos.model import fit
        from serifos.model import fit_runs
        data = fit_runs.runs(made)
        if len(set(data.keys)) < fit.LEAST_RUNS:
            return ()
        self.held_out = (self._predictions or fit.predictions)(data)
        found = choice.choose(data, self.held_out).decides
        if found is None:
            return ()
        self._say(f'One run decides which kind of model is taken, '
                  f'{found.words}: it is measured {MORE} more times.')
        return (found,)


def _hours(seconds: float) -> float:
    return (seconds + build.START_S) / 3600
