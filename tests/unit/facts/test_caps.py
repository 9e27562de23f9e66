# SPDX-License-Identifier: Apache-2.0

import ddt
import testtools

from serifos.facts.caps import allowed
from serifos.facts.caps import Caps
from serifos.facts.workload import Workload

DOES = Workload(25, 16, iops=1000, latency_us=2000)
"""750 reads and 250 writes a second: 12000 and 4000 KiB/s."""


@ddt.ddt
class CapsTest(testtools.TestCase):

    @ddt.data(
        ({'total_iops_sec': '500'}, {'total_iops': 500}),
        ({'read_iops_sec': '500', 'write_bytes_sec': '1048576'},
         {'read_iops': 500, 'write_kib_s': 1024}),
        ({'total_bytes_sec': '2048', 'size_iops_sec': '4096'},
         {'total_kib_s': 2, 'request_kib': 4}),
        ({'total_iops_sec': '500', 'total_iops_sec_max': '2000',
          'total_iops_sec_max_length': '60'},
         {'total_iops': 500, 'bursts': True}),
        # As Cinder computes them of 40 GiB.
        ({'total_iops_sec_per_gb': '30'}, {'total_iops': 1200}),
        ({'total_iops_sec_per_gb': '30', 'total_iops_sec_max': '1000'},
         {'total_iops': 1000}),
        ({'read_iops_sec_per_gb': '3', 'read_iops_sec_per_gb_min': '500',
          'read_iops_sec': '7'}, {'read_iops': 500}),
        ({'write_bytes_sec_per_gb': '1024'}, {'write_kib_s': 40}))
    @ddt.unpack
    def test_as_cinder_and_nova_read_them(self, specs, found):
        self.assertEqual(Caps(**found), Caps.of(specs, 40))

    @ddt.data({}, {'total_iops_sec': '0'}, {'total_iops_sec': 'many'},
              {'total_iops_sec': '-1'}, {'total_iops_sec': 'nan'},
              {'total_iops_sec': 'inf'}, {'minIOPS': '500'},
              {'size_iops_sec': '4096'}, {'total_iops_sec_max': '500'})
    def test_no_cap(self, specs):
        self.assertIsNone(Caps.of(specs, 40))

    @ddt.data(
        ({'total_iops_sec': '2000'}, 0.5), ({'read_iops_sec': '750'}, 1),
        ({'write_iops_sec': '125', 'total_iops_sec': '1000'}, 2),
        ({'total_bytes_sec': '16384000'}, 1),
        ({'read_bytes_sec': '24576000'}, 0.5),
        ({'write_bytes_sec': '2048000'}, 2),
        ({'total_iops_sec': '2000', 'size_iops_sec': '4096'}, 2),
        ({'total_iops_sec': '2000', 'size_iops_sec': '65536'}, 0.5))
    @ddt.unpack
    def test_what_is_done_of_what_may_be_done(self, specs, share):
        caps = Caps.of(specs, 1)
        self.assertAlmostEqual(share, caps.share(DOES))
        bounded = caps.bounded(DOES)
        self.assertAlmostEqual(1000 / max(1, share), bounded.iops)
        self.assertEqual((25, 16, 2000), (
            bounded.write_pct, bounded.block_kib, bounded.latency_us))

    def test_without_a_rate_nothing_is_bounded(self):
        unrated = Workload(25, 16)
        self.assertIs(unrated, Caps(1.0).bounded(unrated))

    def test_allowed_where_nothing_is_known(self):
        self.assertIsNone(allowed(Caps(1.0), None))
        self.assertIs(DOES, allowed(None, DOES))
        self.assertEqual(1.0, allowed(Caps(1.0), DOES).iops)
