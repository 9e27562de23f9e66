# SPDX-License-Identifier: Apache-2.0

import testtools

from serifos.design import optimal
from serifos.model import model as mm
from serifos.sim import networks
from tests.unit import samples


class NetworksTest(testtools.TestCase):

    def test_runs_of_any_depth_are_within_the_short_design(self):
        runs, space = networks.any_depth(50, 3), optimal.WIDE
        self.assertEqual(runs, networks.any_depth(50, 3))
        self.assertEqual(set(space.iodepths),
                         {w.iodepth for run in runs for w in run})
        self.assertLessEqual(max(map(len, runs)), max(space.counts))

    def test_the_error_is_relative(self):
        model = mm.Model('m', 'queueing', {'stations': {'cache': {
            'random_read': {'us': 110.0}}}}, {}, {})
        dataset = samples.dataset(networks.any_depth(5, 0), lambda run: 100)
        self.assertAlmostEqual(0.1, networks.error(model, dataset.samples))
