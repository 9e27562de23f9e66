# SPDX-License-Identifier: Apache-2.0
"""Devices compared by their effects: rows of a printed table, and a page."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.lab.screening import sensitivity
from serifos.report import charts
from serifos.report import page
from serifos.report import table

HEADER = ('other', 'parameter', 'low', 'high', 'effect', 'other_effect',
          'apart', 'from', 'to', 'differs')


def rows(compared: Sequence[sensitivity.Sensitivity]
         ) -> list[tuple[object, ...]]:
    """A row for each parameter and other device."""
    return [
        (one.theirs.name, row.ours.name, *one.ours.levels[row.ours.name],
         *(float(f'{one.ours.shown(v):.4g}') for v in (
             row.ours.effect, row.theirs.effect, row.apart, *row.interval)),
         'yes' if row.differs else 'no')
        for one in compared for row in one.rows]


def page_of(compared: Sequence[sensitivity.Sensitivity]) -> str:
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


def _section(one: sensitivity.Sensitivity) -> page.Section:
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
