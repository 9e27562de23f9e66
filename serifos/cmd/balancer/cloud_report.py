# SPDX-License-Identifier: Apache-2.0
"""The page of report and serve: the cloud and its plan."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from oslo_config import cfg

from serifos.balancer import achieved_moves
from serifos.balancer.plans import Plans
from serifos.balancer.plans import Standing
from serifos.balancer.plans import standings
from serifos.balancer.plans import UNDER_WAY
from serifos.balancer.status import Status
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import databases
from serifos.cmd.balancer import judging
from serifos.cmd.balancer import status_tables
from serifos.cmd.balancer import stored_history
from serifos.database import journal
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.journal import corrected
from serifos.facts.journal import Entry
from serifos.facts.journal import Leader
from serifos.facts import phrases
from serifos.facts.pool_errors import Hours
from serifos.plan import explain
from serifos.plan import outlook
from serifos.plan.plan import Listed
from serifos.plan.plan import Plan
from serifos.plan import summary
from serifos.report import cloud_charts
from serifos.report import cloud_page
from serifos.report import page
from serifos.report import table
from serifos.report import wording

_MOVES, _PLANS, _SAID = 20, 10, 3
_EXPLAINED = 3


def text(conf: cfg.ConfigOpts, planned: Planned, now: float,
         say: Callable[[str], None]) -> str:
    """The page.

    :param now: seconds of the epoch
    :param say: is called with a sentence for what is left out
    :raises SerifosError: where the journal cannot be read
    """
    settings, cluster = configuration.settings(conf), planned.cluster
    entries: tuple[Entry, ...] = ()
    lead, hours, plans, last = None, {}, [], None
    if settings.state_dir.is_dir():
        kept = journal.Journal(databases.database(conf), lambda: now)
        entries = corrected(kept.entries(), now)
        lead, hours = kept.leader(), _hours(conf, now, say)
        stored = databases.plans(conf)
        plans = standings(stored.listed(), entries, now)
        last = _last(stored, plans, say)
    status = status_tables.status(settings, entries, cluster, now, lead)
    return cloud_page.render(cloud_page.Facts(
        cluster, planned.seen, planned.explained(), planned.slos(),
        hours, entries, planned.became({
            each.volume for each in status.in_flight})
        + status_tables.carried_out_by(status),
        _became(last, entries),
        *configuration.age(conf, cluster, now), now,
        tuple(_sections(status, lead, plans, entries, cluster))))


def _hours(conf: cfg.ConfigOpts, now: float,
           say: Callable[[str], None]) -> Hours:
    try:
        return stored_history.accuracy(conf).kept.hours(
            now - cloud_charts.DAY_S, now)
    except errors.SerifosError as exc:
        say(f'The last day of pools is not shown: {exc}')
        return {}


def _sections(seen: Status, lead: Leader | None,
              plans: Sequence[Standing[Listed]],
              entries: Sequence[Entry],
              cluster: Cluster) -> Iterator[page.Section]:
    """Its status, the migrations, and the plans that are kept."""
    yield page.Section('What the balancer does', '', [], [
        table.Table(('what', 'how it is'),
                    list(status_tables.facts(seen, lead)), 'Its status.'),
        *([status_tables.in_flight(seen, cluster)] if seen.in_flight else [])])
    rows = _rows(entries, wording.volumes(cluster))
    yield page.Section(
        'Recent moves and failures', '' if rows else
        'No migration has ended yet.', tables=[table.Table(
            ('ended at', 'volume', 'from', 'to', 'min', 'what became of it',
             'achieved'), rows[:_MOVES], 'The last migrations, the newest '
            'first.')] if rows else [])
    if plans:
        yield page.Section('Plans', tables=[
            status_tables.plans(plans[:_PLANS])])


def _last(stored: Plans, plans: Sequence[Standing[Listed]],
          say: Callable[[str], None]) -> Standing[Plan] | None:
    """The newest plan of which something was requested."""
    for each in plans:
        if each.outcomes:
            for plan in stored.every(say, ids=[each.plan.id]):
                return dataclasses.replace(each, plan=plan)
    return None


def _became(last: Standing[Plan] | None, entries: Sequence[Entry]) -> str:
    """The outcomes of a plan that was approved, by its journal."""
    if last is None:
        return 'No plan was carried out yet.'
    made, asked = last.made, len(last.plan.moves)
    found = {entry.facts['volume']: achieved_moves.clause(entry.facts)
             for entry in entries if entry.kind == 'achieved'
             and entry.facts['volume'] in last.outcomes}
    return ' '.join([
        'It goes on.' if last.state == UNDER_WAY else
        'Yes.' if made >= asked else 'No.' if not made else 'In part.',
        status_tables.became(last),
        f'What was achieved: {"; ".join([*found.values()][:_SAID])}.'
        if found else 'What it achieved is reported three hours after a move.'
        if made else ''])


def _rows(entries: Sequence[Entry],
          names: Mapping[str, str]) -> list[tuple[object, ...]]:
    achieved: dict[str, str] = {}
    rows: list[tuple[object, ...]] = []
    for entry in reversed(entries):
        facts = entry.facts
        if entry.kind == 'achieved':
            achieved[facts['volume']] = achieved_moves.clause(facts)
        elif entry.kind == 'outcome':
            rows.append((
                entry.at, names.get(facts['volume'],
                                    wording.name(facts['volume'])),
                wording.pool(facts['source']), wording.pool(facts['target']),
                facts['seconds'] / 60,
                f'{facts["result"]}: {wording.plain(facts["reason"], 200)}',
                wording.plain(achieved.pop(facts['volume'], '–'), 200)))
    return rows


@dataclasses.dataclass(frozen=True)
class Planned(judging.Judged):
    """An observation, its models, and a plan of it.

    :param asked: a plan of before, of which that is what is left
    """

    asked: Plan | None = None

    @classmethod
    def of(cls, conf: cfg.ConfigOpts, cluster: Cluster, models_dir: str,
           say: Callable[[str], None],
           plan: Plan | None = None) -> Planned:
        """By the configuration.

        :param say: is called with a sentence for what is left out
        :param plan: None for one of now
        """
        found = judging.judged(conf, cluster, models_dir, say, made=plan)
        return cls(found.plan if plan is None else summary.left(
            plan, found.state), found.cluster, found.limits, found.models,
            found.slots, plan)

    def became(self, in_flight: Container[str]) -> str:
        """What became of the moves of a plan of before, a sentence.

        Empty where all are ahead.

        :param in_flight: volumes
        """
        if self.asked is None:
            return ''
        known = {volume.id: volume.pool for volume in self.cluster.volumes}
        moves, ahead = self.asked.moves, len(self.plan.moves)
        made = sum(known.get(move.volume) == move.target for move in moves)
        copied = sum(move.volume in in_flight for move in self.plan.moves)
        if ahead == len(moves) and not copied:
            return ''
        lost = len(moves) - made - ahead
        return ', '.join([
            f'{made:,} of its {phrases.count(len(moves), "move")} '
            f'{"is" if made == 1 else "are"} made',
            *[f'{copied:,} {"is" if copied == 1 else "are"} in flight']
            * bool(copied),
            *[f'{lost:,} can no longer be made'] * bool(lost)]) + (
                '; all figures are of what is left. ')

    def explained(self) -> dict[str, cloud_page.Explained]:
        """Why the slowest pools are slow: hot ones, else the slowest."""
        pools = [each for each in self.seen.pools if each.planned]
        wanted = [each for each in pools if each.before.hot] or pools[:1]
        return {each.pool.name: cloud_page.Explained(
            explain.heat(self.state, each.pool.name),
            explain.parts(self.state, each.pool.name))
            for each in wanted[:_EXPLAINED]}

    def slos(self) -> tuple[outlook.TypeSlo, ...]:
        """The SLOs by type, before the plan and after it."""
        return outlook.by_type(self.state, outlook.carried_out(
            self.state, self.plan))
