from serifos.plan import sentences
# SPDX-License-Identifier: Apache-2.0
"""What is measured goes before what is predicted."""

import dataclasses

import ddt
import testtools

from serifos.balancer import planning
from serifos.facts.cluster import Cluster
from serifos.facts import pool_errors
from serifos.facts.refusals import Code
from serifos.facts.workload import Workload
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

LIMITS = Limits(every_refusal=True)


def sees(name, where, us, block_kib=64, **more):
    """A volume with 8 requests outstanding, of a measured latency."""
    return volume(name, where, workload=Workload(
        50, block_kib, iops=8e6 / us, latency_us=us), **more)


def measured(*volumes, limits=LIMITS, hours=(), pools='abc'):
    return planning.measured(
        Cluster(tuple(map(pool, pools)), volumes), limits,
        clusters.MODELS, dict(hours))


def planned(cluster, limits=LIMITS, planner='relieve'):
    return planning.make_plan(planner, cluster, limits, clusters.MODELS)


class UnexplainedTest(testtools.TestCase):
    """The model predicts 10 µs a KiB, plus or minus 21 %."""

    def test_a_pool_that_is_predicted_hot_and_measured_cool_is_left(self):
        crowd = [sees(f'v{i}', 'a', 60) for i in range(5)]
        cluster = measured(*crowd, sees('w', 'b', 640), sees('x', 'c', 640))
        self.assertEqual(
            'its tenants see 0.06 ms, its model predicts 3.2 ms',
            cluster.pool('a').unexplained)
        plan = planned(cluster)
        self.assertEqual(((), ('a',)), (plan.moves, plan.unexplained))
        self.assertNotIn('a', planning.hot_pools(
            planning.problem_of(cluster, LIMITS, clusters.MODELS)))

    def test_one_that_is_measured_hot_is_relieved(self):
        cluster = measured(sees('u', 'a', 9000), sees('v', 'a', 9000),
                           sees('w', 'b', 640), sees('x', 'c', 640))
        self.assertEqual({'a'}, {each.source for each in planned(
            cluster).moves})

    def test_it_is_no_target(self):
        crowd = [sees(f'v{i}', 'a', 2560) for i in range(4)]
        cluster = measured(*crowd, sees('w', 'b', 40, 32), pools='ab')
        self.assertIsNone(cluster.pool('a').unexplained)
        plan = planned(cluster)
        self.assertEqual((), plan.moves)
        self.assertIn((Code.UNEXPLAINED, 'b does not fit its model: its '
                       'tenants see 0.04 ms, its model predicts 0.32 ms'), {
                           (each.code, each.reason) for each in plan.refused})

    def test_models_are_trusted_on_demand(self):
        limits = dataclasses.replace(LIMITS, trust_models=True)
        cluster = measured(*[sees(f'v{i}', 'a', 60) for i in range(5)],
                           limits=limits)
        plan = planned(cluster, limits)
        self.assertIn('a', {move.source for move in plan.moves})
        self.assertEqual(('a',), plan.unexplained)

    def test_a_light_load_tells_of_it_only_where_it_is_slow(self):
        few = [volume(name, where, workload=Workload(
            50, 64, iops=2e6 / us, latency_us=us))
            for name, where, us in (('u', 'a', 3000), ('v', 'b', 900))]
        cluster = measured(*few, sees('w', 'c', 640))
        self.assertIsNotNone(cluster.pool('a').unexplained)
        self.assertEqual((None, 1.0), (cluster.pool('b').unexplained,
                                       cluster.pool('b').correction))

    def test_a_copy_explains_it(self):
        copied = Cluster((pool('a', copies_gib=5.0), pool('b')),
                         (sees('u', 'a', 9000),))
        self.assertIsNone(planning.measured(
            copied, LIMITS, clusters.MODELS).pool('a').unexplained)

    def test_without_latencies_nothing_is_unexplained(self):
        cluster = measured(volume('u', 'a', 64), volume('v', 'b', 64))
        self.assertIsNone(sentences.unexplained(cluster.pools))
        self.assertEqual({1.0}, {each.correction for each in cluster.pools})

    def test_they_are_counted_in_a_sentence(self):
        cluster = measured(sees('u', 'a', 9000), sees('v', 'b', 9000))
        self.assertEqual(
            '2 of 3 pools do not fit their model: rebuild or refine before '
            'you move anything (a: its tenants see 9 ms, its model predicts '
            '0.64 ms; b: its tenants see 9 ms, its model predicts 0.64 ms).',
            sentences.unexplained(cluster.pools))


@ddt.ddt
class LevelTest(testtools.TestCase):

    def test_a_pool_shows_what_is_measured_as_far_as_that_is_surer(self):
        cluster = measured(sees('u', 'a', 640 * 1.15))
        share = pool_errors.Check.of(1.0, 1.0, (-0.206, 0.206)).log_std ** 2
        share /= share + pool_errors.SPREAD ** 2
        self.assertAlmostEqual(
            1.15 ** share, cluster.pool('a').correction, 3)

    @ddt.data((0.001, 1.15), (10.0, 1.0))
    @ddt.unpack
    def test_the_surer_of_both_counts(self, spread, correction):
        errors = [spread * (-1) ** n for n in range(pool_errors.LAST_HOURS)]
        hours = [pool_errors.Hour(n, 4, error=4 * error)
                 for n, error in enumerate(errors)]
        found = measured(sees('u', 'a', 640 * 1.15), hours={'a': hours})
        self.assertAlmostEqual(
            correction, found.pool('a').correction, 2)

    def test_what_tenants_see_is_held_against_predictions_for_them(self):
        model = clusters.MODELS['apart']
        small, large = Workload(0, 4, 8), Workload(0, 256, 8)
        load = model.load([small, large])
        seen = [dataclasses.replace(
            each, latency_us=its, iops=8e6 / its) for each, its in (
                (small, 1.5 * model.tenant(load, small).latency_us),
                (large, 1.5 * model.tenant(load, large).latency_us))]
        found = planning.measured(Cluster(
            (pool('a', 'apart'), pool('b', 'apart')),
            (volume('u', 'a', workload=seen[0]),
             volume('v', 'a', workload=seen[1]),
             volume('w', 'b', workload=None))), LIMITS, clusters.MODELS)
        self.assertAlmostEqual(1.5, found.pool('a').correction)
        self.assertAlmostEqual(1.5 * model.predict(load), planned(
            found).latency_us['a'].before, 3)

    def test_a_load_beyond_training_is_planned_as_measured(self):
        crowd = [sees(f'v{i}', 'a', 7040) for i in range(11)]
        cluster = measured(*crowd)
        state = planning.state(cluster, LIMITS, clusters.MODELS)
        self.assertAlmostEqual(7040, state.latency_us[0])
