# SPDX-License-Identifier: Apache-2.0

import testtools

from serifos.model import common
from serifos.model import relative
from serifos.sim import moved
from serifos import workload as wl
from tests.unit.model import pairs


class MovedTest(testtools.TestCase):

    def devices(self, runs):
        return common.joined({
            'a': pairs.device('a', runs),
            'b': pairs.device('b', runs, lambda w: 3 * pairs.latency(w))})

    def test_nobody_has_to_learn_what_a_closed_loop_does(self):
        devices = self.devices([(wl.Workload(*w.pattern[:4]),)
                                for w, in pairs.runs()])
        closed, same, share, trees, latency = moved.errors(
            relative.relation(devices), moved.steps(devices))
        for error in (closed, share, trees, latency):
            self.assertAlmostEqual(0, error)
        self.assertAlmostEqual(2, same)  # three times what is left

    def test_those_who_think_are_no_closed_loop(self):
        devices = self.devices(pairs.runs(100))
        closed, same, share, *_ = moved.errors(
            relative.relation(devices), moved.steps(devices))
        self.assertLess(share, closed)
        self.assertLess(share, same)
