# SPDX-License-Identifier: Apache-2.0
"""Rounds by the history of volumes: minutes move nothing, days do."""

from __future__ import annotations

import dataclasses
import re

import ddt
import fixtures

from serifos import errors
from serifos.facts.inventory import Type
from serifos.plan import problem
from serifos.plan import recent
from serifos.plan.slots import Demand
from tests.fakes import history
from tests.fakes.settings import Limits
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B

QUIET, BUSY = (1.0, 1.0, 65536.0, 65536.0, 0.005, 0.005), (
    1000.0, 1000.0, 65536000.0, 65536000.0, 4.0, 4.0)
"""Reads, writes, bytes of either and seconds of either, in a second."""

QUICK = (1000.0, 1000.0, 4096e3, 4096e3, 0.1, 0.1)
WAITING = (1.0, 1.0, 65536.0, 65536.0, 4.0, 4.0)

HOURS = range(24)
DAYS_S = 2 * 86400.0


class _Case(cloud.Case):
    """u and v are both busy on the first pool in the present."""

    def setUp(self):
        super().setUp()
        self.set(history_s=DAYS_S)

    latest = None

    def round(self, **busy):
        """A round where each volume is busy at the hours given, every day."""
        self.now += 300
        self.history = history.EveryDay({
            volume: [BUSY if hour in its else QUIET for hour in HOURS]
            for volume, its in busy.items()})
        plan, self.latest = self.after(
            self.latest, self.made(history=self.history))
        return plan

    def moved(self, **busy):
        return [move.volume for move in self.round(**busy).moves]


@ddt.ddt
class HotByTestCase(_Case):
    """Two volumes ask for much on one pool, two wait for little on another."""

    def setUp(self):
        super().setUp()
        self.cinder = self.cloud([cloud.record(*each) for each in (
            ('u', A), ('v', A), ('w', B), ('x', B))])

    @ddt.data((True, A, r'^busier of both pools (\S+) -> (\S+) % busy$'),
              (False, B, r'^slower of both pools (\S+) -> (\S+) ms$'))
    @ddt.unpack
    def test_what_is_hot(self, busy, source, says):
        self.set(demand=Demand(busy=busy))
        self.history = history.EveryDay({
            'u': [QUICK] * 24, 'v': [QUICK] * 24,
            'w': [WAITING] * 24, 'x': [WAITING] * 24})
        self.now += 300
        [move] = self.made(history=self.history).round().moves
        self.assertEqual(source, move.source)
        before, after = map(float, re.match(says, move.reason).groups())
        self.assertEqual(before, 2 * after)
        self.assertEqual(
            move.source_before_us, 2 * move.source_after_us)

    @ddt.data((False, set()), (True, {A}))
    @ddt.unpack
    def test_what_is_busy_by_a_model_that_does_not_fit(self, trust, sources):
        """The first pool shows little, whatever its model says of it."""
        self.set(demand=Demand(busy=True),
                 limits=Limits(trust_models=trust))
        self.cinder.workloads = {
            **{name: cloud.busy(64, 60) for name in 'uv'},
            **{name: cloud.busy(64, 1280) for name in 'wx'}}
        self.history = history.EveryDay({
            'u': [QUICK] * 24, 'v': [QUICK] * 24,
            'w': [WAITING] * 24, 'x': [WAITING] * 24})
        self.now += 300
        self.assertEqual(sources, {
            move.source for move
            in self.made(history=self.history).round().moves})


class DecidingTestCase(_Case):

    def test_a_hot_spot_of_minutes_moves_nothing(self):
        self.assertEqual([], self.moved(u=[], v=[], w=[]))
        self.assertEqual({'u': A, 'v': A, 'w': B}, self.homes())

    def test_a_hot_spot_of_a_day_is_moved_for(self):
        self.assertEqual(1, len(self.moved(u=HOURS, v=HOURS, w=[])))

    def test_so_is_one_that_is_quiet_at_present(self):
        self.cinder.workloads = {}
        self.assertEqual(1, len(self.moved(u=HOURS, v=HOURS, w=[])))

    def test_without_a_history_the_present_is_planned_for(self):
        self.now += 300
        self.assertEqual(1, len(self.balancer.round().moves))

    def test_a_window_of_nothing_asks_for_no_history(self):
        self.set(history_s=0.0)
        self.assertEqual(1, len(self.moved(u=[], v=[], w=[])))
        self.assertEqual([], self.history.asked)

    def test_whole_hours_are_asked_for_up_to_now(self):
        self.moved(u=[])
        [(begin, end, step_s)] = self.history.asked
        self.assertEqual((DAYS_S, 3600), (end - begin, step_s))
        self.assertEqual(self.now // 3600 * 3600, end)

    def test_a_history_of_nothing_is_the_present(self):
        self.assertEqual(1, len(self.moved()))

    def test_a_history_that_cannot_be_read_ends_the_round(self):
        class Broken(history.EveryDay):
            def read(self, *_):
                raise errors.CloudError('The database does not answer.')

        self.assertRaises(
            errors.CloudError, self.made(history=Broken({})).round)

    def test_a_pool_is_hot_by_history_in_each_of_the_rounds(self):
        self.latest = recent.Recent(2)
        day = {'u': HOURS, 'v': HOURS, 'w': []}
        found = [len(self.round(**busy).moves) for busy in (
            day, {'u': [], 'v': [], 'w': []}, day, day)]
        self.assertEqual([0, 0, 0, 1], found)


class ProblemTestCase(_Case):
    """A round builds one Problem for each (cluster, history) pair."""

    def setUp(self):
        super().setUp()
        self.built = []
        build = problem.Problem.of

        def of(_, cluster, models, limits, slots=None):
            self.built.append((type(models), cluster, slots))
            return build(cluster, models, limits, slots)
        self.useFixture(fixtures.MonkeyPatch(
            'serifos.plan.problem.Problem.of', of))
        self.set(auto=False, fix_at_once=True)
        self.latest = recent.Recent(2)
        self.cinder = self.cloud(
            [cloud.record('u', volume_type='gold'), cloud.record('v'),
             cloud.record('w', B)],
            types=[Type('gold', {'serifos:max_latency_us': '700'})])

    def assert_each_once(self, number, **busy):
        """Of each cluster two, as predicted and as corrected."""
        for us in 900, 950:
            self.built.clear()
            self.cinder.workloads = {
                'u': cloud.busy(64, us), 'v': cloud.busy(32, us)}
            self.round(**busy)
        self.assertEqual(
            [], [one for at, one in enumerate(self.built)
                 if one in self.built[:at]])
        self.assertEqual(number, len(self.built))

    def test_by_the_present(self):
        self.set(history_s=0.0)
        self.assert_each_once(6)

    def test_by_history(self):
        self.assert_each_once(7, u=HOURS, v=HOURS, w=[])


class SloTestCase(_Case):
    """u is SLO what it does not see beside v at present."""

    def setUp(self):
        super().setUp()
        self.cinder = self.cloud([
            cloud.record('u', volume_type='gold'), cloud.record('v'),
            cloud.record('w', B)], types=[Type(
                'gold', {'serifos:max_latency_us': '700'})])

    def test_by_history_alone_an_slo_broken_for_minutes_moves_nothing(self):
        self.assertEqual([], self.moved(u=[], v=[], w=[]))

    def test_an_slo_that_is_broken_now_is_mended_at_once(self):
        self.set(fix_at_once=True)
        self.assertEqual(1, len(self.moved(u=[], v=[], w=[])))

    def test_once_it_was_broken_for_as_long_as_a_pool_is_hot(self):
        self.set(fix_at_once=True)
        self.latest = recent.Recent(2)
        for homes in {'u': A, 'v': A, 'w': B}, {'u': B, 'v': A, 'w': B}:
            self.round(u=[], v=[], w=[])
            self.assertEqual(homes, self.homes())

    def test_one_that_is_broken_as_predicted_alone_is_not(self):
        self.set(fix_at_once=True)
        for latency_us, home in (600.0, A), (800.0, B):
            self.cinder.workloads = {
                volume: dataclasses.replace(
                    cloud.busy(64), iops=8e6 / latency_us,
                    latency_us=latency_us) for volume in 'uv'}
            self.latest = recent.Recent(2)
            for _ in range(2):
                self.round(u=[], v=[], w=[])
            self.assertEqual(home, self.homes()['u'], latency_us)

    def test_so_is_one_that_is_broken_by_its_days_alone(self):
        self.cinder.workloads = {}
        self.latest = recent.Recent(2)
        for moved in 0, 1:
            self.round(u=HOURS, v=HOURS, w=[])
            self.assertEqual(moved, sum(
                self.homes()[v] != A for v in ('u', 'v')))
