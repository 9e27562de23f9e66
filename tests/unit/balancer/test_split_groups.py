# SPDX-License-Identifier: Apache-2.0
"""Volumes that are to share a pool, or to be kept apart, in rounds."""

import dataclasses

from serifos.balancer import batch
from serifos.balancer import remaining
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import Volume
from serifos.plan.plan import Move
from tests.fakes.settings import Limits
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import record

SAME = {'metadata': {'serifos:same_pool': 'web'}}


class RoundsTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.busy = {name: cloud.busy(64) for name in 'tuv'}

    def results(self):
        return [(entry.facts['volume'], entry.facts['result'])
                for entry in self.entries() if entry.kind == 'outcome']

    def test_a_group_moves_together_in_one_round(self):
        self.cinder = self.cloud(
            [record('t', snapshots=1), record('u', **SAME),
             record('v', **SAME)], self.busy, names=(A, B))
        self.balancer.round()  # whose batch is of one move
        self.assertEqual({'t': A, 'u': B, 'v': B}, self.homes())

    def test_a_group_whose_moves_are_apart_in_the_plan(self):
        self.cinder = self.cloud(
            [record('t', snapshots=1), record('u', **SAME),
             record('v', **SAME), record('w')], {}, names=(A, B))
        cluster = self.balancer.observer.observe().cluster
        moves = [Move(name, A, B, 1.0, 2.0, 1.0, 1.0, 1.0, '')
                 for name in 'uwv']
        found = batch.chosen(moves, 1, cluster, lambda gib: None,
                             lambda move: None)
        self.assertEqual(['u', 'v'], [move.volume for move in found])

    def test_once_one_of_a_group_cannot_move_the_others_stay(self):
        self.cinder = self.cloud(
            [record('t', snapshots=1), record('u', **SAME),
             record('v', **SAME)], self.busy, names=(A, B))
        self.cinder.faults['u'] = 'refused'
        self.balancer.round()
        self.assertEqual([('u', 'refused')], self.results())
        self.assertIn('volume u, with which it shares a pool, does not come '
                      'with it', self.log.output)
        self.assertIn('to share a pool with volume u', self.refused()['v'])

    def test_volumes_of_a_server(self):
        self.set(server_volumes='apart', allow_attached=True)
        self.cinder = self.cloud(
            [record('t'), record('u', attachments=('s',), status='in-use'),
             record('v', B, attachments=('s',), status='in-use')],
            {'t': cloud.busy(64), 'u': cloud.busy(64)}, names=(A, B))
        plan = self.balancer.round()
        self.assertEqual(['t'], [move.volume for move in plan.moves])
        self.assertEqual({'t': B, 'u': A, 'v': B}, self.homes())


class RemainingTest(cloud.Case):

    MOVES = [Move(name, A, B, 1.0, 2.0, 1.0, 1.0, 1.0, '')
             for name in 'uv']

    def cluster(self, **changes):
        names = {'u': {}, 'v': {}, **changes}
        return Cluster(
            (Pool(A, free_gib=9), Pool(B, free_gib=9)), tuple(
                Volume(name, its.pop('pool', A), 1.0, **{
                    'same_pool': ('web',), **its})
                for name, its in names.items()))

    def left(self, cluster):
        found, left = remaining.left_of(self.MOVES, cluster, Limits())
        return [move.volume for move in found], dict(left)

    def test_nothing_changed(self):
        self.assertEqual((['u', 'v'], {}), self.left(self.cluster()))

    def test_one_of_two_may_no_longer_move(self):
        found, left = self.left(self.cluster(v={'movable': 'a snapshot'}))
        self.assertEqual([], found)
        self.assertEqual('a snapshot', left['v'])
        self.assertIn('does not come with it', left['u'])

    def test_one_of_two_is_there_already(self):
        found, left = self.left(self.cluster(u={'pool': B}))
        self.assertEqual(['v'], found)

    def test_one_of_two_that_are_to_be_apart_leaves_without_the_other(self):
        apart = {'same_pool': (), 'different_pool': ('d',)}
        found, left = self.left(self.cluster(u=dict(apart), v=dict(apart)))
        self.assertEqual(['u'], found)
        self.assertEqual(
            {'v': f'it is to be kept apart from volume u, on {B}'}, left)

    def test_two_that_are_to_be_apart_stay_on_one_device(self):
        apart = {'same_pool': (), 'different_pool': ('d',)}
        cluster = self.cluster(u=dict(apart), v=dict(apart))
        self.assertEqual((['u', 'v'], {}), self.left(dataclasses.replace(
            cluster, pools=tuple(dataclasses.replace(pool, device='d')
                                 for pool in cluster.pools))))

    def test_two_that_are_to_be_apart_and_together(self):
        odd = {'different_pool': ('d',)}
        found, left = self.left(self.cluster(u=dict(odd), v=dict(odd)))
        self.assertEqual([], found)
        self.assertIn('volumes that are to be kept apart, such as v',
                      left['u'])

    def test_a_label_came_after_the_plan(self):
        apart = {'same_pool': (), 'different_pool': ('d',)}
        found, left = self.left(self.cluster(u=apart, w={
            'pool': B, **apart}, v={'same_pool': ()}))
        self.assertEqual(['v'], found)
        self.assertEqual(
            {'u': f'it is to be kept apart from volume w, on {B}'}, left)
