# SPDX-License-Identifier: Apache-2.0

import types

import fixtures
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.balancer import join
from serifos.facts import activity
from serifos.facts import inventory
from serifos.facts import names
from serifos.plan import eligibility
from serifos.scheduler import judge
from serifos.scheduler.judge import SchedulerSettings
from serifos.scheduler import rate_limited_log
from serifos.scheduler import request
from tests.unit.scheduler import files

NOW = 1_800_000_000.0
NAMES = ['node1@ssd#ssd', 'node2@ssd#ssd']


class JudgeTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.FakeLogger())
        made = self.useFixture(files.Files())
        made.models(files.model('ssd'))
        made.cluster(NAMES, [files.volume('1', NAMES[0], 64)], now=NOW)
        self.states = [types.SimpleNamespace(
            backend_id=name, host=name, allocated_capacity_gb=gib,
            capabilities={'serifos_model': 'ssd'})
            for name, gib in zip(NAMES, (10, 0))]
        self.serifos = judge.Judge(
            SchedulerSettings(str(made.dir), str(made.models_dir), 1800,
                              30, 16, 8, 3600, True),
            lambda: NOW, rate_limited_log.RateLimitedLog())

    def placement(self, name='new', **facts):
        return self.serifos.observe(
            [request.Request(request.CREATE, name, 10.0, **facts)],
            self.states)

    def latencies(self, placement):
        return [p.latency_us
                for p in self.serifos.judge(placement)]

    def test_judging_changes_nothing(self):
        placements = [self.placement(str(i), hints={
            'serifos:block_kib': 2 ** i}) for i in range(8)]
        first = [self.latencies(each) for each in placements]
        self.assertEqual([800, 160], first[4])
        self.assertEqual(
            first, [self.latencies(each) for each in placements])

    def test_what_is_recorded_counts_for_the_next(self):
        placement = self.placement()
        self.serifos.record(placement, placement.candidates[1])
        self.assertEqual([800, 320], self.latencies(self.placement('next')))
        self.assertEqual([800, 160], self.latencies(placement))

    def test_what_is_weighed_counts_once_it_is_allocated(self):
        large = self.placement(hints={'serifos:block_kib': 64})
        self.serifos.weighed(large)
        self.assertEqual([800, 160], self.latencies(self.placement('next')))
        self.states[1].allocated_capacity_gb = 10
        self.assertEqual([800, 800], self.latencies(self.placement('next')))


class SloTest(testtools.TestCase):
    """Planner and filter take the same values for an SLO."""

    @settings(max_examples=80, deadline=None)
    @given(strategies.one_of(
        strategies.floats(), strategies.integers(), strategies.booleans(),
        strategies.text(max_size=8),
        strategies.floats().map(str), strategies.integers().map(str),
        strategies.sampled_from(['1e-3', '9e-4', '1e12', '1.1e12', ' 5 ',
                                 '5_0',
                                 '0x5', '١', '5' * 99, None])))
    def test_alike(self, said):
        specs = {names.SLO: said}
        record = inventory.Record('v', 1, 'available', pool=NAMES[0],
                                  volume_type='gold')
        cluster = join.cluster(
            inventory.Inventory((), (), (record,),
                                (inventory.Type('gold', specs),)),
            activity.Observed(NOW, {}, {}, {}, {}), (), eligibility.Rules())
        self.assertEqual(
            cluster.volumes[0].max_latency_us,
            request.Request(extra_specs=specs).slo_us(lambda text: None))
