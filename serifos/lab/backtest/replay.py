# SPDX-License-Identifier: Apache-2.0
"""Replay a history under one policy, with the balancer's own rounds.

What decides and acts is :class:`.round.Balancer` as ``serifos-balancer run``
has it in mode auto, with its limits, pace, batches and journal; what it
observes and asks is the simulated :mod:`.cloud`. Time passes while it waits.

The latency of a pool is the mean over its volumes with requests; what a
volume sees is the mean of its own requests in a slot.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import logging
import math
import pathlib
import tempfile
import time
from typing import Any

import numpy as np

from serifos.balancer.observe import Observer
from serifos.balancer import recorder
from serifos.balancer.round import Balancer
from serifos.balancer.settings import BalancerSettings
from serifos.cmd.balancer import stored_history
from serifos import errors
from serifos.facts import journal
from serifos.facts import times
from serifos.lab.backtest import cloud
from serifos.lab.backtest.cloud import SimulatedTelemetry
from serifos.lab.backtest.pools import Fleet
from serifos.lab.backtest import queues
from serifos.lab.backtest.rates import Floats
from serifos.lab.backtest.rates import Rates
from serifos.lab.backtest.world import ABSENT
from serifos.lab.backtest.world import Stretch
from serifos.lab.backtest.world import World
from serifos.lab.sim import ssd as ssds
from serifos.plan.plan import Plan
from serifos.plan import recent

_HOUR_S, _DAY_S = 3600.0, 86400.0

CINDER, STAY = 'cinder', 'stay'
"""The policies that move nothing: from where Cinder places volumes, and from
where they are."""


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """The inputs of a replay, for a process of its own.

    :param demand: of the time to be replayed, see :func:`prepared`
    :param size_gib: volume → GiB
    :param devices: what each pool is in truth
    :param settings: the balancer's, mode auto
    :param slo_us: of all volumes
    :param wiping: whether what a volume leaves is wiped
    :param most_outstanding: of a volume on a saturated device
    """

    policy: str
    name: str
    demand: Rates
    size_gib: Mapping[str, float]
    fleet: Fleet
    devices: tuple[ssds.Ssd, ...]
    settings: BalancerSettings
    slo_us: float
    wiping: bool = True
    most_outstanding: float = queues.MOST_OUTSTANDING


def prepared(history: Rates, days: float) -> Rates:
    """The last days of a history, without gaps.

    In a gap a volume goes on with what it did before it.

    :raises InputError: where nothing is left
    """
    end = history.begin + history.slots * history.step_s
    found = history.between(end - days * 86400, end)
    known = ~np.isnan(found.values[:, :, 0])
    some = np.flatnonzero(known.any(axis=1))
    if not len(some):
        raise errors.InputError('The history has no volumes.')
    slots = np.arange(found.slots)
    values = found.values[some].copy()
    for row, seen in zip(values, known[some]):
        if not seen.all():
            last = len(seen) - int(seen[::-1].argmax())
            latest = np.maximum.accumulate(np.where(seen, slots, -1))
            gaps = ~seen & (latest >= 0) & (slots < last)
            row[gaps] = row[latest[gaps]]
    return dataclasses.replace(
        found, volumes=tuple(found.volumes[i] for i in some), values=values)


def run(case: Case) -> Score:
    """Replays the history under a policy.

    :raises InputError: where there is no room for a volume
    """
    began, demand = time.monotonic(), case.demand
    settings = case.settings
    sizes = np.array([case.size_gib[volume] for volume in demand.volumes])
    devices = queues.Devices(case.devices, case.most_outstanding)
    end = demand.begin + demand.slots * demand.step_s
    tally = Tally(demand.begin, end, case.slo_us, len(devices))
    telemetry = SimulatedTelemetry(max(
        settings.window_s, settings.history_s + settings.demand.step_s))

    def take(done: Stretch) -> None:
        tally.take(done)
        telemetry.take(done)

    by_cinder, by_nova = (
        1024 / s_per_gib for s_per_gib in settings.limits.copying.s_per_gib)
    world = World(demand, sizes, case.fleet.pools, devices, by_nova,
                  by_cinder if case.wiping else None, take, case.fleet.home)
    telemetry.world = world
    memory = _Journal(world)
    if case.policy in (CINDER, STAY):
        world.advance(end - world.now)
    else:
        with tempfile.TemporaryDirectory() as directory:
            _balance(world, Balancer.of(Observer(
                cloud.SimulatedCinder(world, case.slo_us), telemetry,
                memory, dataclasses.replace(
                    settings, planner=case.policy, auto=True,
                    state_dir=pathlib.Path(directory)),
                lambda: world.now, cloud.SimulatedNova(demand.volumes),
                growth=_growth(settings, directory)),
                _Plans(), world.advance, history=telemetry))
    return tally.score(case.name, len(sizes), _moved(memory.entries()),
                       time.monotonic() - began)


def _balance(world: World, balancer: Balancer) -> None:
    """Rounds until the history is over, as the daemon makes them."""
    settings = balancer.observer.settings
    latest = recent.Recent(settings.hold)
    while not world.advance(settings.interval_s):
        decision = balancer.decide(latest)
        latest = decision.recent
        balancer.act(decision)


def _growth(settings: BalancerSettings,
            directory: str) -> recorder.Growth | None:
    """What tells how fast pools fill, as the balancer has it."""
    horizon_s = settings.limits.capacity_horizon_s
    return None if horizon_s is None else stored_history.growth_in(
        pathlib.Path(directory, 'history.sqlite'), horizon_s)


def quietly(case: Case) -> Score:
    """As :func:`run`; what the balancer logs is shown only with -v."""
    if all(handler.level > logging.DEBUG
           for handler in logging.getLogger().handlers):
        logging.getLogger('serifos').setLevel(logging.CRITICAL)
    return run(case)


@dataclasses.dataclass(frozen=True)
class Score:
    """The result of one policy.

    :param worst_us: the latency of the worst pool, the mean over time
    :param worst_p99_us: the same, what it is under for 99 % of the time
    :param slo_minutes: of volumes that exceeded their SLO
    :param variance_us2: over the pools, the mean over time
    :param served: the share of all requests that were served
    :param moves: migrations that ended well
    :param moves_later: of those, requested after the first day
    :param day_worst: of each day the busiest device by its mean, as a
        fraction of its time; copies do not count
    :param hours: begin, worst pool of the hour in the mean, µs, volumes with
        a violated SLO in the mean, GiB moved so far
    """

    policy: str
    pools: int
    volumes: int
    days: float
    worst_us: float
    worst_p99_us: float
    slo_minutes: float
    variance_us2: float
    served: float
    moves: int
    moved_gib: float
    moves_later: int
    day_worst: tuple[float, ...]
    hours: tuple[tuple[float, float, float, float], ...]
    seconds: float = 0.0

    @property
    def moves_a_day(self) -> float:
        return self.moves / self.days

    @property
    def moves_per_ten_a_week(self) -> float | None:
        """Moves per ten volumes and week, after the first day."""
        later = self.days - 1
        return None if later <= 0 else (
            self.moves_later / self.volumes * 10 / later * 7)


class Tally:
    """Sums over the stretches of a replay.

    :param slo_us: of all volumes
    """

    def __init__(self, begin: float, end: float, slo_us: float,
                 pools: int) -> None:
        self._begin, self._slo_us, self._pools = begin, slo_us, pools
        self._days = max(1, math.ceil((end - begin) / _DAY_S - 1e-6))
        self._hours = max(1, math.ceil((end - begin) / _HOUR_S - 1e-6))
        self._worst: list[tuple[float, float]] = []
        self._variance = self._violated_s = self._asked = self._served = 0.0
        self._of_hour = np.zeros((self._hours, 3))
        self._of_day = np.zeros((self._days, pools, 3))

    def take(self, done: Stretch) -> None:
        """Counts a stretch of time, which lies within an hour."""
        there = np.flatnonzero(done.home != ABSENT)
        home, latency = done.home[there], done.latency_us[there]
        active = latency > 0
        number = np.bincount(home[active], minlength=self._pools)
        sums = np.bincount(home[active], latency[active], self._pools)
        some = number > 0
        means = sums[some] / number[some]
        worst = float(means.max()) if some.any() else 0.0
        spread = float(means.var()) if some.any() else 0.0
        violated = int((latency > self._slo_us).sum())
        seconds = done.seconds
        self._worst.append((worst, seconds))
        self._variance += spread * seconds
        self._violated_s += violated * seconds
        self._asked += float(done.asked.sum()) * seconds
        self._served += float(done.rates[:, :2].sum()) * seconds
        since = done.begin - self._begin
        hour = min(int(since / _HOUR_S + 1e-9), self._hours - 1)
        self._of_hour[hour] += seconds, worst * seconds, violated * seconds
        day = min(int(since / _DAY_S + 1e-9), self._days - 1)
        for part in range(3):
            self._of_day[day, :, part] += np.bincount(
                home, done.parts[there, part], self._pools) * seconds

    def score(self, policy: str, volumes: int,
              moved: Sequence[tuple[float, float]],
              seconds: float) -> Score:
        """The result.

        :param moved: when each migration was requested, and its GiB
        :param seconds: that the replay took
        """
        worst, lasts = np.array(self._worst).T
        total = float(lasts.sum())
        later = [at for at, _ in moved if at >= self._begin + _DAY_S]
        so_far = np.cumsum(np.bincount(
            [min(int((at - self._begin) / _HOUR_S), self._hours - 1)
             for at, _ in moved], [gib for _, gib in moved], self._hours))
        lasted = np.maximum(self._of_hour[:, :1], 1e-9)
        means = self._of_hour[:, 1:] / lasted
        day_s = np.minimum(_DAY_S, total - np.arange(self._days) * _DAY_S)
        busy = self._of_day.max(axis=(1, 2)) / day_s
        return Score(
            policy, self._pools, volumes, total / _DAY_S,
            float(worst @ lasts / total), _percentile(worst, lasts, 0.99),
            self._violated_s / 60, self._variance / total,
            self._served / max(self._asked, 1e-9), len(moved),
            float(sum(gib for _, gib in moved)), len(later),
            tuple(busy.tolist()), tuple(
                (self._begin + i * _HOUR_S, *means[i].tolist(),
                 float(so_far[i])) for i in range(self._hours)), seconds)


def _percentile(values: Floats, weights: Floats, share: float) -> float:
    """What the values are at or under for a share of the weights."""
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    at = np.searchsorted(sums, share * sums[-1] * (1 - 1e-12))
    return float(values[order][min(at, len(values) - 1)])


@dataclasses.dataclass
class _Journal:
    """A journal of one balancer that is never restarted."""

    world: World
    _entries: list[journal.Entry] = dataclasses.field(default_factory=list)

    def write(self, kind: str, **facts: Any) -> journal.Entry:
        entry = journal.Entry.checked(times.text(self.world.now,
                                                 'milliseconds'),
                                      kind, facts)
        self._entries.append(entry)
        return entry

    def entries(self) -> tuple[journal.Entry, ...]:
        return tuple(self._entries)

    def mark(self) -> None:
        """None: it is not kept."""


@dataclasses.dataclass
class _Plans:
    """The plans of one balancer that nobody looks at: the last one."""

    _last: tuple[Plan, ...] = ()

    def keep(self, plan: Plan, now: float,
             say: Callable[[str], None]) -> Plan:
        self._last = (plan,)
        return plan

    def every(self, say: Callable[[str], None],
              expires_after: float = -math.inf,
              ids: Collection[str] | None = None) -> list[Plan]:
        return [plan for plan in self._last
                if plan.expires_at > expires_after
                and (ids is None or plan.id in ids)]

    def stored(self, plan_id: str) -> Plan:
        for plan in self.every(lambda _: None, ids=[plan_id]):
            return plan
        raise errors.InputError(f'There is no plan {plan_id}.')


def _moved(entries: Sequence[journal.Entry]) -> list[tuple[float, float]]:
    """When each migration that succeeded was requested, and its GiB."""
    asked: dict[str, journal.Entry] = {}
    found = []
    for entry in entries:
        if entry.kind == 'request':
            asked[entry.facts['volume']] = entry
        elif entry.kind == 'outcome' and entry.facts['result'] == 'success':
            request: Mapping[str, Any] = asked[entry.facts['volume']].facts
            found.append((times.parse(asked[entry.facts['volume']].at),
                          request['size_gib']))
    return found
