# SPDX-License-Identifier: Apache-2.0

import time

import ddt
import testtools

from serifos.bench import host
from serifos import errors

# As proc_stat(5) has it; guest time is in user time already.
STAT = """cpu  {user} 0 100 {idle} 50 10 0 0 {user} 0
cpu0 1 2 3 4 5 6 7 8 9 10
intr {interrupts} 0 9 0
ctxt {switches}
btime 1795226062
procs_running 14
"""


def reading(at_s, busy=0, idle=0, switches=0, interrupts=0):
    return host.parse(STAT.format(user=busy, idle=idle, switches=switches,
                                  interrupts=interrupts), at_s)


@ddt.ddt
class HostTest(testtools.TestCase):

    def test_counters(self):
        self.assertEqual(
            host.HostCounters(7.0, busy=310, ticks=1360, context_switches=42,
                              interrupts=99),
            reading(7.0, 200, 1000, 42, 99))

    def test_the_interval_alone_counts(self):
        readings = [
            reading(0, 0, 0, 0, 0),             # 10 s at full load
            reading(10, 1000, 0, 5000, 9000),   # then 10 s of a quarter
            reading(20, 1250, 750, 6000, 9100),
            reading(30, 2250, 750, 99999, 99999)]
        self.assertEqual(
            {'cpu_pct': 25.0, 'context_switches_per_s': 100.0,
             'interrupts_per_s': 10.0}, host.between(readings, 12, 18))
        across = host.between(readings, 5, 15)
        self.assertEqual(100 * 625 / 1000, across['cpu_pct'])

    @ddt.data(([], 'not observed'), ([1], 'not observed'),
              ([11, 20], 'not observed'), ([0, 5], 'not observed'))
    @ddt.unpack
    def test_an_interval_not_covered_is_no_figure(self, times, words):
        self.assertIn(words, str(self.assertRaises(
            errors.ToolError, host.between, [*map(reading, times)], 10, 19)))

    @ddt.data('', 'cpu  1 2 3\n', 'cpu  1 2 3 4 5 6 7 8\nctxt x\nintr 1\n')
    def test_rubbish(self, text):
        self.assertIn('leave --observe-host out', str(self.assertRaises(
            errors.ToolError, host.parse, text, 0.0)))

    def test_this_machine(self):
        first = host.read()
        with host.watched() as between:
            began_s = time.time()
        self.assertEqual(
            {'cpu_pct', 'context_switches_per_s', 'interrupts_per_s'},
            {*between(began_s, began_s + 0.01)})
        last = host.read()
        self.assertGreaterEqual(last.ticks, first.ticks)
        self.assertGreater(last.ticks, last.busy)
