from serifos.facts import phrases
# SPDX-License-Identifier: Apache-2.0
"""What the copy of a volume costs, and which moves it is worth."""

import dataclasses
import itertools

import ddt
import numpy as np
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts.workload import Workload
from serifos.plan import bfd
from serifos.plan.limits import Copying
from serifos.plan import relieve
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

DAY = 86400.0


@ddt.ddt
class CopyingTest(testtools.TestCase):
    """10 µs for each KiB of block on a pool, whichever it is."""

    def setUp(self):
        super().setUp()
        self.cluster = Cluster(
            tuple(map(pool, 'ab')),
            (volume('u', 'a', 40), volume('v', 'a', 40)))

    def sized(self, **gib):
        self.cluster = dataclasses.replace(self.cluster, volumes=tuple(
            dataclasses.replace(each, size_gib=gib.get(each.id, 1.0))
            for each in self.cluster.volumes))

    def plan(self, planner=relieve, **limits):
        asked = Limits(**{'horizon_s': DAY, **limits})
        known = clusters.models_of(self.cluster, asked.active_floor)
        return planner.plan(self.cluster, known, asked)

    def test_a_plan_says_how_long_and_what_is_seen_meanwhile(self):
        self.sized()
        move, = self.plan(copying=Copying(1.0, 10.0)).moves
        self.assertEqual(1.0, move.copy_s)
        self.assertEqual(800 + 1280, move.source_during_us)
        self.assertEqual(1280, move.target_during_us)

    def idle(self, *volumes):
        """Volumes without a request count, for the active floor is 0."""
        still = Workload(50, 64, iops=0.0, latency_us=0.0)
        self.cluster = Cluster(tuple(map(pool, 'abc')), (
            *(volume(name, 'a', 64, workload=still) for name in 'stu'),
            *volumes))

    @ddt.data(relieve, bfd)
    def test_where_nothing_is_outstanding_a_copy_costs_nothing(self, planner):
        self.idle()
        with np.errstate(all='raise'):
            plan = self.plan(planner, active_floor=0.0)
        self.assertEqual(2, len(plan.moves))

    def test_nobody_on_its_source_gains_by_a_volume_without_requests(self):
        self.idle(volume('x', 'b', 4), volume('y', 'c', 4))
        with np.errstate(all='raise'):
            plan = self.plan(active_floor=0.0, horizon_s=1.0)
        self.assertEqual((), plan.moves)
        self.assertIn('that outweighs 0 % less for those of its source',
                      plan.refused[0].reason)

    def test_a_slower_copy_is_felt_less(self):
        # 128 requests a second that take 2.08 ms: 0.266 outstanding of 8.
        self.sized()
        move, = self.plan(copying=Copying(64.0, 10.0)).moves
        self.assertAlmostEqual(800 + 1280 * 128 * 2080e-6 / 8,
                               move.source_during_us)

    def test_novas_copy_of_a_volume_in_use_has_its_own_rate(self):
        self.sized(u=2.0, v=3.0)
        self.cluster = dataclasses.replace(self.cluster, volumes=tuple(
            dataclasses.replace(each, attached=True)
            for each in self.cluster.volumes))
        move, = self.plan(copying=Copying(1.0, attached=50.0)).moves
        self.assertEqual(100.0, move.copy_s)

    @ddt.data(*itertools.product((relieve, bfd), (DAY, None)))
    @ddt.unpack
    def test_of_equal_moves_the_smaller_volume_goes(self, planner, horizon_s):
        for small, large in ('v', 'u'), ('u', 'v'):
            self.sized(**{small: 10.0, large: 500.0})
            plan = self.plan(planner, horizon_s=horizon_s)
            self.assertEqual([small], [m.volume for m in plan.moves])

    def test_a_gain_that_its_copy_outweighs_is_refused(self):
        # 16 outstanding: ln(800 / 400) for 270 s, ln(2080 / 800) for 200 s.
        self.sized(u=200.0, v=200.0)
        for planner in relieve, bfd:
            plan = self.plan(planner, copying=Copying(1.0, 10.0),
                             horizon_s=270.0)
            self.assertEqual((), plan.moves)
            self.assertEqual(['u', 'v'], [r.volume for r in plan.refused])
            self.assertEqual(
                'copying it takes 3.33 min, in which the tenants of both '
                'pools see 160 % more in the mean; that outweighs 50 % less '
                'for those of its source over 4.5 min', plan.refused[0].reason)
            self.assertFalse(plan.truncated)

    def test_and_accepted_over_a_longer_horizon(self):
        self.sized(u=200.0, v=200.0)
        self.assertEqual(1, len(self.plan(
            copying=Copying(1.0, 10.0), horizon_s=280.0).moves))

    def test_tenants_on_the_target_count_while_it_is_copied_alone(self):
        # u and v see 600 us instead of 1000; w sees as much instead of 200,
        # and 2080 us more during the copy.
        for q, horizon_s, moves in (4, 800, 1), (32, 800, 0), (32, 4800, 1):
            self.cluster = Cluster(
                tuple(map(pool, 'ab')),
                (volume('u', 'a', 60), volume('v', 'a', 40),
                 dataclasses.replace(volume('w', 'b', 20), workload=(
                     Workload(0, 20, q)))))
            self.sized(u=200.0, v=200.0)
            self.assertEqual(moves, len(self.plan(
                copying=Copying(1.0, 10.0), horizon_s=horizon_s).moves), q)

    def test_wiping_the_source_is_a_harm_too(self):
        self.sized(u=200.0, v=200.0)
        plan = self.plan(copying=Copying(1.0, 10.0, wiping=1.0),
                         horizon_s=500.0)
        self.assertIn('takes 3.33 min and wiping its source 3.33 min, in',
                      plan.refused[0].reason)

    def test_durations_in_words(self):
        self.assertEqual(['40 s', '119 s', '12 min', '5.5 h', '24 h'], [
            phrases.duration(seconds)
            for seconds in (40, 119, 720, 19800, 86400)])
