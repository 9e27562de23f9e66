# SPDX-License-Identifier: Apache-2.0
"""Weeks of rounds on loads that are noisy, burst, wave and drift."""

from __future__ import annotations

import collections

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.balancer import decide
from serifos.balancer.observe import Observation
from serifos.facts import activity
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts.history import Series
from serifos.facts.inventory import Inventory
from serifos.facts.workload import Workload
from serifos.plan import recent
from serifos.plan.slots import Demand
from tests.fakes import settings
from tests.fakes.settings import Limits
from tests.unit.plan import clusters

DAYS, A_DAY, VOLUMES, POOLS = 5, 24, 16, 4
COOL_DOWN = A_DAY
NOTHING = activity.Observed(0.0, {}, {}, {}, {})


def _outstanding(rng):
    """float[volumes, hours]: of a day before the rounds, and of them."""
    hours = (DAYS + 1) * A_DAY
    mean = np.exp(rng.normal(0.5, 1.0, VOLUMES))[:, None]
    wave = rng.uniform(0, 0.9, VOLUMES)[:, None] * np.sin(
        2 * np.pi * (np.arange(hours) / A_DAY
                     + rng.random(VOLUMES)[:, None]))
    noise = np.exp(rng.normal(0, 0.4, (VOLUMES, hours)))
    burst = np.where(rng.random((VOLUMES, hours)) < 0.02, 10.0, 1.0)
    drift = np.exp(np.linspace(0, 1, hours) * rng.normal(
        0, 0.3, VOLUMES)[:, None])
    return mean * (1 + wave) * noise * burst * drift


class _Rounds:
    """Hourly rounds, of which the first two moves are made at once."""

    def __init__(self, seed, **changes):
        self.queued = _outstanding(np.random.default_rng(seed))
        self.settings = settings.balancer(**changes)
        self.names = tuple(f'v{i:02}' for i in range(VOLUMES))
        self.home = {name: f'p{i % POOLS}'
                     for i, name in enumerate(self.names)}
        self.moved = collections.defaultdict(list)

    def cluster(self, hour):
        cooling = {name for name, moves in self.moved.items()
                   if hour < moves[-1][0] + COOL_DOWN}
        return Cluster(
            tuple(clusters.pool(f'p{i}', 'deep') for i in range(POOLS)),
            tuple(Volume(
                name, self.home[name], 10,
                movable='it cools down' if name in cooling else True,
                workload=Workload(50, 16, iodepth=float(queued)))
                for name, queued in zip(self.names, self.queued[:, hour])))

    def history(self, hour):
        length = int(self.settings.history_s) // 3600
        queued = self.queued[:, max(0, hour - length):hour]
        # As many reads as writes of 16 KiB.
        sums = 3600 * np.stack([np.ones_like(queued.T)] + [
            queued.T * each for each in (1, 1, 16384, 16384, 0.5, 0.5)])
        return Series(tuple(self.names), 3600 * max(0, hour - length),
                      3600, sums) if length else None

    def run(self):
        latest = recent.Recent(self.settings.hold)
        for hour in range(A_DAY, self.queued.shape[1]):
            history = self.history(hour)
            seen = Observation(
                Inventory((), (), ()), NOTHING, self.cluster(hour),
                clusters.MODELS, NOTHING)
            basis, latest = decide.smoothed(
                self.settings, seen, Limits(), latest, 3600.0 * hour,
                history and self.settings.demand.of(history))
            plan = decide.plan(self.settings, basis)
            for move in plan.moves[:2]:
                self.moved[move.volume].append((hour, move.source))
                self.home[move.volume] = move.target
        return self

    def moves(self, first_day=0):
        return sum(hour >= (1 + first_day) * A_DAY
                   for moves in self.moved.values() for hour, _ in moves)


class HoldingTestCase(testtools.TestCase):

    @hypothesis_settings(max_examples=2, deadline=None)
    @given(strategies.integers(0, 1 << 32), strategies.sampled_from((
        Demand(slots=1), Demand(slots=4),
        Demand(slots=4, busy=True))),
        strategies.sampled_from((1, 3)))
    def test_days_move_little(self, seed, demand, days):
        found = _Rounds(seed, demand=demand,
                        history_s=days * 86400.0).run()
        for moves in found.moved.values():
            hours = [hour for hour, _ in moves]
            self.assertTrue((np.diff(hours) >= COOL_DOWN).all())
        self.assertLessEqual(found.moves(), VOLUMES)

    def test_minutes_move_more(self):
        by_days, by_now = (sum(_Rounds(seed, history_s=window).run().moves()
                               for seed in range(2))
                           for window in (259200.0, 0.0))
        self.assertLess(by_days, by_now)
