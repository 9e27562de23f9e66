# SPDX-License-Identifier: Apache-2.0
"""Devices compared by the effects of the parameters of fio.

The ongoing work that Park et al. announce [1]_. An effect and its margin are
those of each device's own screening; the margin of their difference is the
root of the sum of both squares, as of independent measurements.

.. [1] N. Park, W. Xiao, K. Choi, D. J. Lilja: A Statistical Evaluation of
   the Impact of Parameter Selection on Storage System Benchmarks.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import math

import numpy as np

from serifos import errors
from serifos.lab.screening import effects
from serifos.lab.screening import screening_page
from serifos.report import charts
from serifos.report import page
from serifos.report import table

HEADER = ('other', 'parameter', 'low', 'high', 'effect', 'other_effect',
          'apart', 'from', 'to', 'differs')

_LEAST = 3  # parameters for a correlation


@dataclasses.dataclass(frozen=True)
class Apart:
    """A parameter's effects on two devices, in the scale of the analyses.

    :param apart: the effect on the first less that on the second
    :param interval: where this lies with a confidence of 95 %
    """

    ours: effects.Effect
    theirs: effects.Effect
    apart: float
    interval: tuple[float, float]

    @property
    def differs(self) -> bool:
        """Whether the difference is beyond the noise."""
        rounding = 1e-9 * max(abs(self.ours.effect), abs(self.theirs.effect))
        return not (self.interval[0] - rounding <= 0
                    <= self.interval[1] + rounding)


@dataclasses.dataclass(frozen=True)
class Sensitivity:
    """Two screenings side by side.

    :param rows: a row for each parameter that both vary between the same
        levels, the greatest difference first
    :param correlation: of the effects on both, None of fewer than three
    :param left_out: the parameters that only one varies, or otherwise
    """

    ours: screening_page.Found
    theirs: screening_page.Found
    rows: tuple[Apart, ...]
    correlation: float | None
    left_out: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The differences, in sentences."""
        differ = [row.ours.name for row in self.rows if row.differs]
        alike = ('' if self.correlation is None else
                 f' Their effects correlate at {self.correlation:.2f}.')
        return (
            f'{len(differ)} of {len(self.rows)} parameters act differently '
            f'on {self.ours.name} and {self.theirs.name}, beyond noise: '
            f'{", ".join(differ) or "none"}.{alike}',
            *([f'Left out, as they are not varied alike: '
               f'{", ".join(self.left_out)}.'] if self.left_out else []))


def compare(ours: screening_page.Found,
            theirs: screening_page.Found) -> Sensitivity:
    """Two screenings of the same response, by their effects.

    :raises InputError: where no parameter is varied alike in both
    """
    alike = [name for name, ends in ours.levels.items()
             if theirs.levels.get(name) == ends]
    if not alike:
        raise errors.InputError(
            f'{ours.name} and {theirs.name} vary no parameter between the '
            'same levels; screen both alike.')
    first, second = ({e.name: e for e in found.analysis.effects}
                     for found in (ours, theirs))
    rows = [_apart(first[name], second[name]) for name in alike]
    return Sensitivity(
        ours, theirs, tuple(sorted(rows, key=lambda row: -abs(row.apart))),
        _correlation(rows), tuple(
            name for name in {**ours.levels, **theirs.levels}
            if name not in alike))


def _apart(ours: effects.Effect, theirs: effects.Effect) -> Apart:
    apart = ours.effect - theirs.effect
    margin = math.hypot(*((e.interval[1] - e.interval[0]) / 2
                          for e in (ours, theirs)))
    return Apart(ours, theirs, apart, (apart - margin, apart + margin))


def _correlation(rows: Sequence[Apart]) -> float | None:
    both = np.array([[row.ours.effect, row.theirs.effect] for row in rows])
    if len(rows) < _LEAST or not both.std(axis=0).all():
        return None
    return float(np.corrcoef(both.T)[0, 1])


def rows(compared: Sequence[Sensitivity]
         ) -> list[tuple[object, ...]]:
    """A row for each parameter and other device."""
    return [
        (one.theirs.name, row.ours.name, *one.ours.levels[row.ours.name],
         *(float(f'{one.ours.shown(v):.4g}') for v in (
             row.ours.effect, row.theirs.effect, row.apart, *row.interval)),
         'yes' if row.differs else 'no')
        for one in compared for row in one.rows]


def page_of(compared: Sequence[Sensitivity]) -> str:
    """The HTML page.

    :param compared: a device with one other or several
    :raises ToolError: where matplotlib or Jinja2 is missing
    """
    ours = compared[0].ours
    others = ', '.join(one.theirs.name for one in compared)
    return page.render(
        f'{ours.name} and {others}: effects on {ours.reading.response}',
        '\n'.join([f'{ours.name}: {ours.about}', *(
            f'{one.theirs.name}: {one.theirs.about}' for one in compared)]),
        [_section(one) for one in compared],
        verdict=' '.join(one.words[0] for one in compared))


def _section(one: Sensitivity) -> page.Section:
    apart = 'times' if one.ours.reading.log else 'difference'
    shown = one.rows
    return page.Section(
        f'{one.ours.name} and {one.theirs.name}', ' '.join(one.words),
        [charts.bars(
            [row.ours.name for row in shown],
            {one.ours.name: [100 * row.ours.share for row in shown],
             one.theirs.name: [100 * row.theirs.share for row in shown]},
            xlabel='share of the variation on each device, %')],
        [table.Table(
            ('parameter', 'low', 'high', one.ours.name, one.theirs.name,
             apart, 'from', 'to', 'differs'),
            [line[1:] for line in rows([one])],
            'The effect on each device, and the first by the second with '
            'its 95 % interval.' if one.ours.reading.log else
            'The effect on each device, and the first less the second with '
            'its 95 % interval.')])
