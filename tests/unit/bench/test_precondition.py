# SPDX-License-Identifier: Apache-2.0

import dataclasses

import ddt

from serifos.bench import fio
from serifos.bench import precondition
from serifos.bench.target import Area
from serifos.bench.target import Target
from serifos import errors
from serifos.facts.dataset import Sample
from tests.unit import case

GIB = 2 ** 30
PIECE = fio.Region('/dev/sdx', 0, 6 * GIB)
TARGET = Target(
    '/dev/sdx', 'S1', {}, {'model': 'M', 'serial': 'S1', 'size_gib': 6,
                           'target': '/dev/sdx', 'ioengine': 'libaio'},
    (PIECE,), 512, 'discard', False, lambda: None)


class Device:
    """Settles after some rounds; knows what was done to it."""

    def __init__(self, unsettled=0, pieces=(PIECE,)):
        self.did, self.unsettled = [], unsettled
        self.area = Area(pieces, pieces, self.purge)

    def purge(self):
        self.did.append('purge')
        return 'purged'

    def fill(self, region):
        self.did.append(('fill', region.path, region.offset, region.size))

    def measure(self, workloads, runtime_s):
        self.did.append(('settle', runtime_s))
        rounds = sum(1 for step in self.did if step[0] == 'settle')
        iops = 1000 / rounds if rounds <= self.unsettled else 100
        return Sample(tuple(workloads), 80,
                      seen=({'write_iops': iops},) * len(workloads))

    def fills(self):
        return [step for step in self.did if step[0] == 'fill']

    def rounds(self):
        return sum(1 for step in self.did if step[0] == 'settle')


@ddt.ddt
class PreconditionTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.record = self.dir / 'x.json'

    def run_on(self, device, stop=lambda: False, target=TARGET,
               rounds=precondition.Rounds()):
        return precondition.precondition(
            target, device.area, rounds, self.record, precondition.Ports(
                device.measure, device.fill, lambda *step: None, stop))

    def test_purge_two_fills_in_order_then_settle(self):
        device = Device()
        state = self.run_on(device)
        self.assertEqual('purge', device.did[0])
        self.assertEqual(
            [(0, 4 * GIB), (4 * GIB, 2 * GIB)] * 2,
            [(offset, size) for _, _, offset, size in device.fills()])
        self.assertEqual([('settle', 60.0)] * 5, device.did[-5:])
        self.assertIn('12 GiB written', state.words)
        self.assertIn('settled after 5 rounds', state.words)

    def test_it_goes_on_until_it_is_steady(self):
        device = Device(unsettled=3)
        self.run_on(device)
        self.assertEqual(8, device.rounds())

    def test_it_never_settles(self):
        device = Device(unsettled=100)
        refused = self.assertRaises(errors.DeviceError, self.run_on, device)
        self.assertIn('has not settled in 25 rounds', str(refused))
        self.assertEqual(25, device.rounds())
        # More rounds go on where these ended.
        more = Device(unsettled=0)
        self.run_on(more, rounds=precondition.Rounds(most=40))
        self.assertEqual([], more.fills())

    @ddt.data(1, 2, 3, 6, 8)
    def test_resumed_after_any_step_nothing_is_done_twice(self, steps):
        first = Device()
        self.assertRaises(errors.Interrupted, self.run_on, first,
                          lambda: len(first.did) == steps)
        second = Device()
        self.run_on(second)
        self.assertEqual(steps, len(first.did))
        whole = Device()
        self.record.unlink()
        self.run_on(whole)
        self.assertEqual(whole.did, first.did + second.did)

    def test_another_device_begins_anew(self):
        self.run_on(Device())
        other = Device()
        self.run_on(other, target=dataclasses.replace(
            TARGET, identity={**TARGET.identity, 'serial': 'S2'}))
        self.assertEqual('purge', other.did[0])

    def test_scratch_volumes_are_new_each_time(self):
        pieces = tuple(fio.Region(f'/dev/vg/{i}', 0, GIB) for i in range(3))
        fresh = dataclasses.replace(TARGET, fresh=True)
        for _ in range(2):
            device = Device(pieces=pieces)
            self.run_on(device, target=fresh)
            self.assertEqual(6, len(device.fills()))
        self.assertFalse(self.record.exists())

    def test_a_record_that_cannot_be_read(self):
        self.record.write_text('{}')
        self.assertIn('remove it', str(self.assertRaises(
            errors.FormatError, self.run_on, Device())))

    @ddt.data((4, 60.0), (10 ** 6, 60.0), (25, 0.0), (25, float('nan')))
    @ddt.unpack
    def test_absurd_rounds(self, most, seconds):
        self.assertRaises(
            errors.InputError, precondition.Rounds, seconds, most)
