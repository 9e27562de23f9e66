# SPDX-License-Identifier: Apache-2.0

import collections

from hypothesis import given
from hypothesis import HealthCheck
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.facts.workload import Workload
from serifos.scheduler import pending

FEW = [Workload(5 * i, 4 << i % 4, 8) for i in range(20)]


def total(several):
    """Of what is told apart and what is not: numbers and KiB."""
    return (sum(several.values()),
            sum(w.block_kib * n for w, n in several.items()))


class PendingPoolTest(testtools.TestCase):

    def test_a_few_workloads_are_told_apart(self):
        found = pending.PendingPool()
        for workload in FEW[:3] * 2:
            found.add(workload, 2)
        self.assertEqual(dict.fromkeys(FEW[:3], 4), found.several())

    @settings(max_examples=50, deadline=None,
              suppress_health_check=[HealthCheck.too_slow])
    @given(strategies.lists(strategies.sampled_from(FEW), max_size=60),
           strategies.randoms())
    def test_many_are_few_and_add_up(self, added, chance):
        found = pending.PendingPool()
        for workload in added:
            found.add(workload, 1, 4000.0)
        staying = added[:]
        while True:
            self.assertLessEqual(
                len(found.several()), pending.MOST_IN_POOL + 1)
            number, kib = total(found.several())
            self.assertEqual(len(staying), number)
            self.assertAlmostEqual(
                total(collections.Counter(staying))[1], kib, places=6)
            self.assertEqual(bool(staying), bool(found))
            self.assertEqual({4000.0} if staying else set(), {
                slo.latency_us for slo in found.slos})
            if not staying:
                break
            gone = staying.pop(chance.randrange(len(staying)))
            found.remove(gone, 1, 4000.0)

    def test_each_slo_is_that_of_its_workload(self):
        found = pending.PendingPool()
        for workload in FEW:
            found.add(workload, 1, 900.0)
        told = [(900.0, one) for one in (*FEW[:pending.MOST_IN_POOL], None)]
        self.assertEqual(told, found.slos)
        found.remove(FEW[0], 1, 900.0)
        self.assertEqual(told[1:], found.slos)
