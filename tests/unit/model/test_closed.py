# SPDX-License-Identifier: Apache-2.0

import dataclasses

import hypothesis
from hypothesis import strategies
import testtools

from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model import closed
from serifos.model.model import Model
from tests.unit import samples

_MODEL = Model('m', 'outstanding', {'intercept_us': 90.0, 'sum_q_r': 6.0},
               {'iodepth': (1.0, 32.0), 'count': (1, 10)}, {})
_QUIET = dataclasses.replace(_MODEL, range={'iodepth': (0.25, 32.0)})
_READS = Workload(0, 8)


def _of(depth):
    return dataclasses.replace(_READS, iodepth=depth)


class TogetherTest(testtools.TestCase):

    def test_less_than_a_request_is_a_lone_one(self):
        for depths in ((1.0,), (0.3,), (1e-9,), (5e-324,), (0.2, 0.1)):
            load = closed.together(_MODEL, [_of(each) for each in depths])
            self.assertEqual(len(depths), load.count)
            self.assertAlmostEqual(96, _MODEL.predict(load), places=6)

    def test_it_is_what_was_measured_where_that_was_less(self):
        for depth, latency in ((1.0, 96), (0.5, 93), (0.25, 91.5),
                               (0.01, 91.5)):
            load = closed.together(_QUIET, [_of(depth)])
            self.assertAlmostEqual(latency, _QUIET.predict(load), places=6)

    def test_a_model_that_states_no_range(self):
        model = dataclasses.replace(_MODEL, range={})
        self.assertAlmostEqual(96, model.predict(
            closed.together(model, [_of(0.01)])), places=6)

    def test_it_is_outside_of_the_range_all_the_same(self):
        load = closed.together(_MODEL, [_of(0.5), _of(4.0)])
        self.assertEqual(1, load.outside)

    def test_who_never_asks_is_not_there(self):
        self.assertEqual(Load(), closed.together(_MODEL, [_of(0.0)]))
        self.assertEqual(1, closed.together(
            _MODEL, [_of(0.0), _of(8.0)]).count)

    @hypothesis.given(strategies.lists(samples.workloads(), min_size=1,
                                       max_size=4))
    def test_busy_ones_are_what_they_are(self, run):
        for ours, theirs in zip(closed.together(_MODEL, run).vector,
                                _MODEL.load(run).vector):
            self.assertAlmostEqual(ours, theirs, delta=1e-6 * (1 + theirs))


class SettledTest(testtools.TestCase):

    def test_the_law_holds_however_long_one_thinks(self):
        for think in (0.0, 50.0, 500.0, 5e4, 5e6):
            asked = dataclasses.replace(_of(4.0), think_time_us=think)
            now, = closed.settled(_MODEL, [asked])
            seen = _MODEL.predict(closed.together(_MODEL, [now]))
            self.assertAlmostEqual(
                4 * seen / (seen + think), now.iodepth, places=4)
            self.assertGreaterEqual(seen, 96 - 1e-6)
