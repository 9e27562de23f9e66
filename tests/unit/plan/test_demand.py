# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.facts.history import Series
from serifos.facts.workload import Workload
from serifos.plan.slots import Demand
from serifos.plan.slots import folded
from serifos.plan.slots import planned

HOUR = 3600.0
NOTHING = (np.nan,) * 5
BUSY = (100.0, 300.0, 25600.0, 400.0, 8.0)
"""75 % writes of 64 KiB, 8 outstanding, and where they go is not known."""


def series(*volumes, begin=0, step_s=HOUR):
    """The history of volumes with these rates, slot by slot."""
    reads, writes, kib, _, queued = np.moveaxis(
        np.array(volumes, float).transpose(1, 0, 2), -1, 0)
    seen = np.where(np.isnan(reads), 0.0, step_s)
    return Series(
        tuple('uvw'[:len(volumes)]), int(begin), int(step_s),
        np.nan_to_num(np.stack([np.ones_like(seen), reads, writes, 512 * kib,
                                512 * kib, queued / 2, queued / 2])) * seen)


def scaled(*factors):
    return [np.multiply(BUSY, factor).tolist() for factor in factors]


class DemandTestCase(testtools.TestCase):

    def queued(self, demand, *volumes, **more):
        return demand.of(series(*volumes, **more)).patterns[..., 2].tolist()

    def test_the_mix_is_that_of_the_mean(self):
        found = Demand().of(series(scaled(1, 3, 0))).patterns
        np.testing.assert_allclose(found[0, 0, [0, 1, 3]], [75, 64, 100])

    def test_the_mean_leaves_out_what_is_not_known(self):
        self.assertEqual([[16.0]], self.queued(
            Demand(slots=1), [*scaled(1), NOTHING, *scaled(3)]))

    def test_a_slot_that_was_seen_in_part_counts_by_its_seconds(self):
        its = series(scaled(1, 6))
        its.sums[:, 1] /= 4
        self.assertAlmostEqual(
            8 * 2.0, Demand(slots=1).of(its).patterns[0, 0, 2])

    def test_days_lie_upon_one_another(self):
        found = folded(series(
            scaled(1, 2, 3, 6), begin=6 * HOUR, step_s=12 * HOUR), 2)
        self.assertEqual([[8 * 4, 8 * 2]], found[..., 4].tolist())

    def test_an_unknown_part_of_a_day_is_as_the_mean(self):
        self.assertEqual([[16, 32, 24, 24]], self.queued(
            Demand(slots=4), scaled(2, 4), step_s=6 * HOUR))

    def test_an_unknown_volume_stays_unknown(self):
        found = Demand().of(series(scaled(1, 1), [NOTHING, NOTHING]))
        self.assertTrue(np.isnan(found.patterns[1, :, 2]).all())

    def test_requests_that_take_nobody_knows_how_long_are_not_idleness(self):
        """An idle part says nothing about a busy one; the present stands."""
        its = series(scaled(0, 1), scaled(1, 1), step_s=12 * HOUR)
        its.sums[5:, 1, 0] = np.nan
        found = Demand(slots=2).of(its).patterns
        self.assertTrue(np.isnan(found[0, -1, 2]))
        self.assertEqual(8.0, found[1, -1, 2])
        self.assertAlmostEqual(64.0, found[0, -1, 1])
        self.assertEqual(0.0, found[0, 0, 2])

    def test_nor_is_it_on_another_day(self):
        its = series(scaled(0, 1, 1, 1), step_s=12 * HOUR)
        its.sums[5:, 2, 0] = np.nan
        found = Demand(slots=2).of(its).patterns
        self.assertTrue(np.isnan(found[0, 0, 2]))
        self.assertEqual(8.0, found[0, 1, 2])

    def test_an_empty_history_tells_nothing(self):
        found = Demand().of(Series.empty('u', 0, 0, 3600))
        self.assertTrue(np.isnan(found.patterns[..., 2]).all())

    @settings(max_examples=30, deadline=None)
    @given(strategies.integers(0, 1 << 32), strategies.integers(1, 60),
           strategies.sampled_from((300.0, 1800.0, HOUR, 7200.0)))
    def test_slots_have_the_mean_of_whole_days(self, seed, steps, step_s):
        rng = np.random.default_rng(seed)
        steps = -(-steps * round(step_s) // 86400) * 86400 // round(step_s)
        values = rng.random((2, steps, 5))
        values[..., 3] = values[..., 0] + values[..., 1]
        found = folded(series(
            *values, begin=86400.0 * rng.integers(9), step_s=step_s), 12)
        np.testing.assert_allclose(found.mean(axis=1), values.mean(axis=1))


class PlannedTestCase(testtools.TestCase):

    def test_volumes_do_what_they_do_in_the_mean_over_slots(self):
        now = Workload(0, 4, iops=1.0, latency_us=1.0)
        cluster = Cluster((Pool('p'),), tuple(
            Volume(name, 'p', 1, workload=seen)
            for name, seen in (('u', now), ('v', now), ('w', None))))
        slots = Demand(slots=2).of(series(
            scaled(1, 3), [NOTHING, NOTHING], scaled(1, 1),
            step_s=12 * HOUR))
        found = planned(cluster, slots)
        self.assertEqual(Workload(75, 64, 16, 100),
                         found.volume('u').workload)
        self.assertEqual(now, found.volume('v').workload)
        self.assertIsNone(found.volume('w').workload)
