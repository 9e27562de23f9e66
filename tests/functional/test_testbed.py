# SPDX-License-Identifier: Apache-2.0
"""The hosts, backends and emulated SSDs of the testbed itself."""

from tests.functional.testbed import case
from tests.testbed import load


class TestbedTest(case.TestbedTest):

    def test_every_host_is_a_kernel_with_one_backend(self):
        self.assertEqual(
            ['node1@ssd', 'node2@ssd', 'node3@ssd'],
            self.testbed.status()['backends'])
        boots = {self.testbed.on(
            host.name, 'cat /proc/sys/kernel/random/boot_id')
            for host in self.testbed.hosts}
        self.assertEqual(3, len(boots))
        self.assertEqual(
            {'node1', 'node2', 'node3'},
            {pool['serifos_model']
             for pool in self.testbed.api.pools().values()})

    def test_latency_is_outstanding_bytes_over_bandwidth(self):
        volume = self.volume('fifo', host=self.testbed.host(3))
        loads = load.Loads(self.testbed)
        loads.start(volume, load.Job(0, block_kib=64, iodepth=8))
        self.addCleanup(loads.stop_all)
        found = loads.measure(15)[volume]
        expected = 8 * 64 * 1024 / self.testbed.host(3).read_mbs
        # A machine that does other things, too, is slower, never faster.
        self.assertLess(expected * 0.9, found.latency_us)
        self.assertLess(found.latency_us, expected * 4)
