# SPDX-License-Identifier: Apache-2.0
"""Which SLO pools can meet, by plain arithmetic."""

import dataclasses
import random

import ddt
import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts.workload import Workload
from serifos.plan.problem import Problem
from serifos.plan import slots as load_slots
from serifos.plan import state
from serifos.plan import supported
from serifos.plan import violations
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume


def found(pools, volumes, loads=(1.0,), share=0.99, slots=None):
    cluster = Cluster(tuple(pools), tuple(volumes))
    return {each.pool: each for each in supported.supported(
        cluster, clusters.models_of(cluster), Limits(), loads, share,
        slots)}


def parts(**blocks):
    """Volume → KiB of its requests in each part; 0 for an idle one."""
    return load_slots.Slots(tuple(blocks), np.array([
        [(50, kib, 8 if kib else 0, 100) for kib in its]
        for its in blocks.values()], float))


@ddt.ddt
class SupportedTest(testtools.TestCase):
    """The model 'flat' is 10 µs per KiB of all blocks on a pool."""

    POOLS = pool('a'), pool('b', 'slow'), pool('c'), pool('d', None)
    VOLUMES = (volume('u', 'a', 40), volume('v', 'a', 20),
               volume('w', 'b', 10), volume('x', 'd', 10),
               volume('y', 'a', workload=clusters.IDLE))

    def test_each_pool_and_all_of_them(self):
        seen = found(self.POOLS, self.VOLUMES, (0.5, 1.0, 3.0))
        self.assertEqual(
            {'a': (2, 16.0, (400.0, 600.0, 1800.0)),  # u alone sees 400
             'b': (1, 8.0, (300.0, 300.0, 900.0)), 'c': (0, 0.0, ()),
             None: (3, 24.0, (400.0, 600.0, 1800.0))},
            {name: (each.volumes, each.outstanding, each.seen_us)
             for name, each in seen.items()})
        self.assertEqual({None}, {each.slo_us
                                  for each in seen.values()})
        self.assertEqual({None}, {each.kept_up_to for each in seen.values()})

    @ddt.data((1.0, 600), (0.67, 600), (0.6, 600), (0.3, 300))
    @ddt.unpack
    def test_the_share_of_volumes_that_stay_below(self, share, us):
        self.assertEqual((us,), found(
            self.POOLS, self.VOLUMES, share=share)[None].seen_us)

    @ddt.data((1200, 2.0), (599, 1.0), (601, 1.0), (60, 0.0), (1e6, 20.0))
    @ddt.unpack
    def test_the_load_up_to_which_an_slo_is_kept(self, slo_us, load):
        kept, = (each.kept_up_to for name, each in found(
            self.POOLS[:1], [
                volume('u', 'a', 40, max_latency_us=5e6),
                volume('v', 'a', 20, max_latency_us=slo_us)]).items()
            if name)
        self.assertLessEqual(kept, load * (1 + 1e-9))
        self.assertGreater(kept * supported.STEP ** (1.01 if load else 0),
                           load - (not load))

    def test_the_cluster_keeps_what_its_worst_pool_keeps(self):
        seen = found(self.POOLS, [
            volume('u', 'a', 40, max_latency_us=800),
            volume('w', 'b', 10, max_latency_us=2000), volume('v', 'a', 20)])
        self.assertLess(seen['a'].kept_up_to, seen['b'].kept_up_to)
        self.assertEqual((800, seen['a'].kept_up_to), (
            seen[None].slo_us, seen[None].kept_up_to))

    def test_what_each_sees_where_the_model_tells(self):
        its = (volume('u', 'a', 4), volume('v', 'a', 64))
        seen = found([pool('a', 'apart')], its, (1.0, 2.0))
        model = clusters.MODELS['apart']
        for load, us in zip((1, 2), seen['a'].seen_us):
            total = model.load([v.workload for v in its] * load)
            self.assertAlmostEqual(max(
                model.tenant(total, v.workload).latency_us for v in its), us)

    def test_pools_of_a_device_share_their_load(self):
        shared = [pool('a', device='x'), pool('b', device='x')]
        seen = found(shared, [volume('u', 'a', 40), volume('v', 'b', 20)])
        self.assertEqual(((600,), (600,)), (seen['a'].seen_us,
                                            seen['b'].seen_us))

    def test_a_volume_without_telemetry_is_as_its_type(self):
        unseen = dataclasses.replace(
            volume('v', 'a', volume_type='t'), workload=None)
        seen = found([pool('a')], [
            unseen, volume('u', 'a', volume_type='t', workload=Workload(
                50, 40))])
        self.assertEqual((2, (800,)), (seen['a'].volumes, seen['a'].seen_us))

    def test_nothing_to_look_at(self):
        self.assertEqual({None: supported.Supported(None, 0, 0.0, ())}, found(
            [], []))


@ddt.ddt
class OverSlotsTest(testtools.TestCase):
    """The same by what volumes did in parts of a day."""

    BUSY = volume('u', 'a', 40), volume('v', 'a', 20)

    @ddt.data((1.0, 300.0), (2.0, 600.0))
    @ddt.unpack
    def test_one_figure_of_all_parts(self, load, us):
        """Both make 600 µs in one part, one of them 200 in each other."""
        slots = parts(u=(40, 20, 0, 20), v=(20, 0, 20, 0))
        seen, = found([pool('a')], self.BUSY, (load,), slots=slots)[
            'a'].seen_us
        self.assertAlmostEqual(us, seen)

    def test_a_volume_that_is_idle_at_present_counts(self):
        its = volume('u', 'a', workload=clusters.IDLE),
        self.assertEqual(0, found([pool('a')], its)['a'].volumes)
        seen = found([pool('a')], its, slots=parts(u=(0, 40)))['a']
        self.assertEqual((1, 4.0, (200.0,)), (
            seen.volumes, seen.outstanding, seen.seen_us))

    def test_one_that_is_busy_at_present_alone_does_not(self):
        seen = found([pool('a')], self.BUSY, slots=parts(
            u=(40, 40), v=(0, 0)))['a']
        self.assertEqual((1, (400.0,)), (seen.volumes, seen.seen_us))

    def test_of_whom_nothing_is_known_the_present_stands(self):
        seen = found([pool('a')], self.BUSY, slots=parts(u=(40, 0)))['a']
        self.assertEqual((2, (400.0,)), (seen.volumes, seen.seen_us))

    @ddt.data((300, 1.0), (280, 0.8), (200, 0.0))
    @ddt.unpack
    def test_the_load_up_to_which_an_slo_is_kept(self, slo_us, load):
        """It makes 400 µs by itself, then would see 200 of the other."""
        its = volume('u', 'a', 40, max_latency_us=slo_us), self.BUSY[1]
        kept = found([pool('a')], its, slots=parts(
            u=(40, 0), v=(0, 20)))['a'].kept_up_to
        self.assertLessEqual(kept, load)
        self.assertGreaterEqual(kept * supported.STEP, load)

    def test_volumes_in_pieces(self):
        slots = parts(u=(40, 0, 7), v=(0, 20, 3))
        whole = found([pool('a')], self.BUSY, (0.5, 3.0), slots=slots)
        self.patch(load_slots, 'AT_ONCE', 1)
        self.assertEqual(whole, found(
            [pool('a')], self.BUSY, (0.5, 3.0), slots=slots))

    @hypothesis.settings(max_examples=25, deadline=None)
    @hypothesis.given(strategies.integers(0, 2 ** 32),
                      strategies.sampled_from([1, 2, 5]))
    def test_an_slo_is_kept_now_where_plans_say_so(self, seed, number):
        cluster = clusters.of_seed(seed)
        cluster = dataclasses.replace(cluster, volumes=tuple(
            dataclasses.replace(v, max_latency_us=500)
            for v in cluster.volumes))
        slots = clusters.slots(
            cluster, random.Random(seed), number)
        problem = Problem.of(
            cluster, clusters.models_of(cluster), Limits(), slots)
        broken = {problem.volumes[which].pool for which in violations.broken(
            state.State.of(problem)) if problem.active[which]}
        for name, each in found(cluster.pools, cluster.volumes, share=1.0,
                                slots=slots).items():
            if name is not None and each.volumes:
                self.assertEqual(name in broken, each.seen_us[0] > 500)
