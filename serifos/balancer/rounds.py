# SPDX-License-Identifier: Apache-2.0
"""The balancer's round: observe, plan, act on a small batch, observe again.

Nothing is moved, and the log says why, while any migration is under way, a
pool is down, telemetry or models are missing, or after repeated failures. A
migration that is stuck or forgotten keeps only its own pools out of moves.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
from types import MappingProxyType

from oslo_log import log

from serifos.balancer.achieved import moves as followed
from serifos.balancer.achieved.pools import Achieved
from serifos.balancer import approved
from serifos.balancer import decide
from serifos.balancer import join
from serifos.balancer.moving import act
from serifos.balancer.moving import batch
from serifos.balancer.moving import carrying
from serifos.balancer import observer
from serifos.balancer.outcome import Outcome
from serifos.balancer.pace import at_learnt_rates
from serifos.balancer.pace import Pace
from serifos.balancer import planning
from serifos.balancer.plans import Plans
from serifos.balancer.recorder import Recorder
from serifos.balancer.recovery import automatic
from serifos.balancer.recovery.diagnosis import Diagnosis
from serifos.balancer.recovery.diagnosis import QUIET_S
from serifos.balancer.recovery import recover
from serifos.balancer import requests
from serifos.balancer.settings import BalancerSettings
from serifos.balancer import space
from serifos import errors
from serifos.facts.history import History
from serifos.facts.inventory import Cloud
from serifos.facts.journal import Entry
from serifos.facts.journal import Journal
from serifos.facts.journal import last_moves
from serifos.facts.journal import open_moves
from serifos.facts.journal import paused
from serifos.facts import servers
from serifos.facts.telemetry import Telemetry
from serifos.plan.affinity import torn
from serifos.plan.limits import Limits
from serifos.plan.loads.slots import Slots
from serifos.plan.plan import Move
from serifos.plan.plan import Plan
from serifos.plan.recent import Recent
from serifos.plan import text

LOG = log.getLogger(__name__)

_warn = functools.partial(LOG.warning, '%s')


@dataclasses.dataclass(frozen=True)
class Balancer:
    """The balancer of one cloud.

    :param plans: where they are stored
    :param clock: seconds of the epoch
    :param pause: waits for so many seconds; True where it is to stop
    :param prove: raises where this balancer may not change anything
    :param qemu_us: as of :class:`.observer.Observer`
    :param recent: of the rounds before; None where one observation counts
    :param recorder: as of :class:`.observer.Observer`
    :param growth: as of :class:`.observer.Observer`
    :param achieved: as of :class:`.observer.Observer`
    :param history: what volumes did over days; None where the present is
        planned for
    """

    cinder: Cloud
    telemetry: Telemetry
    journal: Journal
    plans: Plans
    settings: BalancerSettings
    clock: Callable[[], float]
    pause: Callable[[float], bool]
    prove: Callable[[], None] = requests.nothing
    nova: servers.Compute = servers.NOT_CONFIGURED
    qemu_us: Callable[[float], Mapping[str, float]] = lambda _: {}
    recent: Recent | None = None
    recorder: Recorder | None = None
    growth: space.Growth | None = None
    achieved: Achieved | None = None
    history: History | None = None

    def as_follower(self) -> Balancer:
        """This balancer while another one leads.

        It leaves a history that they share to the leader.
        """
        recorder, achieved = self.recorder, self.achieved
        return dataclasses.replace(
            self, recorder=recorder and (
                recorder if recorder.is_ours else None),
            achieved=achieved and dataclasses.replace(
                achieved, writes=achieved.is_ours))

    def as_leader(self, journal: Journal,
                  prove: Callable[[], None]) -> Balancer:
        """This balancer as the leader.

        :param journal: the leader's
        :param prove: raises NotLeading once it no longer leads
        """
        return dataclasses.replace(self, journal=journal, prove=prove)

    @property
    def observer(self) -> observer.Observer:
        return observer.Observer(
            self.cinder, self.telemetry, self.journal, self.settings,
            self.clock, self.nova, self.qemu_us, self.recorder, self.growth,
            self.achieved)

    @property
    def executor(self) -> act.Executor:
        return act.Executor(
            self.requests, self.nova, self.journal, self.settings.timeouts,
            self.settings.rules, self.clock, self.pause)

    @property
    def carrier(self) -> carrying.Carrier:
        return carrying.Carrier(self.executor, self.settings, self._refresh)

    @property
    def requests(self) -> requests.Requests:
        return requests.Requests(self.cinder, self.prove)

    def entries(self) -> tuple[Entry, ...]:
        """As :meth:`.carrying.Carrier.entries`."""
        return self.carrier.entries()

    def observe(self, cool_down: bool = True) -> observer.Observation:
        """As :meth:`.observer.Observer.observe`."""
        return self.observer.observe(cool_down)

    def diagnose(self, volume: str, disk: str | None = None,
                 keep: bool = False) -> Diagnosis:
        """As :meth:`.observer.Observer.diagnose`."""
        return self.observer.diagnose(volume, disk, keep)

    def _refresh(self) -> dict[str, str]:
        """Updates ``cluster.json`` while a migration runs.

        Volume → a sentence, for each that nobody goes on with.
        """
        try:
            return {found.record.id: found.sentence()
                    for found in self.observe().diagnoses if found.over}
        except errors.SerifosError as exc:
            LOG.warning('No observation: %s', exc)
            return {}

    def recover(self, diagnosis: Diagnosis) -> None:
        """Recovers a volume whose migration Cinder has forgotten.

        :raises InputError: where it may still run
        :raises CloudError: where Cinder refuses
        """
        recover.recover(diagnosis, self.requests, self.journal, self.pause,
                        self.settings.timeouts.poll_s,
                        self.settings.timeouts.timeout_s)
        for asked in open_moves(self.journal.entries()):
            if asked.facts['volume'] == diagnosis.record.id:
                self.executor.recovered(asked)
        self.carrier.pause_after_failures()

    def round(self) -> Plan | None:
        """One round; returns its plan, None where none was made."""
        if self.settings.auto:
            self.settle_open_moves()
        self._follow_moves()
        seen = self.observe()
        if self.settings.auto and self._recover_forgotten(seen):
            seen = self.observe()
        for hindrance in (hindrances := seen.hindrances()):
            LOG.warning('Nothing is moved: %s', hindrance)
        if hindrances:
            return None
        settings = self.settings
        stable = decide.steady(seen, self.limits(), self.recent, self.clock(),
                               self.slots(seen), settings.mend_at_once)
        cluster = settings.planned(stable.cluster)
        plan = planning.issued(
            decide.plan(settings, cluster, stable, seen.models),
            self.clock(), settings.plan_ttl_s)
        LOG.info('The worst predicted latency is %.4g ms; %s moves %s, '
                 'then it is %.4g ms.', plan.max_us.before / 1e3,
                 plan.planner, text.volumes(len(plan.moves)),
                 plan.max_us.after / 1e3)
        kept = plan
        if plan.moves:
            kept = self.plans.keep(plan, self.clock(), _warn)
            LOG.info('The plan is %s.', kept.id)
        due = approved.due(
            settings, self.plans, kept, self.entries(), self.clock(), cluster
            ) if settings.approved_only else (
            dataclasses.replace(plan, id=kept.id) if settings.auto
            and plan.moves else None)
        if due is not None and not self.carrier.must_wait():
            entries, now = self.entries(), self.clock()
            self.carry_out(batch.chosen(
                due.moves, settings.batch, cluster,
                lambda gib: settings.pace.exceeded(gib, entries, now),
                approved.any_time if settings.approved_only
                else stable.too_early),
                due.id, seen.over, settings.pace,
                batch.devices_of(cluster), torn.bundles(cluster),
                approved.barred(due) if settings.approved_only
                else approved.never)
            self.observe()
        return kept

    def _follow_moves(self) -> None:
        """Writes down what moves of the last hours achieved."""
        now = self.clock()
        ended = [] if self.achieved is None else followed.due(
            self.entries(), now)
        if ended:
            for facts in followed.achieved(ended, self.achieved.hours(now)):
                LOG.info('Volume %s was moved: %s.', facts['volume'],
                         followed.said(facts))
                self.journal.write('achieved', **facts)

    def _recover_forgotten(self, seen: observer.Observation) -> bool:
        """Recovers what needs no person; whether anything was begun."""
        entries, settings = self.entries(), self.settings
        if not settings.auto_recover or paused(entries):
            return False
        ready = automatic.ready(
            seen.diagnoses, seen.watched, self.journal, entries, self.clock(),
            max(QUIET_S, 3 * settings.interval_s))
        for found in ready:
            if self.pause(0):
                break
            LOG.warning('Volume %s is recovered without a person: %s. %s',
                        found.record.id, found.why, ' '.join(found.plan()))
            try:
                self.recover(found)
            except (errors.InputError, errors.CloudError) as exc:
                LOG.error('%s', exc)
        return bool(ready)

    def slots(self, seen: observer.Observation) -> Slots | None:
        """What volumes did over days; None where the present is planned for.

        :raises SerifosError: where the history cannot be read
        """
        return decide.slots(self.history, join.places(
            seen.inventory, last_moves(self.entries())), self.clock(),
            self.settings)

    def limits(self) -> Limits:
        """The limits of plans, with the rates of the latest migrations."""
        return at_learnt_rates(
            self.settings.limits, self.journal.entries())

    def carry_out(self, moves: Sequence[Move], plan_id: str,
                  over: Collection[str] = (), pace: Pace = Pace(),
                  devices: Mapping[str, str] = MappingProxyType({}),
                  bundles: Mapping[str, str] = MappingProxyType({}),
                  barred: carrying.Barred = lambda *_: None
                  ) -> list[Outcome]:
        """As :meth:`.carrying.Carrier.carry_out`."""
        return self.carrier.carry_out(moves, plan_id, over, pace, devices,
                                      bundles, barred)

    def ends_a_batch(self, outcome: Outcome) -> bool:
        """Whether the next move must not be requested."""
        return self.carrier.ends_a_batch(outcome)

    def settle_open_moves(self) -> None:
        """As :meth:`.carrying.Carrier.settle_open_moves`."""
        self.carrier.settle_open_moves()
