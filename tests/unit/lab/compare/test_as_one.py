# SPDX-License-Identifier: Apache-2.0

import testtools

from serifos import errors
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.lab.compare import as_one


def run(*seen, **others):
    return Sample(
        tuple(Workload(25.0, 16.0, float(2 + i))
              for i in range(len(seen))), 100.0, seen=seen, **others)


class AsOneTest(testtools.TestCase):

    def test_rates_are_summed_and_latencies_are_of_all_requests(self):
        found = as_one.as_one(run(
            {'iops': 400.0, 'read_iops': 300.0, 'write_iops': 100.0,
             'latency_us': 200.0, 'read_latency_us': 100.0,
             'write_latency_us': 500.0, 'read_p99_us': 900.0},
            {'iops': 200.0, 'read_iops': 100.0, 'write_iops': 100.0,
             'latency_us': 500.0, 'read_latency_us': 300.0,
             'write_latency_us': 700.0, 'read_p99_us': 900.0}))
        self.assertEqual((Workload(25.0, 16.0, 5.0),), found.workloads)
        self.assertEqual({
            'iops': 600.0, 'read_iops': 400.0, 'write_iops': 200.0,
            'latency_us': 300.0, 'read_latency_us': 150.0,
            'write_latency_us': 600.0}, found.seen[0])
        self.assertEqual(300.0, found.latency_us)
        self.assertEqual(400.0, found.figure('read_iops'))

    def test_what_no_workload_has_is_left_out(self):
        found = as_one.as_one(run(
            *[{'latency_us': 100.0, 'read_latency_us': None,
               'read_iops': 0.0, 'write_iops': 50.0}] * 2))
        self.assertEqual({'read_iops': 0.0, 'write_iops': 100.0,
                          'latency_us': 100.0}, found.seen[0])

    def test_without_rates_each_volume_counts_once(self):
        found = as_one.as_one(run({'latency_us': 100.0},
                                  {'latency_us': 300.0}))
        self.assertEqual(200.0, found.latency_us)

    def test_a_run_of_one_stays_as_it_is(self):
        one = run({'iops': 400.0, 'latency_us': 100.0})
        self.assertEqual(one, as_one.as_one(one))

    def test_nothing_but_the_latency_of_the_run(self):
        found = as_one.as_one(run({}, {}, round=2))
        self.assertEqual((100.0, 2), (found.latency_us, found.round))

    def test_unlike_workloads_are_refused(self):
        for other in (Workload(75.0, 16.0), Workload(25.0, 4.0),
                      Workload(25.0, 16.0, think_time_us=10.0)):
            with testtools.ExpectedException(
                    errors.InputError, '.*is not one workload on several'):
                as_one.as_one(Sample(
                    (Workload(25.0, 16.0), other), 100.0))
