# SPDX-License-Identifier: Apache-2.0
"""What a balancer does and what became of its plans, as words and tables.

They are those of the verbs status, plans and show, and of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence

from serifos.balancer import leader
from serifos.balancer.standing import of_plans
from serifos.balancer.standing.status import Status
from serifos.cmd.console import words
from serifos.facts.cluster import Cluster
from serifos.facts import journal
from serifos.facts import times
from serifos.report import table
from serifos.report import wording

_MODES = {'advise': 'advise: nothing moves',
          'approve': 'approve: what is approved moves', 'auto': 'auto'}

_NEXT = {'advise': 'In mode advise nothing moves until serifos-balancer apply '
                   'is run.',
         'approve': 'In mode approve it moves once serifos-balancer approve '
                    'is run.',
         'auto': 'In mode auto the balancer does so by itself.'}


def facts(seen: Status, lead: journal.Leader | None
          ) -> Iterator[tuple[str, str]]:
    """What a balancer does: a name and words each.

    :param lead: who leads, unless it ended without a word
    """
    yield 'mode', _MODES[seen.mode]
    yield 'leader', 'none' if lead is None else (
        f'none: {lead.name} ({lead.mode}), which took the lead at '
        f'{lead.since}, has ended' if leader.has_ended(lead.name) else
        f'{lead.name} ({lead.mode}) since {lead.since}')
    yield 'last round', words.round_(seen)
    if seen.paused is not None:
        yield 'paused', (
            f'since {seen.paused[1]}: {seen.paused[0]}; look at '
            'serifos-balancer history, then serifos-balancer resume')
    for clause in seen.waits:
        yield 'waits', clause
    done = ', '.join(f'{number:,} {result}'
                     for result, number in sorted(seen.done.items()))
    yield 'last 24 h', (f'{done or "no migration ended"}; '
                        f'{seen.moved_gib:,.6g} GiB moved')
    if seen.failures:
        yield 'failures', f'{seen.failures} in a row'
    if seen.backing_off:
        yield 'left alone', (
            f'{wording.count(seen.backing_off, "volume")} after '
            'a failure or a refusal')
    if not seen.in_flight:
        yield 'in flight', 'nothing'


def in_flight(seen: Status, cluster: Cluster | None) -> table.Table:
    """The migrations under way."""
    names = wording.volumes(cluster)
    return table.Table(
        ('volume', 'from', 'to', 'GiB', 'min so far', 'min left', 'MiB/s',
         'by'),
        [(names.get(each.volume, wording.name(each.volume)),
          wording.pool(each.source), wording.pool(each.target),
          float(each.size_gib),
          each.since_s / 60, words.left(each),
          None if each.gib_per_s is None else 1024 * each.gib_per_s,
          '–' if each.gib_per_s is None else
          'its counters' if each.measured else 'earlier copies')
         for each in seen.in_flight],
        'In flight; by: what the rate, and what is left, are told by.')


def carried_out_by(seen: Status) -> str:
    """What is done about a plan, a sentence."""
    return _NEXT[seen.mode] if seen.paused is None else (
        f'The balancer is paused since {seen.paused[1]}: {seen.paused[0]}.')


def plans(found: Sequence[of_plans.Standing]) -> table.Table:
    """A row for each plan."""
    return table.Table(
        ('plan', 'created', 'by', 'moves', 'made', 'GiB', 'slowest', 'state',
         'approved by'), [_row(each) for each in found],
        'Plans, the newest first. slowest: ms that the slowest pool shows, '
        'now and after.')


def _row(each: of_plans.Standing) -> tuple[object, ...]:
    plan = each.plan
    return (wording.name(plan.id), times.text(plan.created_at),
            wording.name(plan.planner), len(plan.moves), each.made,
            float(sum(move.size_gib for move in plan.moves)),
            wording.change(plan.max_us.before, plan.max_us.after), each.state,
            wording.name(each.approved_by or '–'))


def became(its: of_plans.Standing) -> str:
    """A plan, and what became of it, in sentences."""
    plan = its.plan
    misses = plan.slo_misses
    return (
        f'Plan {wording.name(plan.id)} of {wording.name(plan.planner)}, '
        f'created at {times.text(plan.created_at)}'
        + (f' by {wording.window(plan.window_s)}' if plan.window_s else '')
        + f': {its.state}'
        + (f', expires at {times.text(plan.expires_at)}'
           if its.state in (of_plans.VALID, of_plans.SUPERSEDED) else '')
        + ('' if its.approved_by is None else
           f', approved by {wording.name(its.approved_by)}')
        + f'. {its.made} of {wording.count(len(plan.moves), "move")} made. '
        'The slowest pool then showed '
        f'{wording.change(plan.max_us.before, plan.max_us.after)} ms, '
        'the mean over all was '
        f'{wording.change(plan.mean_us.before, plan.mean_us.after)} '
        f'ms, {misses.before:.0f} → {misses.after:.0f} SLOs were violated or '
        f'forecast to be, {plan.slo_violated.before:.0f} of them measured.')
