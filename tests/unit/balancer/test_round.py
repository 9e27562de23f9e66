# SPDX-License-Identifier: Apache-2.0
"""Rounds that observe, plan and act, and what keeps them from acting."""

import ddt

from serifos import errors
from serifos.facts.inventory import Type
from serifos.facts import pools
from serifos.facts import times
from serifos.files import documents
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import C
from tests.unit.balancer.cloud import record


@ddt.ddt
class RoundTest(cloud.Case):

    def test_an_overloaded_pool_is_relieved(self):
        self.assertEqual(1, len(self.balancer.round().moves))
        self.assertIn(self.homes()['u'], (B, C))
        self.assertEqual(A, self.homes()['v'])
        self.assertEqual(['request', 'accepted', 'outcome'], self.kinds())
        self.assertEqual([('u', B)], self.cinder.asked)

    def test_then_nothing_more_moves(self):
        self.rounds(5)
        self.assertEqual(1, len(self.cinder.asked))
        self.assertEqual((), self.balancer.round().moves)

    def test_the_old_copy_is_gone_before_a_move_is_over(self):
        self.balancer.round()
        self.assertEqual({'u', 'v', 'w'}, set(self.homes()))
        outcome = self.entries()[-1]
        self.assertEqual('success', outcome.facts['result'])
        # 10 s of copying, 10 s of wiping, a second before and between.
        self.assertLessEqual(20, outcome.facts['seconds'])

    def test_the_plan_that_is_named_is_the_one_that_is_kept(self):
        self.set(auto=False)
        made = [self.balancer.round() for _ in range(2)]
        self.assertEqual(made[0].id, made[1].id)
        self.assertEqual(made[1], self.plans.stored(made[1].id))

    def test_an_old_copy_that_cannot_be_deleted(self):
        self.cinder.faults['u'] = 'busy'
        self.balancer.round()
        outcome = self.entries()[-1].facts
        self.assertEqual('success', outcome['result'])
        self.assertIn(f'on {A} is error_deleting', outcome['reason'])
        self.now += 900
        self.recover(self.diagnose('u'))
        self.assertEqual({'u': B, 'v': A, 'w': B}, self.homes())

    def test_a_move_that_ends_after_its_time_is_a_move(self):
        self.cinder.gib_per_s = 0.005
        self.rounds(1)
        self.assertEqual('timeout', self.entries()[-2].facts['result'])
        self.cinder.gib_per_s = 0.1
        self.now += 3600
        self.balancer.observer.observe()
        seen = documents.read_cluster(self.settings.cluster_file)
        self.assertIn('moved', str(seen.volume('u').movable))

    def test_advice_moves_nothing(self):
        self.set(auto=False)
        plan = self.balancer.round()
        self.assertEqual([], self.cinder.asked)
        self.assertEqual([], self.kinds())
        kept = self.plans.stored(plan.id)
        self.assertEqual([('u', A, B)], [
            (move.volume, move.source, move.target) for move in kept.moves])
        self.rounds(3)
        self.assertEqual(1, len(self.plans.every(self.fail)))

    def test_the_observation_is_there_for_the_scheduler(self):
        self.set(auto=False)
        self.balancer.round()
        seen = documents.read_cluster(self.settings.cluster_file)
        self.assertEqual({A, B, C}, {pool.name for pool in seen.pools})
        self.assertEqual(64, seen.volume('u').workload.block_kib)
        self.assertFalse(seen.volume('w').workload.is_active())
        sums = documents.read_pools(self.settings.pools_file)
        self.assertEqual({A, B, C}, set(sums.pool))
        self.assertEqual(sums.observed_at, times.parse(seen.observed_at))
        active = sum(volume.workload.is_active() for volume in seen.volumes)
        self.assertEqual(active, pools.load(sums.everyone).count)
        self.assertTrue(all(each.latency_us for each in sums.devices))

    def test_a_new_volume_is_named_to_the_scheduler(self):
        self.set(auto=False)
        self.cinder = self.cloud([record('u'), record(
            'w', B, created_at=self.now - 600)])
        self.balancer.round()
        listed, = documents.read_pools(self.settings.pools_file).volumes
        self.assertEqual(('w', B, False), (
            listed.id, listed.pool, listed.active))

    def test_it_stays_fresh_while_volumes_migrate(self):
        self.set(interval_s=30.0)
        self.cinder = self.cloud(
            [record('u', size_gib=90), record('v', size_gib=90),
             record('w', B)])
        seen = []
        pause = self.pause

        def watch(seconds):
            seen.append(documents.read_cluster(
                self.settings.cluster_file).observed_at)
            return pause(seconds)
        self.pause = watch
        self.balancer.round()
        self.assertGreater(len(set(seen)), 10)

    @ddt.data(
        ({'status': 'in-use', 'attachments': ('s',)}, 'attached'),
        ({'snapshots': 1}, 'a snapshot holds it'),
        ({'metadata': {'serifos:pin': 'yes'}}, 'its metadata says'))
    @ddt.unpack
    def test_what_may_not_move_is_refused_in_the_plan(self, change, reason):
        self.cinder = self.cloud(
            [record('u', **change), record('v', **change)])
        plan = self.balancer.round()
        self.assertEqual((), plan.moves)
        self.assertEqual(2, len(plan.refused))
        self.assertIn(reason, plan.refused[0].reason)

    def test_a_volume_of_an_excluded_project_stays(self):
        self.set(excluded_projects=frozenset({'p'}))
        plan = self.balancer.round()
        self.assertEqual([], self.cinder.asked)
        self.assertEqual({'its project is excluded'},
                         {refusal.reason for refusal in plan.refused})

    def test_a_move_of_what_is_excluded_meanwhile_is_not_begun(self):
        plan = self.balancer.round()
        self.set(excluded_projects=frozenset({'p'}))
        self.cinder = self.cloud([record('u'), record('v')])
        self.assertEqual(
            [('not started', 'its project is excluded')],
            [(each.result, each.reason) for each
             in self.balancer.carrier.carry_out(plan.moves, plan.id)])

    def test_a_type_opts_in_where_volumes_stay_by_default(self):
        self.set(balance=False)
        self.cinder = self.cloud(
            [record('u', volume_type='gold'), record('v')],
            types=[Type('gold', {'serifos:balance': 'true'})])
        self.balancer.round()
        self.assertEqual({'u': B, 'v': A}, self.homes())

    def test_a_volume_in_use_moves_where_that_is_allowed(self):
        self.set(allow_attached=True)
        self.cinder = self.cloud(
            [record('u', status='in-use', attachments=('s',)), record('v')])
        self.balancer.round()
        self.assertEqual('in-use', self.cinder.volume('u').status)
        self.assertNotEqual(A, self.homes()['u'])

    def test_a_batch_then_it_settles(self):
        self.set(batch=2, settle_s=600.0)
        self.crowd('stuvxy')
        self.balancer.round()
        self.assertEqual(2, len(self.cinder.asked))
        self.now += 300
        self.balancer.round()
        self.assertEqual(2, len(self.cinder.asked))
        self.assertIn('Nothing is moved for another 300 s', self.log.output)
        self.now += 300
        self.balancer.round()
        self.assertGreater(len(self.cinder.asked), 2)

    def test_a_batch_ends_where_somebody_else_migrates(self):
        self.set(batch=2)
        self.crowd('stuv', record('w', B))
        pause = self.pause

        def meanwhile(seconds):
            if not any(name == 'w' for name, _ in self.cinder.asked):
                self.cinder.faults['w'] = 'killed'
                self.cinder.migrate('w', C)
            return pause(seconds)
        self.pause = meanwhile
        self.balancer.round()
        self.assertEqual(1, len([name for name, _ in self.cinder.asked
                                 if name != 'w']))
        self.assertIn('stays: Volume w on', self.log.output)

    def test_no_cool_down_is_none_where_readings_are_older(self):
        self.set(cool_down_s=0.0)
        self.balancer.round()
        self.cinder.observed_ago_s = 30.0
        self.assertEqual([], [volume.movable for volume
                              in self.balancer.observer.observe(
                              ).cluster.volumes
                              if volume.movable is not True])

    def test_a_volume_cools_down(self):
        self.balancer.round()
        self.cinder.workloads.update(x=cloud.busy(600))
        self.cinder.add(record('x', B))
        self.now += 1000
        self.assertIn('cools down until', self.refused()['u'])

    @ddt.data('migrating', 'starting')
    def test_while_anybody_migrates_nothing_moves(self, status):
        self.cinder = self.cloud(
            [record('u'), record('v'),
             record('w', B, migration_status=status)])
        self.assertIsNone(self.balancer.round())
        self.assertEqual([], self.cinder.asked)
        self.assertIn(f'is being migrated ({status})', self.log.output)

    def test_while_a_pool_with_volumes_is_down_nothing_moves(self):
        self.cinder.serve(B, up=False)
        self.assertIsNone(self.balancer.round())
        self.assertIn(f'Pool {B} is down.', self.log.output)
        self.cinder.serve(B, up=True)
        self.assertIsNotNone(self.balancer.round())

    @ddt.data('w', '')
    def test_a_pool_without_telemetry_is_left_out(self, there):
        self.crowd('uv', *(record(name, B) for name in there))
        self.cinder.unseen = {B: 'its node_exporter does not answer.'}
        self.balancer.round()
        self.assertEqual(C, self.cinder.asked[0][1])
        self.assertIn(f'Pool {B} is left out: its node_exporter does not',
                      self.log.output)

    @ddt.data('{"schema": "serifos-mo', '{"schema": "serifos-model/9"}')
    def test_a_broken_model_is_its_pools_affair(self, text):
        broken = self.settings.models_dir / 'broken.json'
        broken.write_text(text)
        self.cinder = self.cloud(
            [record('u'), record('v'), record('x', C)],
            {'u': cloud.busy(64), 'v': cloud.busy(32), 'x': cloud.busy(64)},
            models={C: 'broken'})
        plan = self.balancer.round()
        self.assertEqual([('u', B)], self.cinder.asked)
        self.assertEqual({A, B}, set(plan.latency_us))
        self.assertIn(f'Left out with it: {C}.', self.log.output)

    def test_a_pool_without_a_model_is_left_out(self):
        self.cinder = self.cloud(
            [record('u'), record('v')], names=(A, B))
        (self.settings.models_dir / 'flat.json').unlink()
        self.assertIsNone(self.balancer.round())
        self.assertIn('There is no model',
                      self.log.output)
        # From this one can be learned.
        observed = documents.read_cluster(self.settings.cluster_file)
        self.assertEqual({'flat'}, {pool.model for pool in observed.pools})
        self.assertTrue(all(volume.workload.is_active()
                            for volume in observed.volumes))

    def test_without_an_answer_the_observation_stays(self):
        self.set(auto=False)
        self.balancer.round()
        before = self.settings.cluster_file.read_text()
        self.cinder.answers = False
        self.assertRaises(errors.CloudError, self.balancer.round)
        self.assertEqual(before, self.settings.cluster_file.read_text())
