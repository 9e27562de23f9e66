# SPDX-License-Identifier: Apache-2.0
"""The balancer's round: observe, plan, act on a small batch, observe again.

Nothing is moved, and the log says why, while any migration is under way, a
pool is down, telemetry or models are missing, or after repeated failures. A
migration that is stuck or forgotten keeps only its own pools out of moves.
"""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import functools

from oslo_log import log

from serifos.balancer import achieved_moves
from serifos.balancer import batch
from serifos.balancer import decide
from serifos.balancer import join
from serifos.balancer.leader import no_proof
from serifos.balancer.leader import Requests
from serifos.balancer.move import Executor
from serifos.balancer.observe import Observation
from serifos.balancer.observe import Observer
from serifos.balancer.pace import at_learnt_rates
from serifos.balancer import planning
from serifos.balancer.plans import Plans
from serifos.balancer.recovery.diagnosis import QUIET_S
from serifos.balancer.recovery import recover
from serifos.balancer import remaining
from serifos import errors
from serifos.facts.activity import History
from serifos.facts.journal import Journal
from serifos.facts.journal import last_moves
from serifos.facts.journal import paused
from serifos.plan import affinity
from serifos.plan.limits import Limits
from serifos.plan.plan import Plan
from serifos.plan.recent import Recent
from serifos.plan import sentences
from serifos.plan.slots import Slots

LOG = log.getLogger(__name__)

_warn = functools.partial(LOG.warning, '%s')


@dataclasses.dataclass(frozen=True)
class Decision:
    """The decision of a round: its observation and its plan.

    :param plan: None where one was kept from being made
    :param basis: None likewise
    :param recent: what was observed, for the next round; None where one
        observation counts
    """

    seen: Observation
    recent: Recent | None
    plan: Plan | None = None
    basis: decide.Basis | None = None


@dataclasses.dataclass(frozen=True)
class Balancer:
    """The balancer of one cloud: it observes, decides and acts.

    :param plans: where they are stored
    :param history: what volumes did over days; None where the present is
        planned for
    """

    observer: Observer
    carrier: batch.Carrier
    plans: Plans
    history: History | None = None

    @classmethod
    def of(cls, observer: Observer, plans: Plans,
           pause: Callable[[float], bool],
           prove: Callable[[], None] = no_proof,
           history: History | None = None) -> Balancer:
        """A balancer that carries out what its observer's settings allow.

        :param pause: waits for so many seconds; True where it is to stop
        :param prove: raises where this balancer may not change anything
        """
        settings = observer.settings
        return cls(observer, batch.Carrier(Executor(
            Requests(observer.cinder, prove), observer.nova, observer.journal,
            settings.timeouts, settings.rules, observer.clock, pause),
            settings, observer.refresh), plans, history)

    def as_leader(self, journal: Journal,
                  prove: Callable[[], None]) -> Balancer:
        """This balancer as the leader.

        :param journal: the leader's
        :param prove: raises NotLeading once it no longer leads
        """
        return self.of(
            dataclasses.replace(self.observer, journal=journal), self.plans,
            self.carrier.executor.pause, prove, self.history)

    def round(self, recent: Recent | None = None) -> Plan | None:
        """One round; returns its plan, None where none was made."""
        return self.act(self.decide(recent))

    def decide(self, recent: Recent | None = None) -> Decision:
        """Observes the cloud and decides what to move.

        :param recent: the rounds before; None where one observation counts
        """
        settings, clock = self.observer.settings, self.observer.clock
        if settings.auto:
            self.carrier.settle_open_moves()
        self._follow_moves()
        seen = self.observer.observe()
        if settings.auto and self._recover_forgotten(seen):
            seen = self.observer.observe()
        for hindrance in (hindrances := seen.hindrances()):
            LOG.warning('Nothing is moved: %s', hindrance)
        if hindrances:
            return Decision(seen, recent)
        limits, slots = self.limits(), self.slots(seen)
        if recent is None:
            basis = decide.Basis.of(
                settings, seen.cluster, limits, seen.models, slots)
        else:
            basis, recent = decide.smoothed(
                settings, seen, limits, recent, clock(), slots)
        plan = planning.issued(
            decide.plan(settings, basis), clock(), settings.plan_ttl_s)
        LOG.info('%s', sentences.made(plan))
        return Decision(seen, recent, plan, basis)

    def act(self, decision: Decision) -> Plan | None:
        """Stores the plan of a decision, and carries out what is due.

        :returns: the plan that is stored
        """
        plan, basis = decision.plan, decision.basis
        if plan is None or basis is None:
            return None
        settings, clock = self.observer.settings, self.observer.clock
        kept = plan
        if plan.moves:
            kept = self.plans.keep(plan, clock(), _warn)
            LOG.info('The plan is %s.', kept.id)
        due = remaining.due(
            settings, self.plans, kept, self.carrier.entries(), clock(),
            basis.cluster) if settings.approved_only else (
            dataclasses.replace(plan, id=kept.id) if settings.auto
            and plan.moves else None)
        if due is not None and not self.carrier.must_wait():
            entries, now = self.carrier.entries(), clock()
            self.carrier.carry_out(batch.chosen(
                due.moves, settings.batch, basis.cluster,
                lambda gib: settings.pace.exceeded(gib, entries, now),
                remaining.any_time if settings.approved_only
                else basis.too_early),
                due.id, decision.seen.over, settings.pace,
                batch.devices_of(basis.cluster),
                affinity.bundles(basis.cluster),
                remaining.barred(due) if settings.approved_only
                else remaining.never)
            self.observer.observe()
        return kept

    def _follow_moves(self) -> None:
        """Writes down what moves of the last hours achieved."""
        accuracy, now = self.observer.accuracy, self.observer.clock()
        ended = [] if accuracy is None else achieved_moves.due(
            self.carrier.entries(), now)
        if ended:
            for facts in achieved_moves.results(ended, accuracy.hours(now)):
                LOG.info('Volume %s was moved: %s.', facts['volume'],
                         achieved_moves.clause(facts))
                self.observer.journal.write('achieved', **facts)

    def _recover_forgotten(self, seen: Observation) -> bool:
        """Recovers what needs no person; whether anything was begun."""
        entries, settings = self.carrier.entries(), self.observer.settings
        if not settings.auto_recover or paused(entries):
            return False
        ready = recover.ready(
            seen.diagnoses, seen.watched, self.observer.journal, entries,
            self.observer.clock(), max(QUIET_S, 3 * settings.interval_s))
        for found in ready:
            if self.carrier.executor.pause(0):
                break
            LOG.warning('Volume %s is recovered without a person: %s. %s',
                        found.record.id, found.why, ' '.join(found.plan()))
            try:
                self.carrier.recover(found)
            except (errors.InputError, errors.CloudError) as exc:
                LOG.error('%s', exc)
        return bool(ready)

    def slots(self, seen: Observation) -> Slots | None:
        """What volumes did over days; None where the present is planned for.

        :raises SerifosError: where the history cannot be read
        """
        return decide.slots(self.history, join.places(
            seen.inventory, last_moves(self.carrier.entries())),
            self.observer.clock(), self.observer.settings)

    def limits(self) -> Limits:
        """The limits of plans, with the rates of the latest migrations."""
        return at_learnt_rates(self.observer.settings.limits,
                               self.observer.journal.entries())
