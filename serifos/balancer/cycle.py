# SPDX-License-Identifier: Apache-2.0
"""The balancer's round: observe, plan, act on a small batch, observe again.

It decides from one frozen observation and stops where it is not sure:
while anybody's migration is in flight, a pool is down, too little is known
or it has failed too often, nothing is moved and the log says why.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import pathlib

from oslo_log import log

from serifos import activity
from serifos.balancer import act
from serifos.balancer import forgotten
from serifos.balancer import journal_time
from serifos.balancer import mend
from serifos.balancer import observe
from serifos.balancer import outcome as oc
from serifos.balancer import planning
from serifos.balancer import plans
from serifos.balancer import requests
from serifos.balancer import whereabouts
from serifos import cluster as cl
from serifos import errors
from serifos import inventory as inv
from serifos import journal as jn
from serifos.model import model as mm
from serifos import model_files
from serifos.plan import limits as lm
from serifos.plan import movable
from serifos.plan import plan as pl
from serifos import store

LOG = log.getLogger(__name__)

_FEW = 50
"""Backends that may be asked what they hold, for one volume."""


def _warn(text: str) -> None:
    LOG.warning('%s', text)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How the operator wants it; times in seconds."""

    state_dir: pathlib.Path
    models_dir: pathlib.Path
    limits: lm.Limits = lm.Limits()
    patience: act.Patience = act.Patience()
    planner: str = 'relieve'
    auto: bool = False
    batch: int = 2
    interval_s: float = 300.0
    window_s: float = 600.0
    settle_s: float = 600.0
    cool_down_s: float = 86400.0
    plan_ttl_s: float = 86400.0
    max_failures: int = 3
    allow_attached: bool = False
    excluded_projects: frozenset[str] = frozenset()

    @property
    def rules(self) -> movable.Rules:
        """What the operator allows, whatever the journal remembers."""
        return movable.Rules(self.allow_attached, self.excluded_projects)

    @property
    def cluster_file(self) -> pathlib.Path:
        return self.state_dir / 'cluster.json'

    @property
    def plans_dir(self) -> pathlib.Path:
        return self.state_dir / 'plans'

    @property
    def old_journal_file(self) -> pathlib.Path:
        """Of earlier releases; imported where it is found."""
        return self.state_dir / 'journal.jsonl'


@dataclasses.dataclass(frozen=True)
class Sight:
    """One observation, whole.

    :param models: those that the pools name and that can be used
    :param verdicts: of the migrations under way, and of what was left
    """

    inventory: inv.Inventory
    observed: activity.Observed
    cluster: cl.Cluster
    models: Mapping[str, mm.Model]
    verdicts: tuple[forgotten.Verdict, ...] = ()

    def hindrances(self, least: int = 2) -> list[str]:
        """Why nothing may be moved now, a sentence each.

        :param least: pools that have to be seen, with a model
        """
        return [*(verdict.sentence() for verdict in self.verdicts
                  if verdict.over and movable.migrating(verdict.record)),
                *observe.hindrances(self.inventory, self.cluster, self.models,
                                    least)]


@dataclasses.dataclass(frozen=True)
class Balancer:
    """The rounds over one cloud.

    :param clock: seconds of the epoch
    :param pause: waits for so many seconds; True where we shall stop
    :param prove: raises where we may not ask Cinder for anything
    """

    cinder: inv.Cloud
    telemetry: activity.Telemetry
    journal: jn.Journal
    settings: Settings
    clock: Callable[[], float]
    pause: Callable[[float], bool]
    prove: Callable[[], None] = requests.nothing

    def under(self, journal: jn.Journal,
              prove: Callable[[], None]) -> Balancer:
        """The same where it leads.

        :param journal: written while it does
        :param prove: raises NotLeading once it does not
        """
        return dataclasses.replace(self, journal=journal, prove=prove)

    @property
    def hands(self) -> act.Hands:
        """What acts; it keeps ``cluster.json`` fresh while it waits."""
        looked = self.clock()

        def pause(seconds: float) -> bool:
            nonlocal looked
            if self.pause(seconds):
                return True
            if self.clock() - looked >= self.settings.interval_s:
                looked = self.clock()
                try:
                    self.observe()
                except errors.SerifosError as exc:
                    LOG.warning('No observation: %s', exc)
            return False
        return act.Hands(self.requests, self.journal, self.settings.patience,
                         self.settings.rules, self.clock, pause)

    @property
    def requests(self) -> requests.Requests:
        return requests.Requests(self.cinder, self.prove)

    def entries(self) -> tuple[jn.Entry, ...]:
        """Of the journal, none of them in the future."""
        return journal_time.bounded(self.journal.entries(), self.clock())

    def _note_the_clock(self) -> None:
        """Bounds what a clock wrote that was ahead, and says so once."""
        ahead = journal_time.unbounded(self.journal.entries(), self.clock())
        if ahead:
            LOG.warning(
                'The last %d entries of the journal lie in the future: the '
                'clock here was ahead, or is behind now. They count as of '
                'now at the latest.', ahead)
            self.journal.write(
                'clock', reason=f'{ahead} entries lie in the future')

    def observe(self, cool_down: bool = True) -> Sight:
        """Looks at everything and writes ``cluster.json``.

        :param cool_down: whether volumes that were just moved stay
        :raises CloudError: where Cinder or telemetry does not answer; the
            file is left as it was
        """
        settings, entries = self.settings, self.entries()
        inventory = mend.recalled(self.cinder.inventory(), entries)
        now = self.clock()
        observed = self.telemetry.observe(
            observe.places(inventory), settings.window_s,
            [pool.name for pool in inventory.pools])
        cluster = observe.cluster(
            inventory, observed, model_files.stems(settings.models_dir),
            dataclasses.replace(
                settings.rules,
                cool_down_s=settings.cool_down_s if cool_down else 0.0,
                moved_at=jn.last_moves(entries),
                back_off_until=jn.back_offs(entries, self.clock())))
        store.write_cluster(settings.cluster_file, cluster)
        active = sum(volume.workload is not None and volume.workload.is_active(
            settings.limits.active_floor) for volume in cluster.volumes)
        LOG.info('Observed %d pools, %d volumes, %d of them active, %d '
                 'without telemetry.', len(cluster.pools),
                 len(cluster.volumes), active, sum(
                     volume.workload is None for volume in cluster.volumes))
        models, broken = model_files.readable(
            settings.models_dir,
            {pool.model for pool in cluster.pools if pool.model})
        for gap in (*observe.gaps(inventory, observed, cluster), *(
                planning.without(cluster, stem, why)
                for stem, why in broken.items())):
            LOG.warning('%s', gap)
        sight = Sight(inventory, observed, cluster, models, tuple(
            self._verdicts(inventory, observed, now)))
        for verdict in sight.verdicts:
            if verdict.over and not movable.migrating(verdict.record):
                LOG.warning('%s', verdict.sentence())
        return sight

    def _verdicts(self, inventory: inv.Inventory,
                  observed: activity.Observed,
                  now: float) -> Iterator[forgotten.Verdict]:
        """What became of the migrations under way, and of their copies."""
        watched = self._watch(inventory, observed)
        groups = whereabouts.groups_of(inventory)
        for verdict in forgotten.verdicts(inventory, watched, now):
            if not verdict.forgotten:
                yield verdict
                continue
            pools = self._pools(verdict, groups) & {*groups}
            try:
                names = {pool: self.cinder.logical_volumes(pool)
                         for pool in sorted(pools)}
            except errors.CloudError as exc:
                yield dataclasses.replace(verdict, forgotten=False, why=(
                    'Cinder does not list the logical volumes of '
                    f'{" and ".join(sorted(pools))}: {exc}'.rstrip('.')))
                continue
            yield forgotten.decide(verdict, names, groups, watched)

    def _pools(self, verdict: forgotten.Verdict,
               groups: Collection[str]) -> set[str]:
        """Where its logical volumes may be.

        Where it is on its target already its old one may be anywhere else,
        unless it was us who asked.
        """
        asked = [entry.facts['source'] for entry in self.journal.entries()
                 if entry.kind == 'request'
                 and entry.facts['volume'] == verdict.record.id]
        if not asked and len(groups) <= _FEW and any(
                half.target_of and half.pool == verdict.record.pool
                for half in verdict.halves):
            return {*groups}
        return {*asked[-1:], *(end.pool for end in verdict.ends if end.pool)}

    def _watch(self, inventory: inv.Inventory,
               observed: activity.Observed) -> activity.Observed:
        """What the migrations under way did, long enough to judge them."""
        found = forgotten.suspects(inventory)
        if not found:
            return observed
        hands = {*found, *(half.id for halves in found.values()
                           for half in halves)}
        return self.telemetry.observe(
            [place for place in observe.places(inventory)
             if place.volume in hands],
            max(self.settings.window_s, forgotten.WATCH_S))

    def verdict(self, volume: str) -> forgotten.Verdict:
        """Whether the migration of a volume has been forgotten.

        :raises InputError: where none is under way
        """
        sight = self.observe()
        record = sight.inventory.record_by_id.get(volume)
        if record is None:
            raise errors.InputError(f'Cinder has no volume {volume}.')
        found = next((verdict for verdict in sight.verdicts
                      if verdict.record.id == volume), None)
        if found is None:
            raise errors.InputError(
                f'Volume {volume} is not being migrated (its migration '
                f'status is {record.migration_status}) and no copy of it is '
                'left; there is nothing to recover.')
        return found

    def mend(self, verdict: forgotten.Verdict) -> None:
        """Mends a migration that Cinder has forgotten.

        :raises InputError: where it may still run
        :raises CloudError: where Cinder says no
        """
        mend.mend(verdict, self.requests, self.journal, self.pause,
                  self.settings.patience.poll_s,
                  self.settings.patience.timeout_s)
        for asked in jn.open_moves(self.journal.entries()):
            if asked.facts['volume'] == verdict.record.id:
                self.hands.mended(asked)
        self._pause_after_failures()

    def round(self) -> pl.Plan | None:
        """One round; its plan, None where none was made."""
        if self.settings.auto:
            self.settle_open_moves()
        sight = self.observe()
        for hindrance in (hindrances := sight.hindrances()):
            LOG.warning('Nothing is moved: %s', hindrance)
        if hindrances:
            return None
        settings = self.settings
        plan = planning.issued(
            planning.plan(settings.planner, sight.cluster, settings.limits,
                          sight.models), self.clock(), settings.plan_ttl_s)
        LOG.info('The worst predicted latency is %.4g ms; %s moves %d '
                 'volumes, then it is %.4g ms.', plan.max_us.before / 1e3,
                 plan.planner, len(plan.moves), plan.max_us.after / 1e3)
        if not plan.moves:
            return plan
        kept = plans.keep(settings.plans_dir, plan, self.clock(), _warn)
        LOG.info('The plan is %s.', settings.plans_dir / f'{kept.id}.json')
        if settings.auto and not self._rests():
            self.carry_out(plan.moves[:settings.batch], kept.id)
            self.observe()
        return kept

    def _rests(self) -> bool:
        """Whether the time for moving has not come, with the reason said."""
        entries = self.entries()
        if jn.paused(entries):
            LOG.warning('Nothing is moved: the balancer is paused; look at '
                        'serifos-balancer history, then serifos-balancer '
                        'resume.')
            return True
        since = self.clock() - jn.last_outcome(entries)
        if since < self.settings.settle_s:
            LOG.info('Nothing is moved for another %.0f s: the last '
                     'migration ended %.0f s ago.',
                     self.settings.settle_s - since, since)
            return True
        return False

    def carry_out(self, moves: Sequence[pl.Move],
                  plan_id: str) -> list[act.Outcome]:
        """The moves one after the other; it ends at the first failure."""
        outcomes: list[act.Outcome] = []
        for move in moves:
            busy = next(observe.in_flight(self.cinder.inventory()), None)
            if busy is not None:
                LOG.warning('Volume %s stays: %s', move.volume, busy)
                outcomes.append(act.Outcome('hindered', busy))
                break
            outcomes.append(self.hands.carry_out(move, plan_id))
            self._pause_after_failures()
            if outcomes[-1].ends_a_batch:
                break
        return outcomes

    def settle_open_moves(self) -> None:
        """Waits for what was requested before, and has not ended.

        Also for what got no answer, was given up and began after all.
        """
        self._note_the_clock()
        entries = self.entries()
        for asked in jn.open_moves(entries):
            LOG.info('The migration of volume %s, requested at %s, has no '
                     'outcome yet.', asked.facts['volume'], asked.at)
            self.hands.wait_for(asked, oc.was_taken_up(entries, asked))
            self._pause_after_failures()
        for asked in oc.doubtful(entries):
            self.hands.look_again(asked)
            self._pause_after_failures()

    def _pause_after_failures(self) -> None:
        entries = self.journal.entries()
        failures = jn.failures_in_a_row(entries)
        if failures >= self.settings.max_failures and not jn.paused(entries):
            LOG.error('%d migrations in a row failed; the balancer pauses '
                      'until serifos-balancer resume.', failures)
            self.journal.write(
                'pause', reason=f'{failures} failures in a row')
