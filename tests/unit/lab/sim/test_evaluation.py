# SPDX-License-Identifier: Apache-2.0
"""The paper's figures, on cases small enough to compute by hand."""

import testtools

from serifos.lab.sim import evaluation
from serifos.lab.sim import scenario


def outcome(hosts_us, workloads_us=(), moves=0, moved_gib=0.0):
    return scenario.PlannerResult(
        'p', 'k', moves, moved_gib,
        tuple(scenario.Seen(us, 2 * us, 3 * us) for us in hosts_us),
        tuple(scenario.Seen(us, 2 * us, 3 * us) for us in workloads_us))


class SummaryTest(testtools.TestCase):
    before = [outcome([10, 0], range(101)), outcome([4, 2], [0])]
    after = [outcome([6, 4], range(51), 2, 90.0), outcome([4, 2], [0])]

    def test_figures(self):
        found = evaluation.figures(self.before)
        self.assertEqual((25 + 1) / 2, found['variance_us2'])
        self.assertEqual(10, found['max_us'])
        self.assertEqual(7, found['mean_max_us'])
        self.assertEqual(4, found['mean_us'])
        self.assertEqual(4 * 13, found['p99_read_variance_us2'])
        self.assertEqual(9 * 13, found['p99_write_variance_us2'])
        self.assertAlmostEqual(98.99, found['slo_us'])
        self.assertAlmostEqual(2 * 98.99, found['slo_read_us'])
        self.assertAlmostEqual(3 * 98.99, found['slo_write_us'])

    def test_reductions_are_fractions(self):
        found = evaluation.reductions(self.before, self.after)
        self.assertAlmostEqual(1 - 1 / 13, found['variance_us2'])
        self.assertAlmostEqual(0.4, found['max_us'])
        self.assertAlmostEqual(0.0, found['mean_us'])

    def test_worse_is_a_worse_host_or_a_greater_variance(self):
        def worse(before, after):
            return evaluation.worse([outcome(before)], [outcome(after)])
        self.assertEqual(0, worse([10, 2], [10.02, 2]))
        self.assertEqual(1, worse([10, 8], [10.2, 8.2]))
        self.assertEqual(1, worse([10, 8], [10, 5]))
        self.assertEqual(0, evaluation.worse(self.before, self.after))

    def test_the_price(self):
        self.assertEqual(1, evaluation.mean_moves(self.after))
        self.assertEqual(45, evaluation.mean_moved_gib(self.after))
