# SPDX-License-Identifier: Apache-2.0
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts import refusals
from serifos.plan import affinity
from serifos.plan import bfd
from serifos.plan import evacuate
from serifos.plan import explain
from serifos.plan.plan import Move
from serifos.plan.problem import Problem
from serifos.plan import relieve
from serifos.plan.state import State
from tests.fakes.settings import Limits
from tests.unit.plan import clusters

SAME, APART = {'same_pool': ('s',)}, {'different_pool': ('d',)}


def cluster(*volumes, pools='abc', **more):
    return Cluster(tuple(clusters.pool(name, **more) for name in pools),
                   volumes)


def move(volume, to, source='a'):
    return Move(volume, source, to, 10, 2.0, 1.0, 1.0, 1.0, '')


class BondsTest(testtools.TestCase):

    def moves(self, found, planner=relieve, **limits):
        self.plan = clusters.planned(planner, found, Limits(
            every_refusal=True, **limits))
        return [(each.volume, each.target) for each in self.plan.moves]

    def reason(self, volume):
        return next(refusal.reason for refusal in self.plan.refused
                    if refusal.volume == volume)

    def test_a_bundle_moves_as_one_and_counts_as_one(self):
        found = cluster(
            clusters.volume('u', 'a', movable='attached'),
            clusters.volume('v', 'a', **SAME),
            clusters.volume('w', 'a', **SAME), pools='ab')
        for planner in relieve, bfd:
            self.assertEqual([('v', 'b'), ('w', 'b')],
                             self.moves(found, planner, max_moves=1))
        free = cluster(*(clusters.volume(name, 'a') for name in 'uvw'),
                       pools='ab')
        self.assertEqual(1, len(self.moves(free, max_moves=1)))

    def test_a_bundle_has_to_fit_as_a_whole(self):
        found = cluster(
            clusters.volume('u', 'a', 64, movable='attached'),
            clusters.volume('v', 'a', 16, **SAME),
            clusters.volume('w', 'a', 16, **SAME), pools='ab', free_gib=15)
        self.assertEqual([], self.moves(found))
        self.assertIn('15 GiB free, 20 needed', self.reason('w'))
        roomy = cluster(*found.volumes, pools='ab', free_gib=20)
        self.assertEqual([('v', 'b'), ('w', 'b')], self.moves(roomy))

    def test_a_bundle_stays_with_one_that_may_not_move(self):
        found = cluster(
            clusters.volume('v', 'a', 64, **SAME),
            clusters.volume('w', 'a', 64, movable='attached', **SAME))
        self.assertEqual([], self.moves(found))
        self.assertEqual(
            'it is to share a pool with volume w, which stays: attached',
            self.reason('v'))
        self.assertEqual('attached', self.reason('w'))
        self.assertIn('[balancer] server_volumes',
                      refusals.remedy(self.reason('v')))

    def test_one_that_is_away_from_its_own_goes_to_them_alone(self):
        volumes = (clusters.volume('u', 'a', 64, movable='attached'),
                   clusters.volume('v', 'a', 64, **SAME),
                   clusters.volume('w', 'c', 16, **SAME))
        self.assertEqual([('v', 'c')], self.moves(cluster(*volumes)))
        full = Cluster((clusters.pool('a'), clusters.pool('b'),
                        clusters.pool('c', free_gib=0)), volumes)
        self.assertEqual([], self.moves(full))
        self.assertEqual('it is to share a pool with volume w, on c',
                         self.reason('v'))

    def test_those_that_are_kept_apart_do_not_meet(self):
        volumes = (clusters.volume('u', 'a', 64, movable='attached'),
                   clusters.volume('v', 'a', 64, **APART),
                   clusters.volume('w', 'b', 8, movable='attached', **APART))
        self.assertEqual([('v', 'c')], self.moves(cluster(*volumes)))
        self.assertEqual([], self.moves(cluster(*volumes, pools='ab')))
        self.assertEqual('it is to be kept apart from volume w, on b',
                         self.reason('v'))
        shared = Cluster((
            clusters.pool('a'), clusters.pool('b', device='sda'),
            clusters.pool('c', device='sda')), volumes)
        self.assertEqual([], self.moves(shared))

    def test_those_that_are_together_against_it_may_part(self):
        self.assertEqual(1, len(self.moves(cluster(
            clusters.volume('v', 'a', 64, **APART),
            clusters.volume('w', 'a', 64, **APART), pools='ab'))))

    def test_what_contradicts_itself_stays(self):
        found = cluster(clusters.volume('v', 'a', 64, **SAME, **APART),
                        clusters.volume('w', 'a', 64, **SAME, **APART))
        self.assertEqual([], self.moves(found))
        self.assertIn('that are to be kept apart', self.reason('v'))

    def test_a_server_is_no_contradiction_to_metadata(self):
        its = {**SAME, 'different_pool': ('server x',)}
        self.assertEqual([('v', 'b'), ('w', 'b')], self.moves(cluster(
            clusters.volume('u', 'a', 64, movable='attached'),
            clusters.volume('v', 'a', 16, **its),
            clusters.volume('w', 'a', 16, **its), pools='ab')))

    def test_an_evacuated_pool(self):
        found = cluster(
            clusters.volume('u', 'a', 8, **APART),
            clusters.volume('v', 'a', 64, **SAME),
            clusters.volume('w', 'a', 64, workload=clusters.IDLE, **SAME),
            clusters.volume('x', 'b', 8, **APART))
        plan = evacuate.plan(found, clusters.models_of(found), Limits(),
                             'a')
        to = {each.volume: each.target for each in plan.moves}
        self.assertEqual('c', to['u'])
        self.assertEqual(to['v'], to['w'])

    def test_what_is_explained(self):
        found = cluster(clusters.volume('v', 'a', 64, **APART),
                        clusters.volume('t', 'a', 64),
                        clusters.volume('w', 'b', 8, **APART))
        state = State.of(Problem.of(
            found, clusters.models_of(found), Limits()))
        goals = {goal.pool: goal for goal in
                 explain.part(state, 'v').goals}
        self.assertTrue(goals['b'].barred)
        self.assertIn('kept apart from volume w', goals['b'].why)
        self.assertIsNone(goals['c'].why)


class TornTest(testtools.TestCase):

    def test_a_bundle_of_which_one_stays(self):
        found = cluster(clusters.volume('v', 'a', **SAME),
                        clusters.volume('w', 'a', **SAME))
        self.assertEqual(['v'], [*affinity.against(found, [move('v', 'b')])])
        self.assertEqual(['v', 'w'], [*affinity.against(
            found, [move('v', 'b'), move('w', 'c')])])
        self.assertEqual({}, affinity.against(
            found, [move('v', 'b'), move('w', 'b')]))

    def test_the_rest_of_a_bundle_that_was_moved_in_part(self):
        found = cluster(clusters.volume('u', 'b', **SAME),
                        clusters.volume('v', 'a', **SAME),
                        clusters.volume('w', 'a', **SAME))
        self.assertEqual({}, affinity.against(
            found, [move('v', 'b'), move('w', 'b')]))
        self.assertEqual(['v', 'w'], [*affinity.against(
            found, [move('v', 'c'), move('w', 'c')])])

    def test_one_that_was_to_make_way_and_stays(self):
        found = cluster(clusters.volume('v', 'a', **APART),
                        clusters.volume('w', 'b', **APART))
        moves = [move('w', 'c', 'b'), move('v', 'b')]
        self.assertEqual({}, affinity.against(found, moves))
        self.assertEqual(
            {'v': 'it is to be kept apart from volume w, on b'},
            affinity.against(found, moves[1:]))
