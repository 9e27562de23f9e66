# SPDX-License-Identifier: Apache-2.0

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import testtools

from serifos import cluster as cl
from serifos.model import elsewhere
from serifos.model import fleet
from serifos.model import model as mm
from serifos.model import relation
from serifos import workload as wl
from tests.unit.model import test_fleet
from tests.unit.model import test_relation
from tests.unit.test_workload import workloads

NAMES = ['ssd1', 'ssd2', None, 'ssd1']
SSD1, SSD2 = map(test_fleet.table6, ('SSD1', 'SSD2'))
MODELS = [SSD1, SSD2, None, SSD1]
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


def device(name, us_per_kib):
    return mm.Model(name, 'outstanding', {
        'sum_q_s_r': us_per_kib, 'sum_q_s_w': us_per_kib},
        {'write_pct': (0, 100), 'iodepth': (0, 64), 'count': (1, 9)}, {})


class ExpectedTest(testtools.TestCase):
    """What a tenant of 4 outstanding on a slow device asks of a fast one."""

    models = {'slow': device('slow', 10.0), 'fast': device('fast', 2.5)}

    def expected(self, share, floor=0.05, **company):
        tenant = wl.Workload(0, 16, iops=1e4, latency_us=400)
        pools = [cl.Pool(name, model=name) for name in self.models]
        volumes = [cl.Volume('tenant', 'slow', 1, workload=tenant),
                   cl.Volume('unseen', 'slow', 1, workload=None),
                   *(cl.Volume(f'other-{name}', name, 1, workload=other)
                     for name, other in company.items())]
        known = {('slow', 'fast'): relation.Relation.from_json(
            test_relation.document(response=share))}
        found = elsewhere.expected(
            cl.Cluster(tuple(pools), tuple(volumes)), self.models, known,
            floor)
        self.assertEqual(volumes[1], found.volume('unseen'))
        return found.volume('tenant').workload

    def test_a_closed_loop_asks_as_much(self):
        workload = self.expected(1.0)
        self.assertAlmostEqual(4, workload.on('fast').outstanding)
        self.assertEqual(4, workload.on('slow').outstanding)
        self.assertEqual(workload, workload.on('slow'))

    def test_one_whose_pace_is_its_own_asks_less_of_a_faster_device(self):
        self.assertAlmostEqual(1, self.expected(0.0).on('fast').outstanding)

    def test_its_company_there_counts(self):
        crowd = wl.Workload(0, 16, iops=1e4, latency_us=1200)
        self.assertAlmostEqual(
            4, self.expected(0.0, fast=crowd).on('fast').outstanding)

    def test_who_is_idle_or_related_to_nothing_stays_as_it_was(self):
        self.assertEqual((), self.expected(0.0, floor=5).elsewhere)
