# SPDX-License-Identifier: Apache-2.0
"""The state of a balancer and its plans, as words and tables.

By its files and its journal; neither Cinder nor telemetry is asked. The verbs
status, plans, show and top, and the page, have them from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

from oslo_config import cfg

from serifos.balancer import leader
from serifos.balancer.plans import Standing
from serifos.balancer.plans import SUPERSEDED
from serifos.balancer.plans import VALID
from serifos.balancer.settings import BalancerSettings
from serifos.balancer.settings import MODES
from serifos.balancer.status import InFlight
from serifos.balancer.status import Status
from serifos.cmd.balancer import configuration
from serifos.database.journal import Journal
from serifos.database import marks
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.journal import corrected
from serifos.facts.journal import Entry
from serifos.facts.journal import Leader
from serifos.facts import phrases
from serifos.facts import times
from serifos.plan import sentences
from serifos.report import table
from serifos.report import wording

_MODES = {'advise': 'advise: nothing moves',
          'approve': 'approve: what is approved moves', 'auto': 'auto'}

_NEXT = {'advise': 'In mode advise nothing moves until serifos-balancer apply '
                   'is run.',
         'approve': 'In mode approve it moves once serifos-balancer approve '
                    'is run.',
         'auto': 'In mode auto the balancer does so by itself.'}


@dataclasses.dataclass(frozen=True)
class Seen:
    """The balancer and the last observation.

    :param lead: who leads, unless it ended without a word; None for nobody
    :param cluster: None where there is no observation
    :param entries: of the journal, none of them in the future
    :param problem: why there is no observation, a sentence
    """

    status: Status
    lead: Leader | None
    cluster: Cluster | None
    entries: tuple[Entry, ...]
    problem: str | None = None


def read(conf: cfg.ConfigOpts, journal: Journal, now: float) -> Seen:
    """What there is to see now.

    :param now: seconds of the epoch
    :raises SerifosError: where the journal cannot be read
    """
    cluster, problem = None, None
    try:
        cluster = configuration.cluster(conf, None)
    except errors.InputError as exc:
        problem = str(exc)
    entries = corrected(journal.entries(), now)
    lead, settings = journal.leader(), configuration.settings(conf)
    missing = dataclasses.replace(journal, memory=marks.Memory((
        marks.Observation(settings.cluster_file),))).missing()
    if missing is not None:
        problem = f'Nothing will be moved: {missing}.'
    return Seen(status(settings, entries, cluster, now, lead),
                lead, cluster, entries, problem)


def status(settings: BalancerSettings, entries: tuple[Entry, ...],
           cluster: Cluster | None, now: float,
           lead: Leader | None) -> Status:
    """How the balancer stands.

    :param entries: of the journal, none of them in the future
    :param cluster: the last observation, None where there is none
    :param now: seconds of the epoch
    :param lead: who leads, whose mode counts while it runs
    """
    observed_at = configuration.observed_at(cluster)
    found = Status.of(settings, entries, observed_at, now, {
        volume.id: volume.copy_mib_s / 1024
        for volume in ([] if cluster is None else cluster.volumes)
        if volume.copy_mib_s})
    return found if lead is None or lead.mode not in MODES or (
        leader.has_ended(lead.name)) else dataclasses.replace(
            found, mode=lead.mode)


def round_(seen: Status) -> str:
    """When the last round was, and when the next one is."""
    if seen.observed_s is None or seen.next_s is None:
        return 'none: there is no observation'
    ago = f'{_duration(seen.observed_s)} ago'
    if seen.overdue:
        return (f'{ago}; the next one is overdue by '
                f'{_duration(-seen.next_s)}: see whether serifos-balancer run '
                'is running')
    return f'{ago}; the next in {_duration(seen.next_s)}'


def left(each: InFlight) -> object:
    """Minutes until a copy is made, or by how many it is over."""
    if each.left_s is None:
        return None
    return each.left_s / 60 if each.left_s >= 0 else (
        f'{-each.left_s / 60:.2g} over')


def _duration(seconds: float) -> str:
    return phrases.duration(round(max(0.0, seconds)))


def facts(seen: Status, lead: Leader | None
          ) -> Iterator[tuple[str, str]]:
    """What a balancer does: a name and words each.

    :param lead: who leads, unless it ended without a word
    """
    yield 'mode', _MODES[seen.mode]
    yield 'leader', 'none' if lead is None else (
        f'none: {lead.name} ({lead.mode}), which took the lead at '
        f'{lead.since}, has ended' if leader.has_ended(lead.name) else
        f'{lead.name} ({lead.mode}) since {lead.since}')
    yield 'last round', round_(seen)
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
        yield 'backing off', (
            f'{phrases.count(seen.backing_off, "volume")} after '
            'a failure or a refusal')
    if not seen.in_flight:
        yield 'in flight', 'nothing'


def in_flight(seen: Status, cluster: Cluster | None) -> table.Table:
    """The migrations under way."""
    names, short = wording.volumes(cluster), wording.pools_of(
        cluster, (end for each in seen.in_flight
                  for end in (each.source, each.target)))
    return table.Table(
        ('volume', 'from', 'to', 'GiB', 'min so far', 'min left', 'MiB/s',
         'by'),
        [(names.get(each.volume, wording.name(each.volume)),
          short[each.source], short[each.target],
          float(each.size_gib),
          each.since_s / 60, left(each),
          None if each.gib_per_s is None else 1024 * each.gib_per_s,
          '–' if each.gib_per_s is None else
          'its counters' if each.measured else 'earlier copies')
         for each in seen.in_flight],
        'In flight; by: where the rate and the minutes left come from.')


def carried_out_by(seen: Status) -> str:
    """What is done about a plan, a sentence."""
    return _NEXT[seen.mode] if seen.paused is None else (
        f'The balancer is paused since {seen.paused[1]}: {seen.paused[0]}.')


def plans(found: Sequence[Standing]) -> table.Table:
    """A row for each plan."""
    return table.Table(
        ('plan', 'created', 'by', 'moves', 'made', 'GiB', 'slowest', 'state',
         'approved by'), [_row(each) for each in found],
        'Plans, the newest first. slowest: latency of the slowest pool, '
        'ms.')


def _row(each: Standing) -> tuple[object, ...]:
    plan = each.plan
    return (wording.name(plan.id), times.text(plan.created_at),
            wording.name(plan.planner), plan.move_count, each.made,
            float(plan.size_gib),
            phrases.change(plan.max_us.before, plan.max_us.after), each.state,
            wording.name(each.approved_by or '–'))


def became(its: Standing) -> str:
    """A plan, and what became of it, in sentences."""
    plan = its.plan
    return (
        f'Plan {wording.name(plan.id)} of {wording.name(plan.planner)}, '
        f'created at {times.text(plan.created_at)}'
        + (f' by {phrases.window(plan.window_s)}' if plan.window_s else '')
        + f': {its.state}'
        + (f', expires at {times.text(plan.expires_at)}'
           if its.state in (VALID, SUPERSEDED) else '')
        + ('' if its.approved_by is None else
           f', approved by {wording.name(its.approved_by)}')
        + f'. {its.made} of {phrases.count(len(plan.moves), "move")} made. '
        + sentences.predicted(plan))
