# SPDX-License-Identifier: Apache-2.0
"""A build that chooses its runs ends by itself, and goes on as it was."""

import dataclasses

import numpy as np

from serifos.cmd.model import design_options
from serifos.design import alone
from serifos.design.design import Design
from serifos.design import sequential
from serifos.design import stopping
from serifos import errors
from serifos.files import documents
from serifos.lab.sim import device
from serifos.lab.sim import devices
from serifos.model import held_out
from serifos.modeler import adaptive
from serifos.modeler import campaign
from serifos.modeler import design_runs
from tests.unit import case
from tests.unit import samples

PLAN = sequential.Sequential()
HEADER = dataclasses.replace(samples.HEADER, device={
    **samples.HEADER.device, 'workload_gib': 1, 'ioengine': 'libaio'})


def error(made):
    """What 2 / runs would be, of a model that knows what was measured."""
    assert all(sample.latency_us > 0 for sample in made)
    return 2 / len(made)


class ChoosingTest(case.DirectoryCase):

    def build(self, name, stop_after=1000, of=error, plan=PLAN):
        """(the runs in the dataset, what is said of what was saved)."""
        calls = []

        def measure(workloads, runtime_s):
            calls.append(workloads)
            return device.SimulatedDevice(devices.CLIFF, np.random.default_rng(
                len(workloads)), 100).measure(workloads, 1.0)
        chooser = adaptive.Chooser(plan, stopping.Enough(), of)
        design = Design({1: len(plan.runs)}, lambda: plan.runs,
                        lambda count: 15.0)
        path = self.dir / f'{name}.jsonl'
        try:
            design_runs.run(design, path, HEADER, measure, campaign.Ports(
                lambda *step: None, lambda: len(calls) == stop_after),
                chooser.adaptive)
        except errors.Interrupted as exc:
            return documents.read_dataset(path).samples, str(exc)
        return documents.read_dataset(path).samples, chooser.saved(
            design, design_options.paper())

    def test_it_ends_by_itself_and_says_what_that_saved(self):
        made, said = self.build('x')
        self.assertEqual(44, len(made))
        self.assertEqual([sample.workloads for sample in made],
                         [*PLAN.runs[:44]])
        self.assertIn('44 runs are enough: the error of 4.5 % is below 5.0 %',
                      said)
        # 44 and 80 runs of 17 s, and 6,187 sets five times.
        self.assertIn('took 0.21 h, which saved 0.17 h of all 80 runs, and '
                      '279 h', said)

    def test_stopped_anywhere_it_makes_the_same_runs(self):
        whole, _ = self.build('whole')
        for at in (7, 43):
            _, said = self.build(f'x{at}', at)
            self.assertIn(f'{at} of 80 runs made', said)
            self.assertEqual(whole, self.build(f'x{at}')[0])

    def test_runs_of_reads_alone_come_first_wherever_it_was_stopped(self):
        plan = alone.AloneFirst(alone.runs(), PLAN)
        whole, said = self.build('whole', plan=plan)
        self.assertIn('of all 96 runs', said)
        self.assertEqual(plan.runs[:44], tuple(
            sample.workloads for sample in whole))
        for at in (9, 33):
            self.build(f'x{at}', at, plan=plan)
            self.assertEqual(whole, self.build(f'x{at}', plan=plan)[0])

    def test_a_build_of_another_kind_goes_on_with_them(self):
        made, _ = self.build('x')
        more, _ = self.build('x', plan=alone.AloneFirst(alone.runs(), PLAN))
        self.assertEqual(made, more[:44])
        self.assertEqual(alone.runs(), tuple(
            sample.workloads for sample in more[44:]))

    def test_what_is_enough_stays_enough(self):
        made, said = self.build('x')
        self.assertEqual((made, said), self.build('x', stop_after=0))

    def test_nothing_is_said_where_all_runs_were_made(self):
        made, said = self.build('x', of=lambda made: 0.9 - len(made) / 100)
        self.assertEqual((80, ''), (len(made), said))

    def test_the_error_is_that_of_runs_not_fitted_on(self):
        made, _ = self.build('x', stop_after=20)
        self.assertTrue(0.03 < adaptive.held_out_error(made) < 0.6)


class DecidingTest(case.DirectoryCase):
    """A device whose third run is wild: twelve times too fast."""

    def measure(self, workloads, runtime_s):
        self.calls += 1
        seen = device.SimulatedDevice(
            devices.SSD1, np.random.default_rng(0), 100).measure(
                workloads, 1.0)
        self.true[seen.key] = seen.latency_us
        return dataclasses.replace(seen, seen=(), latency_us=(
            seen.latency_us / (12 if self.calls == 3 else 1)))

    def predictions(self, data):
        """The richer kind is the better one but for wild measurements."""
        return {kind: held_out.HeldOut(y, np.empty(0)) for kind, y in (
            ('outstanding', 1.2 * data.y),
            ('tenant', np.array([1.1 * self.true[key]
                                 for key in data.keys])))}

    def build(self, runs=12, stop_after=1000, chooser=None):
        """How many runs were made now."""
        was = self.calls
        design = Design({1: runs}, lambda: PLAN.runs[:runs],
                        lambda count: 15.0)
        design_runs.run(
            design, self.dir / 'x.jsonl', HEADER, self.measure,
            campaign.Ports(lambda *step: None,
                           lambda: self.calls == stop_after),
            chooser and chooser.adaptive, again=adaptive.Deciding(
                design, self.said.append, self.predictions).again)
        return self.calls - was

    def setUp(self):
        super().setUp()
        self.calls, self.true, self.said = 0, {}, []

    def test_the_lone_pattern_that_decides_is_measured_twice_more(self):
        self.assertEqual(14, self.build())
        made = documents.read_dataset(self.dir / 'x.jsonl').samples
        self.assertEqual([made[2].key] * 2, [s.key for s in made[12:]])
        self.assertEqual(
            ['One run decides which kind of model is taken, '
             f'{made[2].words}: it is measured 2 more times.'], self.said)
        self.assertEqual(0, self.build())

    def test_stopped_between_the_two_it_makes_the_other(self):
        self.assertRaises(errors.Interrupted, self.build, stop_after=13)
        self.assertEqual(1, self.build())

    def test_it_is_no_run_that_a_build_chose(self):
        for made in 44 + 2, 0:
            self.assertEqual(made, self.build(80, chooser=adaptive.Chooser(
                PLAN, stopping.Enough(), error)))
