# SPDX-License-Identifier: Apache-2.0
"""One move of a plan that is kept, over the fake Cinder."""

import dataclasses

from serifos import errors
from serifos.watcher import moving
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import record


class MovingTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.crowd('abcdefgh', record('w', cloud.B))
        self.set(auto=False)
        self.plan = self.balancer.round()
        self.assertLess(1, len(self.plan.moves))
        self.set(auto=True)

    def carry_out(self, volume):
        return moving.carry_out(self.balancer, self.plan, volume)

    def test_the_moves_in_turn(self):
        for move in self.plan.moves:
            outcome = self.carry_out(move.volume)
            self.assertEqual('success', outcome.result, outcome.reason)
            self.assertEqual(move.target, self.homes()[move.volume])
        self.assertEqual(
            ['request', 'accepted', 'outcome'] * len(self.plan.moves),
            [entry.kind for entry in self.journal().entries()])

    def test_a_volume_that_changed_stays(self):
        move = self.plan.moves[0]
        self.cinder.change(move.volume, snapshots=1)
        outcome = self.carry_out(move.volume)
        self.assertEqual(('not started', True), (
            outcome.result, 'a snapshot holds it' in outcome.reason))
        self.assertEqual(A, self.homes()[move.volume])

    def test_a_volume_of_another_plan_stays(self):
        outcome = self.carry_out('w')
        self.assertIn('does not move volume w', outcome.reason)

    def test_a_move_that_counts_on_one_that_was_not_made(self):
        first, second = self.plan.moves[:2]
        self.plan = dataclasses.replace(self.plan, moves=(
            first, dataclasses.replace(
                second, volume='w', source=cloud.B, target=A)))
        outcome = self.carry_out('w')
        self.assertIn(f'volume {first.volume} was to leave {A} first',
                      outcome.reason)
        self.assertEqual([], [*self.cinder.asked])

    def test_nothing_moves_after_a_move_that_failed(self):
        """Watcher itself goes on with the next action."""
        first, second = self.plan.moves[:2]
        self.cinder.faults[first.volume] = 'error'
        self.assertEqual('error', self.carry_out(first.volume).result)
        error = self.assertRaises(errors.InputError, self.carry_out,
                                  second.volume)
        self.assertIn(f'ended with volume {first.volume}: error',
                      str(error))
        self.assertEqual([first.volume],
                         [volume for volume, _ in self.cinder.asked])

    def test_nothing_moves_while_the_balancer_is_paused(self):
        self.journal().write('pause', reason='3 failures in a row')
        error = self.assertRaises(errors.InputError, self.carry_out,
                                  self.plan.moves[0].volume)
        self.assertIn('paused', str(error))

    def test_nothing_moves_while_a_pool_is_down(self):
        self.cinder.serve(self.plan.moves[0].target, up=False)
        self.cinder.serve(A, up=False)
        self.assertRaises(errors.InputError, self.carry_out,
                          self.plan.moves[0].volume)

    def test_a_plan_that_has_expired(self):
        self.plans.keep(self.plan, self.now, self.fail)
        self.assertEqual(self.plan, moving.plan_of(
            self.plans, self.plan.id, self.now))
        self.assertRaises(
            errors.InputError, moving.plan_of, self.plans, self.plan.id,
            self.plan.expires_at + 1)
