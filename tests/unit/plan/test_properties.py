# SPDX-License-Identifier: Apache-2.0
"""Properties of every plan, against a reference in plain Python."""

from __future__ import annotations

import hypothesis
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as hs
import numpy as np
import testtools

from serifos.plan import bfd
from serifos.plan import limits as lm
from serifos.plan import outcomes
from serifos.plan import problem as pm
from serifos.plan import reach
from serifos.plan import relieve
from serifos.plan import score
from serifos.plan import state as st
from tests.unit.plan import clusters
from tests.unit.plan import reference

PLANNERS = hs.sampled_from((bfd, relieve))
LIMITS = hs.builds(
    lm.Limits, hs.one_of(hs.sampled_from((0.0, 0.05)), hs.floats(0, 0.95)),
    hs.sampled_from((None, None, 1, 2)))
EXAMPLES = settings(max_examples=150, deadline=None)


def _start(cluster, limits):
    known = clusters.models_of(cluster)
    return st.State.of(pm.Problem.of(
        cluster, known.load, known.latency, limits))


class PlanTestCase(testtools.TestCase):

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), LIMITS)
    def test_every_move_is_acceptable_and_fits_at_its_turn(
            self, planner, cluster, limits):
        known = reference.Reference(clusters.MODELS, limits.min_gain)
        plan = clusters.planned(planner, cluster, limits)
        room = {pool.name: pool.free_gib for pool in cluster.pools}
        for move in plan.moves:
            volume = cluster.volume(move.volume)
            after = reference.moved(cluster, volume, move.target)
            room[move.target] -= volume.size_gib
            self.assertIn(move.target, [
                p.name for p in known.targets(cluster, volume)])
            self.assertGreaterEqual(room[move.target], 0)
            self.assertTrue(known.accepts(cluster, after))
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
    @given(PLANNERS, clusters.clusters(), LIMITS, hs.sampled_from((8, 4096)))
    def test_applied_and_planned_again_it_is_empty(
            self, planner, cluster, limits, cells):
        self.patch(outcomes, 'CELLS', cells)  # batches of one volume, or all
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
    @given(PLANNERS, clusters.clusters(), LIMITS)
    def test_the_figures_are_those_of_the_cluster_it_leads_to(
            self, planner, cluster, limits):
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
            figures = score.Score.of(np.array(list(latency.values())))
            np.testing.assert_allclose(
                (figures.max_us, figures.mean_us, figures.variance_us2,
                 score.slo_misses(which, latency)),
                [getattr(change, when) for change in (
                    plan.max_us, plan.mean_us, plan.variance_us2,
                    plan.slo_misses)], rtol=1e-7, atol=1e-6)

    @EXAMPLES
    @given(PLANNERS, clusters.clusters(), LIMITS)
    def test_a_volume_is_refused_once_and_never_moved_too(
            self, planner, cluster, limits):
        plan = clusters.planned(planner, cluster, limits)
        refused = [refusal.volume for refusal in plan.refused]
        self.assertEqual(len(set(refused)), len(refused))
        self.assertFalse({m.volume for m in plan.moves} & set(refused))
        idle = {v.id for v in cluster.volumes
                if v.workload and not v.workload.is_active()}
        self.assertFalse(idle & set(refused))
        self.assertTrue(all(refusal.reason for refusal in plan.refused))
        must = {v.id for v in cluster.volumes if v.workload is None}
        self.assertEqual(set(), must - set(refused))


class AgainstPlainPythonTestCase(testtools.TestCase):

    @EXAMPLES
    @given(clusters.clusters(), LIMITS)
    def test_no_acceptable_move_is_pruned(self, cluster, limits):
        known = reference.Reference(clusters.MODELS, limits.min_gain)
        state = _start(cluster, limits)
        found = reach.Reach(state).acceptable(
            state.problem.candidates)
        names = {(state.problem.volumes[v].id, cluster.pools[t].name)
                 for v, t in zip(found.volume, found.target)}
        self.assertEqual(set(), known.acceptable(cluster) - names)
        volumes = state.problem.candidates
        self.assertEqual(set(), {v for v, _ in names} - {
            state.problem.volumes[v].id
            for v in volumes[reach.Reach(state).promising(volumes)]})

    @EXAMPLES
    @given(clusters.clusters())
    def test_an_outcome_is_what_the_move_makes_of_the_cluster(self, cluster):
        known = reference.Reference(clusters.MODELS, 0.05)
        state = _start(cluster, lm.Limits())
        volumes = state.problem.candidates
        row, target = np.nonzero(outcomes.elsewhere(state, volumes))
        found = outcomes.outcomes(state, volumes[row], target)
        for v, t, worst, variance in zip(
                found.volume, found.target, found.worst_us,
                found.variance_us2):
            expected = known.objective(reference.moved(
                cluster, state.problem.volumes[v], cluster.pools[t].name))
            np.testing.assert_allclose(
                (worst, variance), expected, rtol=1e-8, atol=1e-6)

    @EXAMPLES
    @given(clusters.clusters(), LIMITS, hs.sampled_from((8, 4096)))
    def test_bfd_moves_what_algorithm_1_moves(self, cluster, limits, cells):
        self.patch(outcomes, 'CELLS', cells)
        steps = reference.Reference(
            clusters.MODELS, limits.min_gain).best_fit(cluster)
        # A volume's two hops may become one, with more room for the rest.
        hypothesis.assume(len(dict(steps)) == len(steps))
        plan = clusters.planned(bfd, cluster, lm.Limits(limits.min_gain))
        self.assertEqual(
            steps, [(move.volume, move.target) for move in plan.moves])

    @EXAMPLES
    @given(clusters.clusters(), LIMITS)
    def test_relieve_takes_the_best_move_off_the_slowest_pool(
            self, cluster, limits):
        known = reference.Reference(clusters.MODELS, limits.min_gain)
        plan = clusters.planned(
            relieve, cluster, lm.Limits(limits.min_gain, 1))
        best = known.relief(cluster)
        self.assertEqual(best is None, not plan.moves)
        if best is not None:
            np.testing.assert_allclose(
                known.objective(clusters.applied(cluster, plan.moves)),
                best, rtol=1e-8, atol=1e-6)
