# SPDX-License-Identifier: Apache-2.0
"""No plan breaks an affinity that held before."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import itertools
import random

from hypothesis import assume
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts import refusals
from serifos.plan import affinity
from serifos.plan import bfd
from serifos.plan import evacuate
from serifos.plan import quota
from serifos.plan import relieve
from serifos.plan import undo
from tests.fakes.settings import Limits
from tests.unit.plan import clusters

LIMITS = strategies.builds(
    Limits, min_gain=strategies.sampled_from((0.0, 0.1)),
    max_moves=strategies.sampled_from((None, None, 1, 2)),
    every_refusal=strategies.just(True),
    max_fill=strategies.sampled_from((1.0, 0.9)),
    horizon_s=strategies.sampled_from((None, 600.0)),
    capacity_horizon_s=strategies.sampled_from((None, 864000.0)))
SMALL = strategies.sampled_from((0, 20))
EXAMPLES = settings(max_examples=30, deadline=None)


class Paper:
    """Best fit decreasing as printed."""

    @staticmethod
    def plan(*args, **more):
        return bfd.plan(*args, paper=True, **more)


PLANNERS = strategies.sampled_from((bfd, relieve, relieve, Paper))


def bound(seed: int) -> Cluster:
    """A random cluster, in which volumes have labels in common."""
    rng = random.Random(seed)
    cluster = clusters.of_seed(seed)

    def some(words: str) -> tuple[str, ...]:
        return tuple(word for word in words if rng.random() < 0.25)

    return dataclasses.replace(
        cluster, pools=tuple(dataclasses.replace(
            pool, growth_gib_day=rng.choice((None, None, 50.0)))
            for pool in cluster.pools),
        volumes=tuple(dataclasses.replace(
            volume, same_pool=some('ab'), different_pool=some('cd'))
            for volume in cluster.volumes))


BOUND = strategies.integers(0, 1 << 32).map(bound)


def together(cluster: Cluster) -> Iterator[frozenset[str]]:
    """The pairs that are to share a pool and do, label by label."""
    for one, other in itertools.combinations(cluster.volumes, 2):
        if {*one.same_pool} & {*other.same_pool} and one.pool == other.pool:
            yield frozenset((one.id, other.id))


def apart(cluster: Cluster) -> Iterator[frozenset[str]]:
    """The pairs that are to be on different devices and are."""
    device = {pool.name: pool.device_key for pool in cluster.pools}
    for one, other in itertools.combinations(cluster.volumes, 2):
        if {*one.different_pool} & {*other.different_pool} and (
                device.get(one.pool) != device.get(other.pool)):
            yield frozenset((one.id, other.id))


def meeting(cluster: Cluster) -> Iterator[tuple[frozenset[str], str]]:
    """The pairs that are to be on different devices, and which they share."""
    device = {pool.name: pool.device_key for pool in cluster.pools}
    for one, other in itertools.combinations(cluster.volumes, 2):
        if {*one.different_pool} & {*other.different_pool} and (
                device.get(one.pool) == device.get(other.pool)):
            yield frozenset((one.id, other.id)), device.get(one.pool, '')


def spread(cluster: Cluster, label: str) -> int:
    return len({v.pool for v in cluster.volumes if label in v.same_pool})


class PlansTest(testtools.TestCase):

    def _keeps(self, cluster, plan):
        then = cluster
        for move in plan.moves:
            then = clusters.applied(then, [move])
            self.assertLessEqual({*apart(cluster)}, {*apart(then)})
            self.assertLessEqual({*meeting(then)}, {*meeting(cluster)})
        self.assertLessEqual({*together(cluster)}, {*together(then)})
        for label in 'ab':
            self.assertLessEqual(spread(then, label), spread(cluster, label))
        for refusal in plan.refused:
            if refusal.reason != 'not movable':
                self.assertIn(refusal.code, set(refusals.Code))

    @EXAMPLES
    @given(PLANNERS, BOUND, LIMITS, SMALL)
    def test_no_plan_breaks_what_held(self, planner, cluster, limits, small):
        self.patch(quota, 'SMALL', small)
        self._keeps(cluster, clusters.planned(planner, cluster, limits))

    @EXAMPLES
    @given(BOUND, LIMITS, strategies.randoms())
    def test_no_evacuation_does(self, cluster, limits, rng):
        pool = rng.choice(cluster.pools)
        assume(pool.state != 'down')
        plan = evacuate.plan(cluster, clusters.models_of(cluster), limits,
                             pool.name)
        self._keeps(cluster, plan)
        self.assertEqual(
            sorted(v.id for v in cluster.volumes if v.pool == pool.name),
            sorted([move.volume for move in plan.moves]
                   + [refusal.volume for refusal in plan.refused]))

    @EXAMPLES
    @given(PLANNERS, BOUND, LIMITS)
    def test_no_undo_does(self, planner, cluster, limits):
        moves = clusters.planned(planner, cluster, limits).moves
        then = clusters.applied(cluster, moves)
        self._keeps(then, undo.plan(
            then, clusters.models_of(then), limits,
            [undo.Made(m.volume, m.source, m.target) for m in moves]))

    @EXAMPLES
    @given(PLANNERS, strategies.integers(0, 1 << 32))
    def test_nothing_that_is_left_of_a_plan_brings_foes_together(
            self, planner, seed):
        """Their labels may have come after the plan."""
        limits, then = Limits(min_gain=0.0), bound(seed)
        moves = clusters.planned(planner, dataclasses.replace(
            then, volumes=tuple(dataclasses.replace(
                volume, same_pool=(), different_pool=())
                for volume in then.volumes)), limits).moves
        broken = affinity.against(then, moves)
        while more := affinity.against(then, [
                move for move in moves if move.volume not in broken]):
            broken |= more
        before = {*meeting(then)}
        for move in moves:
            if move.volume not in broken:
                then = clusters.applied(then, [move])
                self.assertLessEqual({*meeting(then)}, before)

    @EXAMPLES
    @given(strategies.sampled_from((bfd, relieve)), BOUND, LIMITS, SMALL)
    def test_planning_again_ends(self, planner, cluster, limits, small):
        self.patch(quota, 'SMALL', small)
        plan = clusters.planned(planner, cluster, limits)
        for _ in range(60):
            cluster = clusters.applied(cluster, plan.moves)
            plan, before = clusters.planned(planner, cluster, limits), plan
            self.assertEqual(bool(plan.moves), before.truncated)
            if not plan.moves:
                return
        self.fail('planning does not come to an end')
