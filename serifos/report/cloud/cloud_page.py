# SPDX-License-Identifier: Apache-2.0
"""The page of a cloud, put together."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from serifos.facts.cluster import Cluster
from serifos.facts.journal import Entry
from serifos.facts.pool_errors import Hours
from serifos.plan.outlook.explaining import Heat
from serifos.plan.outlook.explaining import Part
from serifos.plan.outlook.outlook import Outlook
from serifos.plan.outlook import type_slos
from serifos.report.cloud import answers
from serifos.report.cloud import flows
from serifos.report.cloud import past
from serifos.report.cloud import pools
from serifos.report.cloud import staying
from serifos.report import page
from serifos.report.plan import beware
from serifos.report.plan import explanation
from serifos.report.plan import headline
from serifos.report.plan import wording

_VOLUMES = 8


@dataclasses.dataclass(frozen=True)
class Explained:
    """A pool that is explained, with its active volumes."""

    heat: Heat | None
    parts: Sequence[Part]


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is on the page.

    :param seen: the plan that is shown
    :param explained: pool → why it is slow, for the slowest ones
    :param hours: of the last day
    :param entries: of the journal
    :param mode: what is done about a plan, a sentence
    :param last: what became of the last plan, sentences
    :param age_s: of the observation; None where it does not say
    :param stale_s: from which on that is told
    :param at: seconds of the epoch
    :param doing: what the balancer does, after the other sections
    """

    cluster: Cluster
    seen: Outlook
    explained: Mapping[str, Explained]
    slos: Sequence[type_slos.TypeSlo]
    hours: Hours
    entries: Sequence[Entry]
    mode: str
    last: str
    age_s: float | None
    stale_s: float
    at: float
    doing: Sequence[page.Section] = ()


def render(facts: Facts) -> str:
    """The whole page.

    :raises ToolError: where Jinja2 is not installed
    """
    seen = facts.seen
    short = wording.pools(each.pool.name for each in seen.pools)
    names = wording.volumes(facts.cluster)
    order = [each.pool.name for each in sorted(
        seen.pools, key=lambda each: each.pool.name not in seen.touched)]
    slowest = [each.pool.name for each in seen.pools]
    return page.render(
        'The cloud and its plan',
        f'{wording.count(len(facts.cluster.pools), "pool")}, '
        f'{wording.count(len(facts.cluster.volumes), "volume")}, observed at '
        f'{facts.cluster.observed_at or "an unknown time"}. '
        f'{headline.basis(seen)}',
        [pools.section(seen, short),
         *_why(facts, short),
         *flows.section(seen, short),
         *staying.section(seen, short),
         staying.slos(facts.slos),
         past.section(facts.hours, list(dict.fromkeys(
             [*facts.explained, *order, *slowest])), short, facts.at),
         past.achieved(facts.entries, short, names),
         *facts.doing],
        verdict=headline.headline(seen, short),
        answers=[*answers.answers(
            seen, short, {name: its.parts
                          for name, its in facts.explained.items()},
            facts.mode, facts.last, [*beware.warnings(
                seen, short, facts.age_s, facts.stale_s)])])


def _why(facts: Facts, short: Mapping[str, str]) -> list[page.Section]:
    return [page.Section(
        f'Why {short[name]} shows what it shows', ' '.join(
            explanation.paragraphs(facts.seen, name, its.heat, its.parts)),
        tables=[explanation.volumes(facts.seen, name, its.parts, _VOLUMES)]
        if its.parts else [])
        for name, its in facts.explained.items()]
