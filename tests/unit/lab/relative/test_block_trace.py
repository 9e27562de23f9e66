# SPDX-License-Identifier: Apache-2.0

import os

import ddt
import testtools

from serifos import errors
from serifos.lab.relative import cached_command
from tests.unit import case

# Of a kernel 6.18; 6.1 names no priority and no size.
TRACE = """\
# tracer: nop
# entries-in-buffer/entries-written: {held}/{written}   #P:2
   fio-2  [0] ..... 9.900000: block_rq_issue: 7,1 W 4096 () 0 + 8 be,0,4 [fio]
   fio-2  [0] ..... 10.10000: block_rq_issue: 7,1 W 4096 () 8 + 8 be,0,4 [fio]
   fio-2  [0] ..... 10.20000: block_rq_complete: 7,1 W () 0 + 8 be,0,4 [0]
   fio-2  [0] ..... 10.30000: block_rq_issue: 7,1 FF 0 () 0 + 0 be,0,4 [fio]
   a b-3  [1] ..... 10.40000: block_rq_issue: 7,1 RA 16384 () 64 + 32 [a b]
   a b-3  [1] ..... 10.50000: block_rq_issue: 7,1 D 4096 () 96 + 8 [a b]
   a b-3  [1] ..... 10.60000: block_rq_complete: 7,1 RA () 64 + 32 [0]
   fio-2  [0] ..... 11.00000: block_rq_issue: 7,1 FWS 4096 () 96 + 8 [fio]
   fio-2  [0] ..... 11.10000: block_rq_complete: 7,1 W () 8 + 8 be,0,4 [0]
   fio-2  [0] ..... 12.00000: block_rq_issue: 7,1 R 4096 () 500 + 8 [fio]
   fio-2  [0] ..... 12.30000: block_rq_complete: 7,1 R () 500 + 8 [0]
"""


def lines(held=11, written=11):
    return TRACE.format(held=held, written=written).splitlines()


class FiguresTest(testtools.TestCase):

    def test_what_the_device_saw_in_the_interval(self):
        found = cached_command.figures(lines(), 10, 12)
        self.assertEqual((1, 2), tuple(2 * found[f'device_{side}_iops']
                                       for side in ('read', 'write')))
        self.assertEqual((16, 8), tuple(2 * found[f'device_{side}_kib_s']
                                        for side in ('read', 'write')))
        # The read alone begins where none ended.
        self.assertAlmostEqual(100 / 3, found['device_random_pct'])
        # Of the three that ended: 0.3, 0.2 and 1 s.
        self.assertAlmostEqual(500_000, found['device_latency_us'])

    def test_a_trace_that_lost_requests_is_none(self):
        self.assertIn('shorter --runtime', str(self.assertRaises(
            errors.ToolError, cached_command.figures, lines(11, 12), 10, 12)))

    def test_nothing_reached_the_device(self):
        self.assertIn('smaller cgroup', str(self.assertRaises(
            errors.ToolError, cached_command.figures, lines(), 13, 14)))


@ddt.ddt
class DiskTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.sys, self.tracing = self.dir / 'sys', self.dir / 'tracing'
        self.dev = self.dir.stat().st_dev
        (self.sys / 'dev/block').mkdir(parents=True)
        (self.sys / 'sda/sda1').mkdir(parents=True)
        (self.sys / 'sda/dev').write_text('8:0\n')
        (self.sys / 'sda/sda1/dev').write_text('8:1\n')
        (self.sys / 'sda/sda1/partition').write_text('1\n')

    def disk(self):
        return cached_command.disk(self.dev, self.sys, self.tracing)

    def link(self, place):
        number = f'{os.major(self.dev)}:{os.minor(self.dev)}'
        (self.sys / 'dev/block' / number).symlink_to(self.sys / place)

    @ddt.data('sda', 'sda/sda1')
    def test_a_partition_is_seen_by_its_disk(self, place):
        self.link(place)
        (self.tracing / 'instances').mkdir(parents=True)
        self.assertEqual((8, 0), self.disk())

    def test_refused(self):
        self.assertIn('on no block device', str(self.assertRaises(
            errors.DeviceError, self.disk)))
        self.link('sda')
        self.assertIn('mount -t tracefs', str(self.assertRaises(
            errors.DeviceError, self.disk)))
