# SPDX-License-Identifier: Apache-2.0

import ddt
import numpy as np
import testtools

from serifos.facts.workload import Workload
from serifos.lab.calibrate import calibrate
from serifos.lab.calibrate import grouped
from serifos.model.queueing import predict as queueing
from tests.unit.lab.calibrate import test_scenarios
from tests.unit import samples


@ddt.ddt
class GroupsTest(testtools.TestCase):

    @ddt.data(
        ([8, 4, 8, 16], [[1], [0, 2], [3]]),
        ([5], [[0]]),
        ([*range(10)], [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]),
        # Runs of one value stay together, and no group is empty.
        ([1, 2, 3, *[4] * 20, 5, 6], [[*range(23)], [23, 24]]))
    @ddt.unpack
    def test_each_run_is_in_one_group(self, x, expected):
        self.assertEqual(expected, [its.tolist() for its in grouped.groups(
            np.array(x, float))])


class RowsTest(testtools.TestCase):

    def test_the_group_that_is_off_is_the_one_that_says_so(self):
        truth = queueing.from_parameters('queueing', test_scenarios.TRUTH)
        runs = [[Workload(w, kib, q), Workload(w, kib, q)]
                for w in (0, 100) for kib in (4, 16, 64) for q in (1, 8, 32)]
        data = calibrate.runs([samples.dataset(runs, lambda run: (
            truth.predict(samples.load(run))
            / (2 if run[0].block_kib == 16 else 1)))])
        rows = grouped.rows(data, test_scenarios.TRUTH)
        self.assertEqual(
            [(grouped.CLIENTS, reach, 6) for reach in ('2', '16', '64')]
            + [(grouped.SIZES, reach, 6)
               for reach in ('4 KiB', '16 KiB', '64 KiB')],
            [(row.name, row.reach, row.runs) for row in rows])
        for row, error in zip(rows, [1 / 3] * 3 + [0.0, 1.0, 0.0]):
            self.assertEqual({'random_read', 'random_write'}, set(row.mre))
            for value in row.mre.values():
                self.assertAlmostEqual(error, value)

    def test_a_request_is_as_large_as_those_outstanding_in_the_mean(self):
        data = calibrate.runs([test_scenarios.measured([
            [Workload(25, 4, 3 * n), Workload(50, 64, n)]
            for n in range(1, 7)])])
        np.testing.assert_allclose(data.request_kib, 19)

    def test_requests_of_one_size_are_one_group(self):
        data = calibrate.runs([test_scenarios.measured([
            [Workload(30, 4, q)] for q in np.arange(1, 9) / 7])])
        self.assertEqual([4.0], np.unique(data.request_kib).tolist())
