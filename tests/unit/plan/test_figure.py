# SPDX-License-Identifier: Apache-2.0

from hypothesis import given
from hypothesis import settings
import numpy as np
import testtools

from serifos.facts.cluster import Cluster
from serifos.facts.workload import Workload
from serifos.plan import evacuate
from serifos.plan.problem import Problem
from serifos.plan.state import State
from serifos.scheduler import predict
from tests.fakes.settings import Limits
from tests.unit.plan import clusters
from tests.unit.plan.clusters import pool
from tests.unit.plan.clusters import volume
from tests.unit.scheduler import files

LARGE, SMALL = Workload(0, 256), Workload(0, 4)
MIDDLE = Workload(0, 64)


class FigureTestCase(testtools.TestCase):

    def start(self, model):
        """u with large requests on a, v with small ones on b, and none."""
        cluster = Cluster(
            tuple(pool(name, model) for name in 'abc'),
            (volume('u', 'a', workload=LARGE),
             volume('v', 'b', workload=SMALL)))
        return State.of(Problem.of(
            cluster, clusters.models_of(cluster), Limits()))

    def test_a_small_tenant_dilutes_it_less_than_the_mean(self):
        first = self.start('apart')
        then = first.moved(1, 0)
        self.assertLess(then.latency_us[0], 0.6 * first.latency_us[0])
        self.assertGreater(then.figure_us[0], 0.7 * first.figure_us[0])

    def test_it_is_the_root_mean_square_over_its_own_tenants(self):
        state, model = self.start('apart'), clusters.MODELS['apart']
        then, load = state.moved(1, 0), model.load([LARGE, SMALL])
        seen = [model.tenant(load, each).latency_us
                for each in (LARGE, SMALL)]
        self.assertAlmostEqual(
            1, then.figure_us[0] / np.sqrt(np.mean(np.square(seen))), 5)
        self.assertEqual([0, 0], then.figure_us[1:].tolist())

    def test_it_is_the_latency_where_a_model_tells_no_tenants_apart(self):
        state = self.start('deep')
        self.assertEqual(state.latency_us.tolist(), state.figure_us.tolist())

    def test_a_pool_that_small_tenants_dilute_attracts_no_volume(self):
        cluster = Cluster(
            tuple(pool(name, 'apart') for name in 'abc'),
            (volume('u', 'a', workload=SMALL),
             volume('v', 'b', workload=LARGE),
             *(volume(f's{i}', 'b', workload=SMALL) for i in range(5)),
             *(volume(f'm{i}', 'c', workload=MIDDLE) for i in range(4))))
        plan = evacuate.plan(cluster, clusters.models_of(cluster),
                             Limits(), 'a')
        self.assertEqual('c', plan.moves[0].target)
        self.assertLess(plan.latency_us['b'].before,
                        plan.latency_us['c'].before)

    @settings(max_examples=100, deadline=None)
    @given(clusters.clusters())
    def test_the_scheduler_and_planners_see_the_same(self, cluster):
        problem = Problem.of(
            cluster, clusters.models_of(cluster), Limits())
        state = State.of(problem)
        view = files.view(cluster.pools, cluster.volumes, **clusters.MODELS)
        for i, one in enumerate(cluster.pools):
            place = view.place(one.name, one.model)
            if place is None or place.model not in view.models or any(
                    mate.state != 'up' for mate in cluster.pools
                    if mate.device_key == one.device_key):
                continue
            load = view.load(place)
            figure, = predict.seen_us(
                view.models[place.model], load, view.everyone, ())
            its = problem.device[i]
            np.testing.assert_allclose(
                load.vector[:-1], state.loads[its, 0, :len(load.vector) - 1],
                rtol=1e-6, atol=1e-6)
            seen, = problem.models.tenants(
                np.array([i]), state.loads[[its]], np.array([0]),
                problem.tenants[None])
            self.assertAlmostEqual(figure, seen, 4)
