# SPDX-License-Identifier: Apache-2.0
"""Moves carried out in batches, and what ends a batch or hinders a move."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from types import MappingProxyType

from oslo_log import log

from serifos.balancer.moving import act
from serifos.balancer.moving import batch
from serifos.balancer.moving import changes
from serifos.balancer.outcome import doubtful
from serifos.balancer.outcome import Outcome
from serifos.balancer.outcome import was_taken_up
from serifos.balancer.pace import Pace
from serifos.balancer.recovery.diagnosis import Diagnosis
from serifos.balancer.recovery import recover
from serifos.balancer.settings import BalancerSettings
from serifos.balancer.standing import obstacles
from serifos.facts import clock_skew
from serifos.facts import journal
from serifos.plan.plan import Move

LOG = log.getLogger(__name__)

Barred = Callable[[Sequence[journal.Entry], float], str | None]
"""(The journal's entries, now) → why no move may be requested, or None."""


@dataclasses.dataclass(frozen=True)
class Carrier:
    """Carries moves out, and waits for those that were requested before.

    :param refresh: observes the cloud while a migration runs; volume → a
        sentence, for each migration that nobody goes on with
    """

    executor: act.Executor
    settings: BalancerSettings
    refresh: Callable[[], dict[str, str]]

    def entries(self) -> tuple[journal.Entry, ...]:
        """The journal's entries, none of them in the future."""
        return clock_skew.corrected(
            self.executor.journal.entries(), self.executor.clock())

    def must_wait(self) -> bool:
        """Whether nothing may be moved yet; logs the reason."""
        entries = self.entries()
        pause = journal.pause(entries)
        if pause is not None:
            LOG.warning('Nothing is moved: the balancer is paused since %s: '
                        '%s. Look at serifos-balancer history, then '
                        'serifos-balancer resume.', pause.at,
                        pause.facts['reason'])
            return True
        closed = self.settings.pace.closed(self.executor.clock())
        if closed is not None:
            LOG.info('Nothing is moved: %s.', closed)
            return True
        since = self.executor.clock() - journal.last_outcome(entries)
        if since < self.settings.settle_s:
            LOG.info('Nothing is moved for another %.0f s: the last '
                     'migration ended %.0f s ago.',
                     self.settings.settle_s - since, since)
            return True
        return False

    def carry_out(self, moves: Sequence[Move], plan_id: str,
                  over: Collection[str] = (), pace: Pace = Pace(),
                  devices: Mapping[str, str] = MappingProxyType({}),
                  bundles: Mapping[str, str] = MappingProxyType({}),
                  barred: Barred = lambda *_: None) -> list[Outcome]:
        """Carries the moves out, those of different devices in parallel.

        The batch ends where another move cannot be requested now, or the
        balancer pauses.

        :param over: volumes whose migrations nobody goes on with
        :param pace: what is looked at before each move
        :param devices: pool → its device, where that is not its own
        :param bundles: as of :func:`.torn.bundles`
        :param barred: is asked before each move, too
        """
        def hindrance(move: Move, ours: frozenset[str]) -> str | None:
            now, entries = self.executor.clock(), self.entries()
            return journal.doubt(entries) or barred(entries, now) or (
                pace.closed(now)) or pace.exceeded(
                    move.size_gib, entries, now) or next(
                        obstacles.in_flight(self.executor.cinder.inventory(),
                                            {*over, *ours}), None)

        return self._batch(hindrance, devices, bundles).carry_out(
            moves, plan_id)

    def _batch(self, hindrance: Callable[
            [Move, frozenset[str]], str | None] = lambda *_: None,
            devices: Mapping[str, str] = MappingProxyType({}),
            bundles: Mapping[str, str] = MappingProxyType({})
            ) -> batch.Batch:
        settings = self.settings
        return batch.Batch(self.executor, settings.parallel, devices,
                           hindrance, self._ends, self.refresh,
                           settings.interval_s, bundles)

    def _ends(self, outcome: Outcome) -> bool:
        self.pause_after_failures()
        return self.ends_a_batch(outcome)

    def ends_a_batch(self, outcome: Outcome) -> bool:
        """Whether the next move must not be requested."""
        return outcome.ends_a_batch or (
            outcome.failed and journal.paused(self.executor.journal.entries()))

    def recover(self, diagnosis: Diagnosis) -> None:
        """Recovers a volume whose migration Cinder has forgotten.

        :raises InputError: where it may still run
        :raises CloudError: where Cinder refuses
        """
        executor, timeouts = self.executor, self.settings.timeouts
        recover.recover(diagnosis, executor.requests, executor.journal,
                        executor.pause, timeouts.poll_s, timeouts.timeout_s)
        for asked in journal.open_moves(executor.journal.entries()):
            if asked.facts['volume'] == diagnosis.record.id:
                executor.recovered(asked)
        self.pause_after_failures()

    def settle_open_moves(self) -> None:
        """Waits for migrations that were requested and have no outcome.

        Also for unanswered requests that were given up and have begun since.
        """
        self._note_clock_skew()
        entries, begun = self.entries(), []
        for asked in journal.open_moves(entries):
            LOG.info('The migration of volume %s, requested at %s, has no '
                     'outcome yet.', asked.facts['volume'], asked.at)
            begun.append(act.Request(
                asked, was_taken_up(entries, asked),
                changed=changes.of_last(entries, asked.facts['volume'])))
        self._batch().follow(begun)
        self._batch().follow(filter(None, map(
            self.executor.begun_late, doubtful(entries))))

    def pause_after_failures(self) -> None:
        """Pauses the balancer where too many moves in a row failed."""
        entries = self.executor.journal.entries()
        failures = journal.failures_in_a_row(entries)
        if (failures >= self.settings.max_failures
                and not journal.paused(entries)):
            LOG.error('%d migrations in a row failed; the balancer pauses '
                      'until serifos-balancer resume.', failures)
            self.executor.journal.write(
                'pause', reason=f'{failures} failures in a row')

    def _note_clock_skew(self) -> None:
        """Writes an entry that dates those in the future, and warns once."""
        ahead = clock_skew.uncorrected(
            self.executor.journal.entries(), self.executor.clock())
        if ahead:
            LOG.warning(
                'The last %d entries of the journal lie in the future: the '
                'clock here was ahead, or is behind now. They count as of '
                'now at the latest.', ahead)
            self.executor.journal.write(
                'clock', reason=f'{ahead} entries lie in the future')
