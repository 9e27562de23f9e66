# SPDX-License-Identifier: Apache-2.0
import testtools

from serifos.balancer import planning
from serifos.facts.cluster import Cluster
from serifos.plan import bfd
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume


class ExpectedTest(testtools.TestCase):

    def test_intervals_before_and_after_by_the_models_of_the_pools(self):
        cluster = Cluster(
            (pool('a', correction=2.0), pool('b', 'odd'), pool('c', 'gone')),
            (volume('u', 'a', 64), volume('v', 'a', 64), volume('w', 'b', 2)))
        plan = clusters.planned(bfd, cluster, Limits())
        move, = plan.moves
        found = planning.outlook(plan, planning.state(
            cluster, Limits(), clusters.MODELS), clusters.MODELS)
        seen = {each.pool.name: each for each in found.pools}
        flat, odd = clusters.MODELS['flat'], clusters.MODELS['odd']
        both = flat.load(each.workload for each in cluster.volumes[:2])
        low, high = flat.interval(both)
        self.assertEqual(
            (2 * low, 2 * high, False), (
                (was := seen['a'].before.expected).low_us, was.high_us,
                was.outside))
        self.assertEqual(('a', 'b'), (move.source, move.target))
        self.assertLess(seen['a'].after.expected.high_us, was.high_us)
        lone = odd.load([cluster.volumes[2].workload])
        self.assertEqual(
            (odd.interval(lone), True), (
                ((at := seen['b'].before.expected).low_us, at.high_us),
                at.outside))
        self.assertIsNone(seen['c'].before.expected)

    def test_pools_of_one_device_are_expected_under_its_whole_load(self):
        cluster = Cluster(
            (pool('a', device='sda'), pool('b', device='sda')),
            (volume('u', 'a'), volume('v', 'b')))
        found = planning.expected(planning.state(
            cluster, Limits(), clusters.MODELS), clusters.MODELS)
        flat = clusters.MODELS['flat']
        self.assertEqual(flat.interval(flat.load(
            each.workload for each in cluster.volumes)), (
                found['a'].low_us, found['a'].high_us))
        self.assertEqual(found['a'], found['b'])
