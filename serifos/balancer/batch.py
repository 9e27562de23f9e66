# SPDX-License-Identifier: Apache-2.0
"""Batches of moves: those of a round, several at the same time.

A copy loads both of its devices, so no two moves that run at the same time
share one; moves that do keep the order of the plan. Each move of a plan is
right after those before it: where a device keeps a volume that was to leave
it, no later move brings another there.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from types import MappingProxyType

from oslo_log import log

from serifos.balancer import changes
from serifos.balancer.move import Executor
from serifos.balancer.move import Request
from serifos.balancer.observe import in_flight
from serifos.balancer.outcome import doubtful
from serifos.balancer.outcome import Outcome
from serifos.balancer.outcome import was_taken_up
from serifos.balancer.pace import Pace
from serifos.balancer.recovery.diagnosis import Diagnosis
from serifos.balancer.recovery import recover
from serifos.balancer.settings import BalancerSettings
from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts import journal
from serifos.plan import affinity
from serifos.plan.plan import Move
from serifos.plan import quota

LOG = log.getLogger(__name__)


class Unmade:
    """Moves of a plan that are not made, by the devices they were to leave.

    Of volumes that are to stay on one pool, none is moved without the others.

    :param devices: pool → its device, where that is not its own
    :param bundles: as of :func:`.affinity.bundles`
    """

    def __init__(self, devices: Mapping[str, str],
                 bundles: Mapping[str, str] = MappingProxyType({})) -> None:
        self._devices, self._bundles = devices, bundles
        self._parted: dict[str, str] = {}
        self._first: dict[str, tuple[str, str]] = {}

    def add(self, volume: str, source: str) -> None:
        self._first.setdefault(
            self._devices.get(source, source), (volume, source))
        if volume in self._bundles:
            self._parted.setdefault(self._bundles[volume], volume)

    def why_not(self, move: Move) -> str | None:
        """Why a later move of the plan is not made either, or None."""
        parted = self._parted.get(self._bundles.get(move.volume, ''))
        if parted is not None:
            return (f'volume {parted}, with which it shares a pool, does not '
                    'come with it')
        found = self._first.get(self._devices.get(move.target, move.target))
        return found and (
            f'volume {found[0]} was to leave {found[1]} first, and stays')


def chosen(moves: Iterable[Move], most: int, cluster: Cluster,
           exceeded: Callable[[float], str | None],
           too_early: Callable[[Move], str | None] = lambda _: None
           ) -> list[Move]:
    """The moves of a plan that one round carries out.

    The first ones; where there are more than 20 pools, of each device. Those
    that count on one that is put off are put off with it. Volumes that move
    together count each; where they are more than the limit, they move without
    others.

    :param most: volumes in all, or from and to each device
    :param exceeded: GiB → why so many may not be moved now, or None
    :param too_early: move → why it waits for later rounds, or None
    """
    small = len(cluster.pools) <= quota.SMALL
    devices, bundles = devices_of(cluster), affinity.bundles(cluster)
    unmade = Unmade(devices, bundles)
    number: collections.Counter[str] = collections.Counter()
    found: list[Move] = []
    gib = 0.0
    together: dict[tuple[object, str], list[Move]] = {}
    for move in moves:
        together.setdefault((bundles.get(move.volume, move.volume),
                             move.target), []).append(move)
    for its in together.values():
        ends = {''} if small else _ends(its[0], devices)
        size_gib = sum(move.size_gib for move in its)
        over = [end for end in ends
                if number[end] and number[end] + len(its) > most]
        why = None if over else next(filter(None, (
            unmade.why_not(move) or too_early(move) for move in its)),
            None) or exceeded(gib + size_gib)
        if over or why is not None:
            number.update(dict.fromkeys(over, most))  # none goes before them
            for move in its:
                if not over:
                    LOG.info('Volume %s stays for now: %s.', move.volume, why)
                unmade.add(move.volume, move.source)
            continue
        number.update(dict.fromkeys(ends, len(its)))
        gib += size_gib
        found += its
    return found


def devices_of(cluster: Cluster) -> dict[str, str]:
    """Pool → its device."""
    return {pool.name: pool.device_key for pool in cluster.pools}


def _ends(move: Move, devices: Mapping[str, str]) -> set[str]:
    """The two devices of a move."""
    return {devices.get(pool, pool) for pool in (move.source, move.target)}


@dataclasses.dataclass(frozen=True)
class Batch:
    """Requests migrations, several at a time, and follows them.

    :param most: migrations under way at a time
    :param devices: pool → its device
    :param bundles: as of :func:`.affinity.bundles`
    :param hindrance: (move, our volumes under way) → why it must not be
        requested now, or None
    :param ends: whether no further move is requested after an outcome; is
        called once for each
    :param refresh: observes; is called every ``refresh_s`` while migrations
        run, and returns for each volume whose migration nobody goes on with
        a sentence that says so
    """

    executor: Executor
    most: int
    devices: Mapping[str, str]
    hindrance: Callable[[Move, frozenset[str]], str | None]
    ends: Callable[[Outcome], bool]
    refresh: Callable[[], Mapping[str, str]]
    refresh_s: float
    bundles: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def carry_out(self, moves: Sequence[Move],
                  plan_id: str) -> list[Outcome]:
        """The outcomes, in the order in which the migrations ended.

        What fails at one volume is its business, and that of the moves that
        count on it: these are not started. No further move is requested
        after an outcome that ends a batch; those that are under way are
        waited for.

        :raises CloudError: where Cinder cannot be reached before any
            migration is under way
        """
        return self._run([*moves], [], plan_id)

    def follow(self, requests: Iterable[Request]) -> list[Outcome]:
        """Waits for migrations that were requested before."""
        return self._run([], [*requests], '')

    def _run(self, pending: list[Move], under_way: list[Request],
             plan_id: str) -> list[Outcome]:
        outcomes: list[Outcome] = []
        refreshed = self.executor.clock()

        def over(outcome: Outcome, volume: str, source: str) -> None:
            outcomes.append(outcome)
            if self.ends(outcome):
                pending.clear()
            if not outcome.left:
                outcomes.extend(self._left_out(pending, volume, source))

        while pending or under_way:
            while (move := self._next(pending, under_way)) is not None:
                pending.remove(move)
                found = self._begin(move, under_way, plan_id)
                if isinstance(found, Request):
                    under_way.append(found)
                else:
                    over(found, move.volume, move.source)
            given_up: Mapping[str, str] = {}
            if self.executor.clock() - refreshed >= self.refresh_s:
                refreshed, given_up = self.executor.clock(), self.refresh()
            if not self._look(under_way, given_up, over) and under_way and (
                    self.executor.pause(self.executor.timeouts.poll_s)):
                return outcomes + [Outcome(
                    'waiting', 'interrupted before it was over')
                    for _ in under_way]
        return outcomes

    def _left_out(self, pending: list[Move], volume: str,
                  source: str) -> Iterator[Outcome]:
        """Takes off the list what counts on a move that was not made."""
        unmade = Unmade(self.devices, self.bundles)
        unmade.add(volume, source)
        for move in [*pending]:
            why = unmade.why_not(move)
            if why is not None:
                pending.remove(move)
                unmade.add(move.volume, move.source)
                LOG.info('Volume %s stays on %s: %s.',
                         move.volume, move.source, why)
                yield Outcome('not started', why)

    def _next(self, pending: Iterable[Move],
              under_way: Sequence[Request]) -> Move | None:
        """The first move of which no earlier one shares a device."""
        if len(under_way) >= self.most:
            return None
        taken = {self.devices.get(pool, pool) for request in under_way
                 for pool in (request.asked.facts['source'],
                              request.asked.facts['target'])}
        for move in pending:
            ends = _ends(move, self.devices)
            if not taken & ends:
                return move
            taken |= ends
        return None

    def _begin(self, move: Move, under_way: Sequence[Request],
               plan_id: str) -> Request | Outcome:
        try:
            why = self.hindrance(move, frozenset(
                request.volume for request in under_way))
            if why is None:
                return self.executor.begin(move, plan_id)
        except errors.CloudError as exc:
            if not under_way:
                raise
            why = str(exc)
        LOG.warning('Volume %s stays: %s', move.volume, why)
        return Outcome('hindered', why)

    def _look(self, under_way: list[Request], given_up: Mapping[str, str],
              over: Callable[[Outcome, str, str], None]) -> bool:
        """Takes those that are over off the list; whether there were any.

        :param given_up: volume → a sentence, where nobody goes on with it
        """
        found = [(request, self.executor.closer.close(
            request.asked, Outcome('timeout', given_up[request.volume]),
            request.copied_s) if request.volume in given_up
            else self.executor.look(request)) for request in under_way]
        for request, outcome in found:
            if outcome is not None:
                under_way.remove(request)
                over(outcome, request.volume, request.asked.facts['source'])
        return any(outcome is not None for _, outcome in found)


Barred = Callable[[Sequence[journal.Entry], float], str | None]
"""(The journal's entries, now) → why no move may be requested, or None."""


@dataclasses.dataclass(frozen=True)
class Carrier:
    """Carries moves out, and waits for those that were requested before.

    :param refresh: observes the cloud while a migration runs; volume → a
        sentence, for each migration that nobody goes on with
    """

    executor: Executor
    settings: BalancerSettings
    refresh: Callable[[], dict[str, str]]

    def entries(self) -> tuple[journal.Entry, ...]:
        """The journal's entries, none of them in the future."""
        return journal.corrected(
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
        :param bundles: as of :func:`.affinity.bundles`
        :param barred: is asked before each move, too
        """
        def hindrance(move: Move, ours: frozenset[str]) -> str | None:
            now, entries = self.executor.clock(), self.entries()
            return journal.doubt(entries) or barred(entries, now) or (
                pace.closed(now)) or pace.exceeded(
                    move.size_gib, entries, now) or next(in_flight(
                        self.executor.cinder.under_way().within(
                            self.settings.zones), {*over, *ours}), None)

        return self._batch(hindrance, devices, bundles).carry_out(
            moves, plan_id)

    def _batch(self, hindrance: Callable[
            [Move, frozenset[str]], str | None] = lambda *_: None,
            devices: Mapping[str, str] = MappingProxyType({}),
            bundles: Mapping[str, str] = MappingProxyType({})
            ) -> Batch:
        settings = self.settings
        return Batch(self.executor, settings.parallel, devices, hindrance,
                     self._ends, self.refresh, settings.interval_s, bundles)

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
            begun.append(Request(
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
        ahead = journal.uncorrected(
            self.executor.journal.entries(), self.executor.clock())
        if ahead:
            LOG.warning(
                'The last %d entries of the journal lie in the future: the '
                'clock here was ahead, or is behind now. They count as of '
                'now at the latest.', ahead)
            self.executor.journal.write(
                'clock', reason=f'{ahead} entries lie in the future')
