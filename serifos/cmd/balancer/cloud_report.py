# SPDX-License-Identifier: Apache-2.0
"""The page of report and serve: the cloud and its plan."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Container
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import shlex

from oslo_config import cfg

from serifos.balancer import achieved_moves
from serifos.balancer.plans import Plans
from serifos.balancer.plans import Standing
from serifos.balancer.plans import standings
from serifos.balancer.plans import UNDER_WAY
from serifos.balancer.plans import VALID
from serifos.balancer.status import Status
from serifos.cmd.balancer import configuration
from serifos.cmd.balancer import databases
from serifos.cmd.balancer import judging
from serifos.cmd.balancer import status_tables
from serifos.cmd.balancer import stored_history
from serifos.database import journal
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.history import Series
from serifos.facts.journal import corrected
from serifos.facts.journal import Entry
from serifos.facts.journal import Leader
from serifos.facts import phrases
from serifos.facts.pool_errors import HOUR_S
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

_MOVES, _PLANS, _SAID = 200, 20, 3
_EXPLAINED = 3

_HOURS, _WEEK, _FEW = 24, 7 * 24, 100
"""Hours that are on the page; of so few pools a week of them."""

_LINED = 200
"""Slowest pools whose volumes' hours are on it, too."""


def text(conf: cfg.ConfigOpts, planned: Planned, now: float,
         say: Callable[[str], None], named: str | None = None) -> str:
    """The page.

    :param now: seconds of the epoch
    :param named: id or file of the plan; None for one of now
    :param say: is called with a sentence for what is left out
    :raises SerifosError: where the journal cannot be read
    """
    settings, cluster = configuration.settings(conf), planned.cluster
    entries: tuple[Entry, ...] = ()
    lead, plans, last, valid = None, [], None, None
    count = _HOURS if len(cluster.pools) > _FEW else _WEEK
    hours: Hours = {}
    volumes = Series.empty([], now - count * HOUR_S, now, HOUR_S)
    if settings.state_dir.is_dir():
        kept = journal.Journal(databases.database(conf), lambda: now)
        entries = corrected(kept.entries(), now)
        lead = kept.leader()
        hours, volumes = _hours(conf, planned.seen, cluster, hours,
                                volumes, say)
        stored = databases.plans(conf)
        plans = standings(stored.listed(), entries, now)
        last = _last(stored, plans, say)
        valid = _valid(stored, plans, planned.plan, say)
    status = status_tables.status(settings, entries, cluster, now, lead)
    return cloud_page.render(cloud_page.Facts(
        cluster, planned.seen, planned.explained(), planned.slos(),
        hours, volumes, entries, planned.became({
            each.volume for each in status.in_flight})
        + status_tables.carried_out_by(status),
        _command(named or valid, status.mode),
        _became(last, entries),
        *configuration.age(conf, cluster, now),
        tuple(_sections(status, lead, plans, entries, cluster))))


def _hours(conf: cfg.ConfigOpts, seen: outlook.Outlook, cluster: Cluster,
           pools: Hours, volumes: Series, say: Callable[[str], None]
           ) -> tuple[Hours, Series]:
    """The hours of pools and volumes, as far as serifos keeps them.

    :param pools: where they cannot be read
    :param volumes: the same, of no volume; its hours are read
    :param say: is called with a sentence then
    """
    begin, end = volumes.begin, volumes.end
    try:
        pools = stored_history.accuracy(conf).kept.hours(begin, end)
        past = stored_history.Past.of(conf)
        if past.kept is not None:
            slowest = {each.pool.name for each in sorted(
                seen.pools, key=lambda each: (
                    -cloud_charts.measured_us(each)))[:_LINED]}
            volumes = past.kept.read(past.places(conf, {
                each.id: each.pool for each in cluster.volumes
                if each.pool in slowest}), begin, end, HOUR_S)
    except errors.SerifosError as exc:
        say(f'The last hours are not shown: {exc}')
    return pools, volumes


def _command(plan: str | None, mode: str) -> str:
    """The command that carries a plan out.

    :param plan: its id or its file; None where it is not stored
    """
    if plan is None:
        return ('serifos-balancer plan --out plan.json && '
                'serifos-balancer apply plan.json')
    verb = 'approve' if mode == 'approve' else 'apply'
    return f'serifos-balancer {verb} {shlex.quote(plan)}'


def _valid(stored: Plans, plans: Sequence[Standing[Listed]], shown: Plan,
           say: Callable[[str], None]) -> str | None:
    """The stored plan that has the moves that are shown, if one is valid."""
    for each in plans:
        if each.state == VALID:
            for plan in stored.every(say, ids=[each.plan.id]):
                if [(move.volume, move.target) for move in plan.moves] == [
                        (move.volume, move.target) for move in shown.moves]:
                    return plan.id
    return None


def _sections(seen: Status, lead: Leader | None,
              plans: Sequence[Standing[Listed]],
              entries: Sequence[Entry],
              cluster: Cluster) -> Iterator[page.Section]:
    """Plans that are kept, migrations, and the status."""
    if plans:
        listed = status_tables.plans(plans[:_PLANS])
        yield page.Section('Plans', tables=[dataclasses.replace(
            listed, header=(*listed.header, 'to carry it out'), rows=[
                (*row, page.Command(_command(each.plan.id, seen.mode))
                 if each.state == VALID and each.plan.move_count else '–')
                for row, each in zip(listed.rows, plans)])])
    rows = _rows(entries, wording.volumes(cluster))
    if rows:
        yield page.Section('Migrations', tables=[table.Table(
            ('ended at', 'volume', 'from', 'to', 'min', 'what became of it',
             'achieved'), rows[:_MOVES], 'The newest first.')], folded=True)
    yield page.Section('Balancer', tables=[
        table.Table((), [*status_tables.facts(seen, lead)]),
        *([status_tables.in_flight(seen, cluster)] if seen.in_flight else [])],
        folded=True)


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
