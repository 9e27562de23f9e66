# SPDX-License-Identifier: Apache-2.0

import math

import ddt
import testtools

from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.lab.compare import compare

READS, WRITES, BOTH = (Workload(float(w), 4.0) for w in (0, 100, 50))


def sample(workloads, read_us=None, write_us=None, number=1):
    seen = {'read_latency_us': read_us, 'write_latency_us': write_us}
    known = [us for us in seen.values() if us]
    return Sample(tuple(workloads), sum(known) / len(known) or 100.0,
                  round=number, seen=(seen,) * len(workloads))


def of(samples):
    return {one.figure: one for one in compare.spreads(samples)}


@ddt.ddt
class RepeatsTest(testtools.TestCase):

    @ddt.data(
        ((90, 100, 110), 10 / math.sqrt(3) / 100),
        ((1, 2, 3, 4, 5), math.sqrt(2.5) / math.sqrt(5) / 3),
        ((99, 101), math.sqrt(2) / math.sqrt(2) / 100),
        ((7, 7, 7), 0))
    @ddt.unpack
    def test_the_error_by_hand(self, values, error):
        self.assertAlmostEqual(
            error, compare.relative_standard_error(values))

    def test_reads_and_writes_apart(self):
        found = of([sample([BOTH], 90, 500, 1), sample([BOTH], 100, 500, 2),
                    sample([BOTH], 110, 500, 3)])
        self.assertEqual([*compare.FIGURES], [*found])
        self.assertAlmostEqual(0.057735, found['read_latency_us'].mean, 6)
        self.assertEqual(0, found['write_latency_us'].mean)
        self.assertAlmostEqual(
            5 / math.sqrt(3) / 300, found['latency_us'].mean)
        self.assertEqual(3, found['latency_us'].runs)

    def test_mean_median_and_percentile_of_the_configurations(self):
        # Two runs of 100 - e and 100 + e have an error of e percent.
        samples = [sample([Workload(0.0, float(e))], 100 + sign * e)
                   for e in range(1, 12) for sign in (-1, 1)]
        found = of(samples)['read_latency_us']
        self.assertEqual((11, 22), (len(found.repeated), found.runs))
        self.assertAlmostEqual(0.06, found.mean)
        self.assertAlmostEqual(0.06, found.median)
        self.assertAlmostEqual(0.10, found.p90)
        self.assertEqual('0:11:8:100', found.repeated[0].words)

    def test_one_configuration_is_its_own_percentile(self):
        found = of([sample([READS], 99), sample([READS], 101)])
        self.assertAlmostEqual(0.01, found['read_latency_us'].p90)
        self.assertNotIn('write_latency_us', found)

    def test_the_order_of_the_workloads_and_the_round_do_not_matter(self):
        found = of([sample([READS, WRITES], 99, 50, 1),
                    sample([WRITES, READS], 101, 50, 1)])
        self.assertAlmostEqual(0.01, found['read_latency_us'].mean)

    def test_what_was_measured_once_is_left_out(self):
        found = of([sample([READS], 100), sample([READS], 100),
                    sample([WRITES], None, 100), sample([BOTH], 100, 100)])
        self.assertEqual(1, len(found['latency_us'].repeated))
        self.assertEqual(2, found['latency_us'].runs)

    def test_think_times_are_other_configurations(self):
        self.assertEqual({}, of([
            sample([READS], 100),
            sample([Workload(0.0, 4.0, think_time_us=500.0)], 100)]))

    def test_a_round_that_has_no_such_figure_is_left_out(self):
        found = of([sample([BOTH], 99, 50), sample([BOTH], 101, 50),
                    sample([BOTH], None, 50)])
        self.assertEqual(2, found['read_latency_us'].runs)
        self.assertEqual(3, found['write_latency_us'].runs)
