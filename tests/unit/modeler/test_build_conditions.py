# SPDX-License-Identifier: Apache-2.0

import contextlib
import dataclasses

from serifos.bench import fio
from serifos.bench import io_scheduler
from serifos.bench.target import Area
from serifos.bench.target import shares
from serifos.bench.target import Target
from serifos.bench.target import TargetOptions
from serifos.design import design
from serifos import errors
from serifos.facts.dataset import Condition
from serifos.facts.workload import Workload
from serifos.modeler import build
from tests.unit import case

GIB = 2 ** 30
WHOLE = fio.Region('/srv/x.bin', 0, 4 * GIB, fd=7)
TARGET = Target('file:/srv/x.bin', None, {'file': '/srv/x.bin'},
                {'model': 'X'}, shares(WHOLE, 2), 512, None, True,
                contextlib.nullcontext)
QUEUE = io_scheduler.Queue('sda', 'none', ('none', 'bfq'))


def of(*found):
    run = (Workload(50, 4),)
    return design.Design({1: len(found)}, lambda: (run,) * len(found),
                         lambda count: 1.0, conditions=found)


class ConditionsTest(case.DirectoryCase):

    def test_a_design_without_any(self):
        self.assertIsNone(build.conditions_of(of(), '/dev/sdb'))

    def test_they_are_of_a_scratch_file(self):
        for target in ('/dev/sdb', 'vg0', '/srv/x.bin'):
            exc = self.assertRaises(
                errors.InputError, build.conditions_of, of(Condition(1.0)),
                target)
            self.assertIn('file:PATH', str(exc))

    def test_a_directory_that_is_not_there(self):
        exc = self.assertRaises(
            errors.DeviceError, build.conditions_of,
            of(Condition(None, 'bfq')), f'file:{self.dir}/no/x.bin')
        self.assertIn('no directory', str(exc))

    def test_the_file_is_as_large_as_the_largest_set(self):
        under = build.conditions_of(
            of(Condition(2.0), Condition(0.5)), 'file:/srv/x.bin')
        self.assertEqual(((0.5, 2.0), (), None),
                         (under.sizes, under.schedulers, under.queue))
        self.assertEqual(2.0, under.sized(TargetOptions(1)).size_gib)

    def test_what_is_shown_and_confirmed(self):
        under = build.Under((0.5, 4.0), ('bfq', 'none'), QUEUE)
        shown = under.shown(TARGET)
        self.assertEqual('sda', shown.word)
        self.assertIn('0.5, 4 GiB', shown.facts['file sets'])
        self.assertIn('now none: bfq and none in turn, then none again',
                      shown.facts['I/O scheduler'])
        self.assertEqual('file set and I/O scheduler',
                         shown.identity['varied'])
        self.assertIsNone(dataclasses.replace(
            under, queue=None).shown(TARGET).word)

    def test_a_block_that_the_smallest_set_does_not_hold(self):
        under = build.Under((0.01, 4.0), (), None)
        run = (Workload(50, 4096),) * 2
        self.assertRaises(errors.InputError, under.refuse_unrunnable, [run],
                          TARGET, 2)
        under = build.Under((1.0, 4.0), (), None)
        self.assertIsNone(under.refuse_unrunnable([run], TARGET, 2))

    def test_each_run_has_the_beginning_of_the_file(self):
        under = build.Under((1.0, 4.0), (), None)
        area = Area((WHOLE,), TARGET.regions)
        with under.made(area, 2, lambda regions: regions) as made:
            self.assertEqual(TARGET.regions, made(Condition()))
            first, second = made(Condition(1.0))
        self.assertEqual([(0, GIB // 2), (GIB // 2, GIB // 2)],
                         [(r.offset, r.size) for r in (first, second)])
        self.assertEqual(7, first.fd)
