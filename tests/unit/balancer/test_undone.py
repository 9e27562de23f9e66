# SPDX-License-Identifier: Apache-2.0
"""A plan that was carried out is taken back, in mode approve."""

from serifos.balancer import planning
from serifos.balancer import plans
from serifos.plan import undo
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import record


class UndoneTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.set(approved_only=True, batch=10, cool_down_s=86400.0)
        names = [f'v{i}' for i in range(6)]
        self.cinder = self.cloud(
            [*map(record, names)],
            {name: cloud.busy(64) for name in names})
        self.former = self.homes()
        self.plan = self.carried_out(self.round())

    def round(self):
        self.now += 300
        return self.balancer.round()

    def carried_out(self, plan):
        self.journal().write('approve', plan=plan.id, by='anna')
        self.round()
        return plan

    def undo(self):
        seen, limits = self.balancer.observer.observe(), self.settings.limits
        done = plans.carried(self.entries(), self.plan.id)
        fleet = planning.corrected_fleet(
            seen.cluster, seen.models, limits.active_floor)
        return self.plans.keep(planning.issued(undo.plan(
            seen.cluster, fleet, limits, done.moves), self.now, 86400.0),
            self.now, self.fail)

    def test_all_is_as_before_though_the_volumes_cool_down(self):
        moved = {move.volume for move in self.plan.moves}
        self.assertTrue(moved)
        self.assertNotEqual(self.former, self.homes())
        for volume in self.balancer.observer.observe().cluster.volumes:
            if volume.id in moved:
                self.assertIn('cools down until', volume.movable)
        self.carried_out(self.undo())
        self.assertEqual(self.former, self.homes())

    def test_the_moves_back_cool_down_and_are_not_planned_again_at_once(self):
        self.carried_out(self.undo())
        moved = {move.volume for move in self.plan.moves}
        self.assertFalse(moved & {
            move.volume for move in self.round().moves})

    def test_other_obstacles_hold_its_volumes_still(self):
        plan = self.undo()
        self.set(excluded_projects=frozenset({'p'}))
        self.carried_out(plan)
        self.assertNotEqual(self.former, self.homes())

    def test_what_was_carried_out(self):
        found = plans.carried(self.entries(), self.plan.id)
        self.assertEqual(
            [(move.volume, A, move.target) for move in self.plan.moves],
            [(each.volume, each.source, each.target)
             for each in found.moves])
        self.assertEqual({True}, {each.ended for each in found.moves})
        self.assertLessEqual(found.ended_at, self.now)
        self.assertEqual(plans.Carried((), 0.0), plans.carried(
            self.entries(), 'another'))

    def test_one_that_failed_was_not_moved_and_one_is_under_way(self):
        request = {'source': A, 'target': 'b', 'plan': 'x', 'size_gib': 1.0}
        for volume in 'fgh':
            self.journal().write('request', volume=volume, **request)
        for volume, result in ('f', 'error'), ('g', 'timeout'):
            self.journal().write(
                'outcome', volume=volume, result=result, reason='no',
                source=A, target='b', seconds=1.0)
        found = plans.carried(self.entries(), 'x')
        self.assertEqual([('g', True), ('h', False)], [
            (each.volume, each.ended) for each in found.moves])

    def test_a_later_plan_does_not_hide_its_moves(self):
        first = self.plan.moves[0]
        facts = {'volume': first.volume, 'source': first.target,
                 'target': 'c@ssd#ssd'}
        self.journal().write('request', plan='later', size_gib=1.0, **facts)
        self.journal().write('outcome', result='success', reason='',
                             seconds=1.0, **facts)
        found = plans.carried(self.entries(), self.plan.id)
        self.assertIn(undo.Made(first.volume, A, first.target), found.moves)
