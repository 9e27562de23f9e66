# SPDX-License-Identifier: Apache-2.0

import dataclasses

from serifos.bench import fio_result
from serifos.design import design
from serifos import errors
from serifos.facts.dataset import Condition
from serifos.facts.dataset import key
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.modeler import campaign
from serifos.modeler import design_runs
from tests.unit import case
from tests.unit import samples

RUNS = tuple((Workload(25, block),) for block in (4, 8, 16, 32, 64))
DESIGN = design.Design({1: 5}, lambda: RUNS, lambda count: 15.0,
                       rounds=2, valid_round=2)
HEADER = dataclasses.replace(
    samples.HEADER, valid_round=2,
    device={**samples.HEADER.device, 'workload_gib': 1, 'ioengine': 'libaio'})


class Device:
    """Measures block_kib in µs, and fails when it is told to."""

    def __init__(self, fail=lambda run, calls: False):
        self.calls, self.fail, self.now = [], fail, 0.0

    def measure(self, workloads, runtime_s):
        self.calls.append(workloads)
        self.now += runtime_s + 2
        if self.fail(workloads, len(self.calls)):
            raise fio_result.FioError('fio failed: no luck')
        return Sample(tuple(workloads), workloads[0].block_kib)


class Case(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.path = self.dir / 'x.jsonl'
        self.steps = []

    def show(self, *step):
        self.steps.append(step)

    def made(self):
        return [(s.key, s.round) for s
                in documents.read_dataset(self.path).samples]


class CampaignTest(Case):

    def run_on(self, device, stop=lambda: False, header=HEADER):
        return design_runs.run(
            DESIGN, self.path, header, device.measure, campaign.Ports(
                self.show, stop, lambda: device.now))

    def assert_all_made_once(self):
        wanted = [(key(run), number) for number in (1, 2)
                  for run in RUNS]
        self.assertEqual(sorted(wanted), sorted(self.made()))

    def test_every_run_of_every_round(self):
        self.assertEqual(0, self.run_on(Device()))
        self.assert_all_made_once()
        self.assertEqual(('measure', 10, 10, 0), self.steps[-1])
        # Nine runs are left, each of 15 s and the 2 s seen beside it.
        self.assertEqual(('measure', 1, 10, 9 * 17), self.steps[0])

    def test_nothing_is_made_twice(self):
        self.run_on(Device())
        again = Device()
        self.run_on(again)
        self.assertEqual([], again.calls)

    def test_ctrl_c_finishes_the_run_in_hand_and_resumes(self):
        first = Device()
        stopped = self.assertRaises(
            errors.Interrupted, self.run_on, first,
            lambda: len(first.calls) == 4)
        self.assertIn('4 of 10', str(stopped))
        self.assertIn('resumes', str(stopped))
        self.assertEqual(130, stopped.exit_code)
        self.assertEqual(4, len(self.made()))
        self.run_on(Device())
        self.assert_all_made_once()

    def test_a_cut_last_line_is_made_again(self):
        self.run_on(Device())
        content = self.path.read_bytes()
        self.path.write_bytes(content[:-20])
        again = Device()
        self.run_on(again)
        self.assertEqual(1, len(again.calls))
        self.assert_all_made_once()

    def test_a_cut_header_begins_anew(self):
        self.path.write_text('{"schema": "serif')
        self.run_on(Device())
        self.assert_all_made_once()

    def test_a_failed_run_is_tried_once_more_at_the_end(self):
        device = Device(lambda run, calls: calls == 2)
        self.assertEqual(0, self.run_on(device))
        self.assertEqual(11, len(device.calls))
        self.assertEqual(RUNS[1], device.calls[-1])
        self.assert_all_made_once()

    def test_what_fails_twice_is_missing(self):
        device = Device(lambda run, calls: run == RUNS[1])
        self.assertEqual(2, self.run_on(device))
        self.assertEqual(8, len(self.made()))
        self.run_on(Device())
        self.assert_all_made_once()

    def test_three_in_a_row_stop_with_the_words_of_fio(self):
        device = Device(lambda run, calls: calls in (2, 3, 5, 6, 7))
        stopped = self.assertRaises(errors.ToolError, self.run_on, device)
        self.assertIn('fio failed: no luck', str(stopped))
        self.assertIn('resumes', str(stopped))
        self.assertEqual(7, len(device.calls))
        self.assertEqual(2, len(self.made()))

    def test_a_figure_that_is_none_costs_its_run(self):
        device = Device()
        measure = device.measure

        def wrong(workloads, runtime_s):
            sample = measure(workloads, runtime_s)
            return (dataclasses.replace(sample, latency_us=-1.0)
                    if len(device.calls) == 1 else sample)
        device.measure = wrong
        self.run_on(device)
        self.assertEqual(11, len(device.calls))
        self.assert_all_made_once()

    def refused(self, header):
        self.run_on(Device())
        return str(self.assertRaises(
            errors.InputError, self.run_on, Device(), lambda: False, header))

    def test_another_machine(self):
        self.assertIn('serial S1 and S2', self.refused(dataclasses.replace(
            HEADER, device={**HEADER.device, 'serial': 'S2'})))

    def test_another_runtime(self):
        self.assertIn('runtime_s 15 and 60', self.refused(
            dataclasses.replace(HEADER, runtime_s=60)))

    def test_other_regions(self):
        self.assertIn('workload_gib 1 and 2', self.refused(
            dataclasses.replace(
                HEADER, device={**HEADER.device, 'workload_gib': 2})))

    def test_two_builds_at_once(self):
        def measure(workloads, runtime_s):
            self.run_on(Device())
        self.assertIn('Another build', str(self.assertRaises(
            errors.InputError, design_runs.run, DESIGN, self.path, HEADER,
            measure, campaign.Ports(self.show, lambda: False))))

    def test_a_file_that_is_no_dataset_stays_as_it_is(self):
        self.path.write_text('my notes\n')
        self.assertRaises(errors.FormatError, self.run_on, Device())
        self.assertEqual('my notes\n', self.path.read_text())


class ConditionsTest(Case):
    """Each run under a condition of its own."""

    CONDITIONS = tuple(Condition(size, name) for size in (1.0, 2.0)
                       for name in ('bfq', 'none'))
    DESIGN = design.Design({1: 4}, lambda: (RUNS[0],) * 4,
                           lambda count: 15.0, rounds=2, valid_round=2,
                           conditions=CONDITIONS)

    def run_on(self, device, stop=lambda: False):
        self.set = []

        def under(condition):
            self.set.append(condition)
            return device.measure
        return design_runs.run(
            self.DESIGN, self.path, HEADER, None, campaign.Ports(
                self.show, stop, lambda: device.now), under=under)

    def test_each_is_made_under_its_own_and_says_so(self):
        self.assertEqual(0, self.run_on(Device()))
        self.assertEqual([*self.CONDITIONS] * 2, self.set)
        dataset = documents.read_dataset(self.path)
        self.assertEqual([*self.CONDITIONS] * 2,
                         [s.condition for s in dataset.samples])

    def test_stopped_it_goes_on_with_the_others(self):
        device = Device()
        self.assertRaises(errors.Interrupted, self.run_on, device,
                          lambda: len(device.calls) == 3)
        self.run_on(device)
        self.assertEqual([self.CONDITIONS[3], *self.CONDITIONS], self.set)
        self.assertEqual(8, len(set(self.made())))

    def test_its_first_runs_have_theirs(self):
        self.assertEqual(
            [*zip((RUNS[0],) * 2, self.CONDITIONS)],
            [*self.DESIGN.beginning(2).under])


class AdaptiveTest(Case):
    """After the design, whatever is chosen by what was measured."""

    MORE = tuple((Workload(50, block),) for block in (4, 8, 16, 32))
    DESIGN = design.Design({1: 9}, lambda: (*RUNS, *AdaptiveTest.MORE),
                           lambda count: 15.0)

    def run_on(self, device, stop=lambda: False, header=HEADER):
        self.asked = []
        return design_runs.run(
            self.DESIGN, self.path, header, device.measure, campaign.Ports(
                self.show, stop, lambda: device.now),
            design_runs.Adaptive(5, self.choose))

    def choose(self, made, failed):
        """The next two of MORE that are neither made nor failed."""
        self.asked.append(len(made))
        gone = {sample.key for sample in made} | set(failed)
        return [run for run in self.MORE if key(run) not in gone][:2]

    def assert_all_made_once(self, without=()):
        wanted = [(key(run), 1) for run in (*RUNS, *self.MORE)
                  if run not in without]
        self.assertEqual(sorted(wanted), sorted(self.made()))

    def test_every_run_of_every_round(self):
        self.assertEqual(0, self.run_on(Device()))
        self.assert_all_made_once()
        self.assertEqual([5, 7, 9], self.asked)
        self.assertEqual(('measure', 1, 9, 8 * 17), self.steps[0])
        self.assertEqual(('measure', 9, 9, 0), self.steps[-1])

    def test_ctrl_c_finishes_the_run_in_hand_and_resumes(self):
        for made in (4, 6, 7):
            device = Device()
            self.path.unlink(missing_ok=True)
            stopped = self.assertRaises(
                errors.Interrupted, self.run_on, device,
                lambda: len(device.calls) == made)
            self.assertIn(f'{made} of 9', str(stopped))
            self.run_on(Device())
            self.assert_all_made_once()

    def test_what_fails_twice_is_missing(self):
        device = Device(lambda run, calls: run == self.MORE[0])
        self.assertEqual(1, self.run_on(device))
        self.assert_all_made_once(without=[self.MORE[0]])
