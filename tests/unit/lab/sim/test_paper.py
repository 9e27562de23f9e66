# SPDX-License-Identifier: Apache-2.0
"""The paper is quoted right, and the fitted devices are as close as said."""

import ddt
import testtools

from serifos.design import random_tests
from serifos.lab.sim import devices
from serifos.lab.sim import paper
from tests.unit.papers import golden

BALANCING = golden.SERIFOS['balancing']


@ddt.ddt
class PaperTest(testtools.TestCase):

    def test_table_6(self):
        theirs = golden.SERIFOS['table6_consolidation']
        for device in ('SSD1', 'SSD2'):
            self.assertEqual(
                {label: tuple(row[:3])
                 for label, row in theirs[device].items()},
                paper.CONSOLIDATION[device])

    def test_table_7(self):
        theirs = golden.SERIFOS['table7_mre_pct']
        self.assertEqual(
            theirs, {device: {label: round(100 * mre)
                              for label, mre in of_device.items()}
                     for device, of_device in paper.MRE.items()})

    def test_section_6(self):
        pct = {name: round(100 * value)
               for name, value in paper.REDUCTION.items()}
        slo = BALANCING['slo_reduction_pct']
        self.assertEqual({
            'variance_us2':
                BALANCING['variance_of_average_latency_reduction_pct'],
            'max_us': BALANCING['maximum_average_latency_reduction_pct'],
            'p99_read_variance_us2':
                BALANCING['p99_read_variance_reduction_pct'],
            'p99_write_variance_us2':
                BALANCING['p99_write_variance_reduction_pct'],
            'slo_us': slo['average'], 'slo_read_us': slo['maximum_read'],
            'slo_write_us': slo['maximum_write']}, pct)
        self.assertEqual(BALANCING['workloads'], list(paper.WORKLOADS))

    def test_vectors(self):
        theirs = golden.SERIFOS['test_vectors']
        ours = random_tests.PAPER
        self.assertEqual(theirs['write_pct'], list(ours.write_pcts))
        self.assertEqual(theirs['block_kib'], list(ours.block_kibs))
        self.assertEqual(theirs['size_gib'], list(paper.SIZES_GIB))

    @ddt.data(devices.SSD1, devices.SSD2)
    def test_the_fitted_devices_are_close_to_table_6(self, ssd):
        wrong = paper.mismatch(ssd, ssd.name)
        self.assertLess(wrong['all'], 0.04)
        self.assertLess(wrong['1'], 0.15)

    def test_the_others_are_not(self):
        wrong = paper.mismatch(devices.AGED, 'SSD1', 10)
        self.assertGreater(wrong['all'], 0.25)

    def test_a_fit_is_nearer_than_where_it_began(self):
        found, first = (paper.fitted('SSD2', of_a_count=2, tries=tries)
                        for tries in (40, 1))
        self.assertEqual((64, 2.69), (first.dies, first.bus_read_us_per_kib))
        self.assertLess(paper.mismatch(found, 'SSD2', 2)['all'],
                        paper.mismatch(first, 'SSD2', 2)['all'])
