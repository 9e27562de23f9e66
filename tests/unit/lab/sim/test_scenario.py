# SPDX-License-Identifier: Apache-2.0
"""Cases are the paper's, and planners are judged by what devices do."""

import collections

import ddt
import testtools

from serifos.design import random_tests
from serifos.lab.sim import devices
from serifos.lab.sim import evaluation
from serifos.lab.sim import paper
from serifos.lab.sim import scenario
from serifos.model.model import Model
from tests.unit import samples

TABLE_6 = {
    device: Model(
        device, 'consolidation', {
            label: dict(zip(('intercept_us', 'sum_write_pct',
                             'sum_block_kib'), row))
            for label, row in rows.items()}, {}, {})
    for device, rows in paper.CONSOLIDATION.items()}


def model(us_per_kib):
    return Model('m', 'outstanding', {
        'sum_q_s_r': us_per_kib, 'sum_q_s_w': us_per_kib}, {}, {})


def case(number=0, models=TABLE_6, seed=5):
    return scenario.Case(devices.TESTBEDS['paper'], number, seed,
                         {'given': models}, ios=500)


@ddt.ddt
class ScenarioTest(testtools.TestCase):

    def test_cases_are_drawn_from_the_papers_vectors(self):
        counts, seen = set(), collections.defaultdict(set)
        for number in range(40):
            cluster = scenario.placed(case(number)).cluster
            counts.add(len(cluster.volumes))
            self.assertTrue(all(p.free_gib >= 0 for p in cluster.pools))
            for volume in cluster.volumes:
                seen['sizes'].add(volume.size_gib)
                seen['writes'].add(volume.workload.write_pct)
                seen['blocks'].add(volume.workload.block_kib)
        self.assertEqual(set(range(10, 17)), counts)
        self.assertEqual({'sizes': set(paper.SIZES_GIB),
                          'writes': set(random_tests.PAPER.write_pcts),
                          'blocks': set(random_tests.PAPER.block_kibs)},
                         seen)

    def test_volumes_beside_serial_threads_have_different_depths(self):
        cluster = scenario.placed(scenario.Case(
            devices.TESTBEDS['serial'], 0, 5, {}, ios=500)).cluster
        depths = {v.workload.iodepth for v in cluster.volumes}
        self.assertGreater(len(depths), 2)
        self.assertLessEqual(depths, {1, 2, 4, 8, 16, 32})

    def test_the_first_volumes_go_where_space_is(self):
        cluster = scenario.placed(case()).cluster
        self.assertEqual(
            {'SSD1'}, {cluster.pool(v.pool).model
                       for v in cluster.volumes[:3]})

    def test_placement_puts_each_volume_where_it_is_predicted_to_be_least(
            self):
        models = {'SSD1': model(1.0), 'SSD2': model(1000.0)}
        first, placed = (outcome for outcome in scenario.run(
            case(models=models)) if outcome.planner in (
                scenario.CAPACITY, scenario.PLACEMENT))
        self.assertEqual((0, 'given'), (placed.moves, placed.kind))
        self.assertEqual(len(first.workloads), len(placed.workloads))
        # Any of the first kind of host is better than one of the other.
        self.assertEqual([True] * 3 + [False] * 2, [
            host.latency_us > 0 for host in placed.hosts])

    def test_models_that_tell_tenants_apart_are_tried_by_mean_too(self):
        apart = {ssd: Model(ssd, 'tenant', samples.APART, {}, {})
                 for ssd in TABLE_6}
        for models, tried in (TABLE_6, False), (apart, True):
            planners = [outcome.planner for outcome
                        in scenario.run(case(models=models))]
            self.assertEqual(tried, scenario.BY_MEAN in planners)
            self.assertIn('relieve', planners)

    def test_a_case_is_the_same_each_time(self):
        self.assertEqual(scenario.run(case(3)), scenario.run(case(3)))

    def test_every_planner_is_measured_beside_the_baseline(self):
        outcomes = scenario.run(case())
        self.assertEqual(
            [('capacity', ''), ('placement', 'given'),
             ('algorithm1', 'given'), ('bfd', 'given'),
             ('relieve', 'given')], [(o.planner, o.kind) for o in outcomes])
        self.assertEqual((0, 0), (outcomes[0].moves, outcomes[0].moved_gib))
        for outcome in outcomes:
            self.assertEqual(5, len(outcome.hosts))
            self.assertEqual(len(outcomes[0].workloads),
                             len(outcome.workloads))
            self.assertTrue(30 * outcome.moves <= outcome.moved_gib
                            <= 120 * outcome.moves)
        self.assertLessEqual(outcomes[4].moves, 4)

    def test_table_6_itself_balances_the_fitted_devices(self):
        cases = [scenario.run(case(number)) for number in range(8)]
        for i in (1, 2, 3, 4):
            fell = evaluation.reductions([c[0] for c in cases],
                                         [c[i] for c in cases])
            self.assertGreater(fell['variance_us2'], 0.6)
            self.assertGreater(fell['mean_max_us'], 0.2)

    def test_wrong_models_are_found_out(self):
        wrong = {'SSD1': model(1.0), 'SSD2': model(50.0)}
        cases = [scenario.run(case(number, wrong)) for number in range(8)]
        self.assertGreater(evaluation.worse([c[0] for c in cases],
                                            [c[2] for c in cases]), 4)
