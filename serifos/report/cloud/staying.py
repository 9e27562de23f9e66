# SPDX-License-Identifier: Apache-2.0
"""Immovable load and SLOs, as drawings and tables."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from serifos.plan.outlook.outlook import Outlook
from serifos.plan.outlook.staying import Staying
from serifos.plan.outlook import type_slos
from serifos.report import drawing
from serifos.report import page
from serifos.report.plan import plan_tables
from serifos.report.plan import wording
from serifos.report import table

_KINDS, _TYPES = 12, 20


def section(seen: Outlook,
            short: Mapping[str, str]) -> Iterable[page.Section]:
    """Frozen load by reason, and the refusals of the plan."""
    if not seen.staying and not seen.immovable:
        return
    charts = []
    if seen.immovable:
        charts.append(_immovable(seen.immovable))
    more = len(seen.staying) - _KINDS
    yield page.Section(
        'What stays, and why', ' '.join(filter(None, [
            plan_tables.immovable(seen),
            f'{wording.count(more, "rarer reason")} of volumes on slow pools '
            f'{"is" if more == 1 else "are"} left out of the table.'
            if more > 0 else ''])), charts,
        [plan_tables.of_staying(seen.staying[:_KINDS], short,
                                seen.shared_names)]
        if seen.staying else [])


def _immovable(held: Sequence[Staying]) -> str:
    most = sorted(held, key=lambda each: -each.share)
    scale = drawing.Scale(100.0)

    def row(name: str, share: float, volumes: int) -> str:
        value = f'{table.percent(share, ".0f")}, ' + wording.count(
            volumes, 'volume')
        return drawing.row(name, drawing.picture(
            f'{name}: {value}', 22, scale.grid(0, 22), drawing.bar(
                0, 4, scale(100 * share), 14, 'purple', f'{name}: {value}')),
            value, 'reasons')

    rest = most[_KINDS:]
    return drawing.figure(
        'Load that may not be moved at all, by reason: percent of the '
        'outstanding I/Os of all volumes.',
        *(row(each.kind.text, each.share, each.volumes)
          for each in most[:_KINDS]),
        row('other reasons', sum(each.share for each in rest),
            sum(each.volumes for each in rest)) if rest else '')


def slos(every: Sequence[type_slos.TypeSlo]) -> page.Section:
    """The SLOs by type: violated ones and forecasts, now and after."""
    if not every:
        return page.Section(
            'SLOs', 'No volume type has an SLO '
            '(serifos:max_latency_us).')
    number, violated, forecast = (sum(each) for each in zip(*(
        (each.volumes, each.violated[0], each.forecast[0])
        for each in every)))
    return page.Section(
        'SLOs', f'{violated:,} of {wording.count(number, "SLO")} '
        f'{"is" if violated == 1 else "are"} violated, as measured; '
        f'{forecast:,} more {"is" if forecast == 1 else "are"} forecast to '
        'be.', tables=[table.Table(
            ('type', 'SLO, ms', 'volumes', 'violated now', 'after the plan',
             'forecast now', 'after the plan'),
            [(wording.name(each.volume_type or 'without a type'),
              each.most_us / 1e3, each.volumes, *each.violated,
              *each.forecast) for each in every[:_TYPES]],
            'SLOs by the type of the volume' + (
                f', those of {_TYPES} types' if len(every) > _TYPES else '')
            + '.')])
