# SPDX-License-Identifier: Apache-2.0
"""Mode approve: what a person approved is carried out, and nothing else."""

import dataclasses

from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import record


class ApprovedTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.set(approved_only=True, batch=1)
        names = [f'v{i}' for i in range(6)]
        self.cinder = self.cloud(
            [*map(record, names)],
            {name: cloud.busy(64) for name in names})

    def round(self):
        self.now += 300
        return self.balancer.round()

    def approve(self, plan, kind='approve'):
        self.journal().write(kind, plan=plan.id, by='anna')

    def asked(self):
        return [entry.facts['volume'] for entry in self.entries()
                if entry.kind == 'request']

    def entries(self):
        return self.journal().entries()

    def test_nothing_moves_until_a_person_says_so(self):
        plan = self.round()
        self.assertGreater(len(plan.moves), 1)
        self.assertEqual(plan.id, self.round().id)
        self.assertEqual([], self.asked())
        self.assertIn(f'serifos-balancer approve {plan.id} approves this one',
                      self.log.output)

    def test_an_approved_plan_is_carried_out_in_batches_and_no_other(self):
        plan = self.round()
        self.approve(plan)
        moved = [move.volume for move in plan.moves]
        for count in range(1, len(moved) + 1):
            self.round()
            self.assertEqual(moved[:count], self.asked())
        self.round()
        self.assertEqual(moved, self.asked())
        self.assertEqual(
            {plan.id}, {entry.facts['plan'] for entry in self.entries()
                        if entry.kind == 'request'})

    def test_an_approval_that_is_taken_back(self):
        plan = self.round()
        self.approve(plan)
        self.round()
        self.approve(plan, 'cancel')
        self.round()
        self.assertEqual(1, len(self.asked()))

    def meanwhile(self, done):
        """A round of three moves, and what comes about in the first."""
        plan = self.round()
        self.set(batch=3, parallel=1)
        self.approve(plan)
        pause = self.pause

        def paused(seconds):
            if self.asked():
                done(plan)
            return pause(seconds)
        self.pause = paused
        self.round()
        return plan

    def test_three_go_in_a_round(self):
        self.meanwhile(lambda _: None)
        self.assertEqual(3, len(self.asked()))

    def test_an_approval_that_is_taken_back_while_one_is_under_way(self):
        plan = self.meanwhile(lambda plan: self.approve(plan, 'cancel'))
        self.assertEqual([plan.moves[0].volume], self.asked())
        self.assertEqual('success', self.outcomes()[0]['result'])
        self.assertIn(f'the approval of plan {plan.id} was taken back',
                      self.log.output)

    def test_an_approval_that_is_given_again_later(self):
        plan = self.meanwhile(lambda plan: self.approve(plan, 'cancel'))
        self.approve(plan)
        del self.pause
        self.round()
        self.assertEqual([move.volume for move in plan.moves[:4]],
                         self.asked())

    def test_a_plan_that_expires_while_one_is_under_way(self):
        def much_later(plan):
            self.now = max(self.now, plan.expires_at)
        plan = self.meanwhile(much_later)
        self.assertEqual([plan.moves[0].volume], self.asked())
        self.assertIn(f'plan {plan.id} expired at', self.log.output)

    def outcomes(self):
        return [entry.facts for entry in self.entries()
                if entry.kind == 'outcome']

    def test_a_plan_that_expires_meanwhile(self):
        plan = self.round()
        self.approve(plan)
        self.now += 2 * 86400
        self.round()
        self.assertEqual([], self.asked())

    def test_an_approved_one_goes_on_where_the_present_plans_nothing(self):
        plan = self.round()
        self.approve(plan)
        self.cinder.workloads.clear()
        self.assertEqual((), self.round().moves)
        self.assertEqual([plan.moves[0].volume], self.asked())

    def test_a_move_is_requested_once_whatever_becomes_of_it(self):
        plan = self.round()
        self.approve(plan)
        first = plan.moves[0].volume
        self.journal().write(
            'request', volume=first, source=A, target=plan.moves[0].target,
            plan=plan.id, size_gib=1.0)
        self.journal().write(
            'outcome', volume=first, result='error', reason='no', source=A,
            target=plan.moves[0].target, seconds=1.0)
        for _ in plan.moves:
            self.round()
        self.assertEqual(1, self.asked().count(first))
        self.assertEqual(A, self.homes()[first])

    def test_a_pause_holds_approved_plans_too(self):
        plan = self.round()
        self.approve(plan)
        self.journal().write('pause', reason='3 failures in a row')
        self.round()
        self.assertEqual([], self.asked())

    def test_of_two_the_older_goes_first(self):
        plan = self.round()
        other = dataclasses.replace(
            plan, id='older', created_at=plan.created_at - 60,
            moves=plan.moves[1:2])
        self.plans.keep(other, self.now, self.fail)
        self.approve(plan)
        self.approve(other)
        self.round()
        self.assertEqual([other.moves[0].volume], self.asked())
