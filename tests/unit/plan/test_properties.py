# SPDX-License-Identifier: Apache-2.0
"""Properties of every plan, against a reference in plain Python."""

from __future__ import annotations

import dataclasses

from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.plan import acceptance
from serifos.plan import bfd
from serifos.plan import outcomes
from serifos.plan.plan import Cause
from serifos.plan.problem import Problem
from serifos.plan import quota
from serifos.plan import relieve
from serifos.plan.search import beam
from serifos.plan.search import slo_moves
from serifos.plan import state
from serifos.plan.state import State
from serifos.plan import violations
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan import reference

PLANNERS = strategies.sampled_from((bfd, relieve))
LIMITS = strategies.builds(
    Limits, min_gain=strategies.one_of(strategies.sampled_from((0.0, 0.1)),
                                       strategies.floats(0, 0.95)),
    max_moves=strategies.sampled_from((None, None, 1, 2)))
KEEPS = Cause.SLO_RESTORED.of(), Cause.FORECAST_AVOIDED.of()
EASES = Cause.SLO_EASED.of(), Cause.FORECAST_REDUCED.of()
SMALL = strategies.sampled_from((0, 20))
"""Pools of a small cloud: all are large, or all are small."""
EXAMPLES = settings(max_examples=40, deadline=None)


def _start(cluster, limits):
    known = clusters.models_of(cluster)
    return State.of(Problem.of(cluster, known, limits))


class PlanTestCase(testtools.TestCase):

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), LIMITS, SMALL)
    @example(bfd, clusters.of_seed(211), Limits(min_gain=0.40625), 0)
    def test_every_move_is_worth_it_and_fits_at_its_turn(
            self, planner, cluster, limits, small):
        self.patch(quota, 'SMALL', small)
        known = reference.Reference(clusters.MODELS, limits.min_gain)
        begun = set()  # devices off which several moves count as one
        plan = clusters.planned(planner, cluster, limits)
        room = {pool.name: pool.free_gib for pool in cluster.pools}
        for move in plan.moves:
            volume = cluster.volume(move.volume)
            after = reference.moved(cluster, volume, move.target)
            room[move.target] -= volume.size_gib
            self.assertIn(move.target, [
                p.name for p in known.targets(cluster, volume)])
            self.assertGreaterEqual(room[move.target], 0)
            if move.reason in KEEPS:
                self.assertTrue(known.repairs(cluster, volume, move.target))
                self.assertTrue(known.worthy(cluster, volume, move.target))
            elif move.reason in EASES:
                self.assertTrue(known.eases(cluster, volume, move.target))
            elif move.reason.endswith('of several'):
                was, left, came = known.pair(cluster, volume, move.target)
                self.assertLess(left, was)
                self.assertLess(came, was)
                self.assertLessEqual(known.gain(volume), max(
                    limits.min_gain, 1e-9))
                begun.add(cluster.pool(volume.pool).device_key)
            else:
                part = 1 / (1 + (cluster.pool(
                    volume.pool).device_key in begun))
                self.assertTrue(reference.Reference(
                    clusters.MODELS, limits.min_gain, part=part
                ).accepts(cluster, volume, move.target))
            self.assertTrue(known.meets_slos(
                cluster, volume, move.target))
            before_us = known.latencies(cluster)
            after_us = known.latencies(after)
            self.assertEqual(volume.pool, move.source)
            np.testing.assert_allclose(
                (move.source_before_us, move.source_after_us,
                 move.target_before_us, move.target_after_us),
                (before_us[move.source], after_us[move.source],
                 before_us[move.target], after_us[move.target]), rtol=1e-9)
            cluster = after

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), LIMITS, SMALL)
    def test_applied_and_planned_again_it_is_empty(
            self, planner, cluster, limits, small):
        self.patch(quota, 'SMALL', small)
        plan = clusters.planned(planner, cluster, limits)
        for _ in range(60):
            cluster = clusters.applied(cluster, plan.moves)
            again = clusters.planned(planner, cluster, limits)
            self.assertEqual(bool(again.moves), plan.truncated)
            if not again.moves:
                return
            plan = again
        self.fail('planning does not come to an end')

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), LIMITS, SMALL)
    def test_no_volume_is_moved_twice(self, planner, cluster, limits, small):
        self.patch(quota, 'SMALL', small)
        moved = [move.volume for move in clusters.planned(
            planner, cluster, limits).moves]
        self.assertEqual(len({*moved}), len(moved))

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), LIMITS, SMALL)
    def test_several_moves_that_count_as_one_reach_min_gain_together(
            self, planner, cluster, limits, small):
        self.patch(quota, 'SMALL', small)
        known = reference.Reference(clusters.MODELS, limits.min_gain)
        plan = clusters.planned(planner, cluster, limits)
        first = {}
        for move in plan.moves:
            if move.reason.endswith('of several'):
                device = cluster.pool(move.source).device_key
                first.setdefault(device, (
                    move.source, known.figures(cluster)[move.source]))
            elif first and move.reason in (*KEEPS, *EASES):
                break  # these may come to a pool that was relieved
            cluster = reference.moved(
                cluster, cluster.volume(move.volume), move.target)
        last = known.figures(cluster)
        for source, was in first.values():
            self.assertLessEqual(last[source], was * limits.keeps)

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), LIMITS, SMALL)
    def test_the_figures_are_those_of_the_cluster_it_leads_to(
            self, planner, cluster, limits, small):
        self.patch(quota, 'SMALL', small)
        known = reference.Reference(clusters.MODELS, limits.min_gain)
        plan = clusters.planned(planner, cluster, limits)
        after = clusters.applied(cluster, plan.moves)
        for which, when in ((cluster, 'before'), (after, 'after')):
            latency = known.latencies(which)
            self.assertEqual(set(latency), set(plan.latency_us))
            np.testing.assert_allclose(
                list(latency.values()),
                [getattr(plan.latency_us[name], when) for name in latency],
                rtol=1e-9)
            figures = state.Score.of(np.array(list(latency.values())))
            np.testing.assert_allclose(
                (figures.max_us, figures.mean_us, figures.variance_us2,
                 len(known.broken(which))),
                [getattr(change, when) for change in (
                    plan.max_us, plan.mean_us, plan.variance_us2,
                    plan.slo_misses)], rtol=1e-7, atol=1e-6)

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), LIMITS, strategies.booleans())
    def test_a_volume_is_refused_once_and_never_moved_too(
            self, planner, cluster, limits, every):
        plan = clusters.planned(planner, cluster, dataclasses.replace(
            limits, every_refusal=every))
        refused = [refusal.volume for refusal in plan.refused]
        self.assertEqual(len(set(refused)), len(refused))
        self.assertFalse({m.volume for m in plan.moves} & set(refused))
        idle = {v.id for v in cluster.volumes
                if v.workload and not v.workload.is_active()}
        self.assertFalse(idle & set(refused))
        self.assertTrue(all(refusal.reason for refusal in plan.refused))
        if every:
            self.assertEqual(
                {v.id for v in cluster.volumes} - idle
                - {m.volume for m in plan.moves}, set(refused))


class AgainstPlainPythonTestCase(testtools.TestCase):

    @EXAMPLES
    @given(clusters.clusters(), LIMITS)
    def test_the_moves_that_are_accepted_are_those(self, cluster, limits):
        known = reference.Reference(clusters.MODELS, limits.min_gain)
        state = _start(cluster, limits)
        found = outcomes.every(state, np.flatnonzero(state.problem.able))
        found = found[acceptance.accepted(state, found)]
        self.assertEqual(known.acceptable(cluster), {
            (state.problem.volumes[v].id, cluster.pools[t].name)
            for v, t in zip(found.volume, found.target)})

    @EXAMPLES
    @given(clusters.clusters())
    def test_an_outcome_is_what_the_move_makes_of_its_devices(self, cluster):
        known = reference.Reference(clusters.MODELS, 0.05)
        state = _start(cluster, Limits())
        found = outcomes.every(state, np.flatnonzero(state.problem.able))
        for v, t, *figures in zip(found.volume, found.target, found.before_us,
                                  found.left_us, found.came_us):
            np.testing.assert_allclose(known.pair(
                cluster, state.problem.volumes[v], cluster.pools[t].name),
                figures, rtol=1e-5, atol=1e-6)

    @EXAMPLES
    @given(clusters.clusters(), LIMITS)
    @example(clusters.of_seed(35618), Limits(min_gain=0.0))
    def test_one_move_of_a_small_cloud_is_the_best_that_is_accepted(
            self, cluster, limits):
        limits = dataclasses.replace(limits, max_moves=1)
        known = reference.Reference(clusters.MODELS, limits.min_gain)
        plan = clusters.planned(relieve, cluster, limits)
        if any(move.reason in (*KEEPS, *EASES) for move in plan.moves):
            return
        if not beam.steps(_start(cluster, limits), 1)[0]:
            return  # what gains less than beam.STEP rounds choose
        best = min((known.power_mean(reference.moved(
            cluster, cluster.volume(volume), to))
            for volume, to in known.acceptable(cluster)), default=None)
        if best is not None:
            np.testing.assert_allclose(known.power_mean(
                clusters.applied(cluster, plan.moves)), best, rtol=1e-8)

    @EXAMPLES
    @given(clusters.clusters(), LIMITS, SMALL, strategies.booleans())
    def test_slos_are_kept_again_as_far_as_moves_can(
            self, cluster, limits, small, easing):
        self.patch(quota, 'SMALL', small)
        known = reference.Reference(clusters.MODELS, limits.min_gain)
        state = _start(cluster, dataclasses.replace(limits, max_moves=None))
        made = slo_moves.steps(state, quota.Quota.of(state.problem), easing)
        then = made.state
        left = {state.problem.volumes[i].id for i in np.flatnonzero(then.able)}
        room = {pool.name: pool.free_gib for pool in cluster.pools}
        for (volume, target), reason in zip(made.steps, made.why, strict=True):
            one = cluster.volume(state.problem.volumes[volume].id)
            to = cluster.pools[target].name
            self.assertTrue(
                known.repairs(cluster, one, to) if reason in KEEPS
                else easing and known.eases(cluster, one, to))
            cluster = reference.moved(cluster, one, to)
            room[to] -= one.size_gib
        if made.quota.each:
            return  # rounds do not price every move
        late = {cluster.pool(cluster.volume(name).pool).device_key
                for name in known.broken(cluster)}
        self.assertEqual([], [
            (one.id, to.name) for one in cluster.volumes if one.id in left
            for to in known.targets(cluster, one)
            if one.size_gib <= room[to.name]
            and cluster.pool(one.pool).device_key in late
            and (known.repairs(cluster, one, to.name)
                 and known.worthy(cluster, one, to.name)
                 or easing and known.eases(cluster, one, to.name, -1e-7))])

    @EXAMPLES
    @given(clusters.clusters(), LIMITS, SMALL)
    def test_no_plan_leaves_more_broken_than_those_no_move_keeps_again(
            self, cluster, limits, small):
        self.patch(quota, 'SMALL', small)
        state = _start(cluster, limits)
        then = slo_moves.steps(state, quota.Quota.of(
            state.problem, relieve.MAX_MOVES), False).state
        plan = clusters.planned(relieve, cluster, limits)
        self.assertLessEqual(
            plan.slo_misses.after, len(violations.broken(then)))
