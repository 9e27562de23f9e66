# SPDX-License-Identifier: Apache-2.0
"""What volumes did, by a source that only tells the means of a window."""

import numpy as np
import testtools

from serifos.balancer import recorder
from serifos.facts import activity
from serifos.facts.workload import Workload
from tests.unit.telemetry import readings

AT = 1_800_000_630


class MeansTest(testtools.TestCase):

    def read(self, volumes, begin, end, step_s=60):
        return recorder.Means(activity.Observed(AT, volumes, {}, {}, {})).read(
            [readings.place(name) for name in 'ab'], begin, end, step_s)

    def test_a_mean_holds_for_each_second_of_its_window(self):
        one = activity.Activity(
            Workload(25, 8, iops=1000, latency_us=2000), 300, 20, 0, 0)
        found = self.read({'a': one}, AT - 390, AT)
        self.assertEqual([0, 30] + [60] * 4 + [30],
                         found.seconds[:, 0].tolist())
        self.assertEqual(0, found.seconds[:, 1].sum())
        for name, value in (('read_iops', 750), ('write_iops', 250),
                            ('block_kib', 8), ('read_kib_s', 6000),
                            ('latency_us', 2000), ('outstanding', 2)):
            np.testing.assert_allclose(
                value, getattr(found, name)[1:, 0], rtol=1e-6)

    def test_only_what_is_asked_for(self):
        one = activity.Activity(Workload(
            0, 0, iodepth=0, iops=0, latency_us=0), 600, 20, 600, 600)
        found = self.read({'a': one, 'b': one}, AT - 30, AT + 60, 3600)
        self.assertEqual([[30, 30]], found.seconds.tolist())
        np.testing.assert_array_equal([[0, 0]], found.outstanding)
