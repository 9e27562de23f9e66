# SPDX-License-Identifier: Apache-2.0

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import testtools

from serifos.model import elsewhere
from serifos.model import fleet
from tests.unit.model.test_fleet import table6
from tests.unit.test_workload import workloads

NAMES = ['ssd1', 'ssd2', None, 'ssd1']
MODELS = [table6('SSD1'), table6('SSD2'), None, table6('SSD1')]
POOLS = np.arange(len(MODELS))

_tenants = st.lists(st.tuples(workloads, st.floats(0.1, 100)), max_size=5)


class ElsewhereTest(testtools.TestCase):

    def seen(self, tenants):
        many = elsewhere.Elsewhere(MODELS, NAMES)
        return many.latency(POOLS, np.tile(
            sum((many.load(w) for w in tenants), many.load(None)), (4, 1)))

    @given(st.lists(workloads, max_size=5))
    def test_tenants_who_are_the_same_everywhere(self, tenants):
        many = fleet.Fleet(MODELS)
        np.testing.assert_array_equal(many.latency(POOLS, np.tile(
            sum((many.load(w) for w in tenants), many.load(None)), (4, 1))),
            self.seen(tenants))

    @given(_tenants)
    def test_each_pool_sees_what_is_expected_on_its_model(self, tenants):
        found = self.seen([
            dataclasses.replace(w, elsewhere=(('ssd2', q),))
            for w, q in tenants])
        there = self.seen([
            dataclasses.replace(w, iodepth=q, iops=None, latency_us=None)
            for w, q in tenants])
        here = self.seen([w for w, _ in tenants])
        np.testing.assert_array_equal(
            [here[0], there[1], here[2], here[3]], found)

    def test_no_pool_has_a_model(self):
        many = elsewhere.Elsewhere([None], [None])
        self.assertTrue(np.isnan(many.latency(
            np.array([0]), many.load(None)[None])).all())
