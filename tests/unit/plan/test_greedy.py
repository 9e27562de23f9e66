# SPDX-License-Identifier: Apache-2.0
"""The place in a plan of the one move that two hops of a volume become.

The search is scripted: it returns the hops in the given order.
"""

import testtools

from serifos.facts import cluster as cl
from serifos.plan import greedy
from serifos.plan import limits as lm
from serifos.plan import problem as pm
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume

POOLS = 'abcd'


class OrderTest(testtools.TestCase):
    """10 µs for each KiB of block on a pool, whichever it is."""

    def planned(self, volumes, hops):
        """The moves of a plan whose search finds these hops."""
        cluster = cl.Cluster(tuple(map(pool, POOLS)), tuple(volumes))
        known = clusters.models_of(cluster)
        problem = pm.Problem.of(cluster, known.load, known.latency,
                                lm.Limits())
        ids = [v.id for v in problem.volumes]
        left = [(ids.index(name), POOLS.index(to)) for name, to in hops]

        def search(state):
            found = greedy.first_accepted(state, left[:1])
            if found is not None:
                del left[0]
            return found

        plan = greedy.plan('scripted', problem, lambda *_: search)
        self.assertEqual([], left, 'not every hop was acceptable')
        return [(move.volume, move.source, move.target)
                for move in plan.moves]

    def test_it_takes_the_place_of_the_first_hop(self):
        volumes = (volume('t', 'a', 10), volume('u', 'a', 40),
                   volume('v', 'a', 30), volume('x', 'b', 10))
        self.assertEqual(
            [('u', 'a', 'd'), ('v', 'a', 'c')],
            self.planned(volumes, ('ub', 'vc', 'ud')))

    def test_it_comes_last_where_that_is_not_acceptable_at_first(self):
        # d is too busy for u until v has left it.
        volumes = (volume('u', 'a', 40), volume('w', 'a', 20),
                   volume('x', 'b', 10), volume('v', 'd', 30),
                   volume('y', 'd', 5))
        self.assertEqual(
            [('v', 'd', 'c'), ('u', 'a', 'd')],
            self.planned(volumes, ('ub', 'vc', 'ud')))

    def test_there_and_back_is_no_move(self):
        volumes = (volume('t', 'a', 10), volume('u', 'a', 20),
                   volume('v', 'a', 40), volume('x', 'b', 20))
        self.assertEqual(
            [('v', 'a', 'c')],
            self.planned(volumes, ('ub', 'vc', 'ua')))
