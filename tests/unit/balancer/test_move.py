# SPDX-License-Identifier: Apache-2.0
"""Leave to move that operators take back after a plan was made."""

from serifos.balancer import remaining
from serifos.facts.cluster import Cluster
from serifos.facts.inventory import Type
from serifos.plan import evacuate
from serifos.plan.plan import Move
from serifos.plan import relieve
from serifos.plan import usable
from tests.fakes.settings import Limits
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import record
from tests.unit.plan import clusters


class OfPoolsTest(cloud.Case):

    VOLUMES = (clusters.volume('v', 'a', 64), clusters.volume('w', 'a', 64))

    def cluster(self, balance):
        return Cluster((clusters.pool('a', balance=balance),
                        clusters.pool('b')), self.VOLUMES)

    def left(self, plan, cluster):
        return dict(remaining.left_of(
            plan.moves, usable.of(plan, cluster), Limits())[1])

    def test_no_move_leaves_a_pool_that_was_left_out_since(self):
        plan = clusters.planned(relieve, self.cluster(True), Limits())
        self.assertEqual({}, self.left(plan, self.cluster(True)))
        self.assertEqual(
            {move.volume: 'a is left out of balancing by its serifos_balance'
             for move in plan.moves}, self.left(plan, self.cluster(False)))
        self.assertNotEqual((), plan.moves)

    def test_an_evacuation_still_does(self):
        found = self.cluster(False)
        plan = evacuate.plan(found, clusters.models_of(found), Limits(),
                             'a')
        self.assertEqual(2, len(plan.moves))
        self.assertEqual({}, self.left(plan, found))


class OfTypesTest(cloud.Case):
    """The last look before a move sees the type as it is then."""

    MOVE = Move('u', A, B, 1.0, 2.0, 1.0, 1.0, 1.0, '')

    def begin(self, *types, **others):
        self.cinder = self.cloud([record('u', volume_type='gold')],
                                 types=types, **others)
        return self.balancer.carrier.executor.begin(self.MOVE, 'p')

    def test_a_type_that_forbids_moves_since(self):
        found = self.begin(Type('gold', {'serifos:balance': 'false'}))
        self.assertEqual(
            ('not started',
             'its volume type gold says serifos:balance = false'),
            (found.result, found.reason))
        self.assertEqual([], self.cinder.asked)

    def test_a_type_whose_leave_was_taken_back(self):
        self.set(balance=False)
        found = self.begin(Type('gold'))
        self.assertIn('does not say serifos:balance = true', found.reason)
        self.assertEqual([], self.cinder.asked)
        self.begin(Type('gold', {'serifos:balance': 'true'}))
        self.assertEqual([('u', B)], self.cinder.asked)

    def test_a_type_that_says_nothing(self):
        self.begin(Type('gold'))
        self.assertEqual([('u', B)], self.cinder.asked)
