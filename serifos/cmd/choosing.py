# SPDX-License-Identifier: Apache-2.0
"""What does `build` run next, when is it enough, and what did that save?"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Sequence

from serifos.bench import campaign
from serifos.cmd import design_options
from serifos.cmd import measuring
from serifos.design import design as dn
from serifos.design import enough
from serifos.design import sequential
from serifos.model import dataset as ds


class Chooser:
    """Chooses runs by those made, and remembers why it ended.

    :param error: of a model of some runs, on runs that it was not fitted on
    """

    def __init__(self, plan: sequential.Sequential, bounds: enough.Enough,
                 error: Callable[[Sequence[ds.Sample]], float]) -> None:
        self._plan, self._bounds, self._of = plan, bounds, error
        self._made: tuple[ds.Sample, ...] = ()
        self._errors: dict[int, float] = {}
        self._why = ''

    @property
    def then(self) -> campaign.Then:
        return campaign.Then(self._plan.first, self._choose)

    def _choose(self, made: Sequence[ds.Sample],
                failed: Collection[campaign.Key]) -> Sequence[dn.Run]:
        self._made = tuple(made)
        step = enough.step(
            self._plan, self._bounds, [s.workloads for s in made], failed,
            self._error)
        self._why = step.why
        return step.runs

    def _error(self, number: int) -> float:
        if number not in self._errors:
            self._errors[number] = self._of(self._made[:number])
        return self._errors[number]

    def saved(self, design: dn.Design) -> str:
        """Why it ended, and the hours which that saved; '' if it did not.

        :param design: all that would have been run
        """
        if not self._why:
            return ''
        took = sum(map(measuring.hours, map(design.seconds, (
            sample.count for sample in self._made))))
        every, paper = (sum(
            n * one.rounds * measuring.hours(one.seconds(count))
            for count, n in one.numbers.items())
            for one in (design, design_options.paper()))
        return (f'{len(self._made)} runs are enough: {self._why}. They took '
                f'{took:.2f} h, which saved {every - took:.2f} h of all '
                f"{design.total} runs, and {paper - took:,.0f} h of the "
                "paper's design.")
