# SPDX-License-Identifier: Apache-2.0
"""Policies over histories whose best answer is plain."""

import dataclasses

import ddt
import numpy as np

from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.lab.backtest import cases
from serifos.lab.backtest import csv_history
from serifos.lab.backtest import replay
from tests.unit import case
from tests.unit.lab.backtest import histories

HOUR, DAY = 12, 288  # slots
SHORT = 8 * HOUR
HOT, COLD = 5000.0, 5.0


def history(rates, size_gib=20.0, **how):
    series = histories.series(rates, **how)
    return csv_history.History(
        series, dict.fromkeys(series.volumes, size_gib))


def steady(hot, cold, slots=2 * DAY):
    """Busy volumes that free capacity puts onto the first of two pools."""
    rates = [HOT, COLD] * hot + [COLD] * (cold - hot)
    return history(np.outer(rates, np.ones(slots)))


@ddt.ddt
class ReplayTest(case.DirectoryCase):

    def scores(self, of, *policies, **asked):
        made = cases.made(cases.Asked(**{
            'models_dir': str(histories.models(self.dir / 'models', 'FAST')),
            'policies': policies, 'pools': 2, 'drift': 0.0,
            'config_files': [], **asked}), of)
        return [replay.run(each) for each in made]

    def test_hot_pools_are_relieved(self):
        cinder, relieve = self.scores(
            steady(5, 5), 'cinder', 'relieve')
        self.assertEqual((0, 0.0, 0), (
            cinder.moves, cinder.moved_gib, cinder.moves_later))
        self.assertTrue(relieve.moves in (2, 3), relieve.moves)
        self.assertEqual(20.0 * relieve.moves, relieve.moved_gib)
        self.assertEqual(0, relieve.moves_later)
        self.assertLess(relieve.worst_us, 0.8 * cinder.worst_us)
        self.assertLess(relieve.variance_us2, cinder.variance_us2)
        self.assertLess(relieve.day_worst[1], 0.8 * cinder.day_worst[1])
        self.assertEqual(48, len(relieve.hours))

    def test_a_balanced_cloud_is_left_alone(self):
        even = history(np.full((8, HOUR * 8), 500.0))
        cinder, relieve = self.scores(even, 'cinder', 'relieve')
        self.assertEqual(0, relieve.moves)
        self.assertEqual(cinder.hours, relieve.hours)

    def test_wiping_loads_the_pools_that_are_relieved(self):
        wiped, kept = (self.scores(
            steady(5, 5, SHORT), 'relieve:batch=1', 'relieve:batch=1',
            volume_clear=clear)[0] for clear in ('zero', 'none'))
        self.assertEqual(kept.moves, wiped.moves)
        self.assertLess(kept.worst_us, wiped.worst_us)

    def test_volumes_in_use_stay_where_they_may_not_move(self):
        still, = self.scores(
            steady(5, 5, SHORT), 'relieve:allow_attached=false')
        self.assertEqual(0, still.moves)

    def test_a_copy_of_hours_is_waited_for(self):
        of = history(np.outer([HOT, COLD] * 5, np.ones(DAY)), 500.0)
        with self.assertNoLogs('serifos.balancer.move', 'WARNING'), (
                self.assertNoLogs('serifos.balancer.batch', 'WARNING')):
            found, = self.scores(of, 'relieve', options=[
                'copy_rate=50', 'horizon=0', 'max_moves=1'])
        self.assertTrue(found.moves)

    def test_max_fill_is_the_balancers(self):
        of = steady(5, 5, SHORT)
        for fill, moves in ((0.55, False), (1.0, True)):
            found, = self.scores(of, 'relieve', pool_gib=200.0, options=[
                f'max_fill={fill}'])
            self.assertEqual(moves, found.moves > 0, fill)

    def test_options_of_a_policy_are_its_own(self):
        still, moving = self.scores(
            steady(5, 5, SHORT), 'relieve:min_gain=1', 'relieve')
        self.assertEqual(0, still.moves)
        self.assertTrue(moving.moves)
        self.assertEqual('relieve:min_gain=1', still.policy)

    @ddt.data(({'max_gib_per_day': 20}, 1), ({'cool_down': 864000,
                                             'batch': 1}, 3))
    @ddt.unpack
    def test_limits_and_pace_are_the_balancers(self, options, most):
        found, = self.scores(
            steady(5, 5, SHORT), 'relieve', options=[
                f'{name}={value}' for name, value in options.items()])
        self.assertTrue(0 < found.moves <= most, found.moves)

    def test_slos_are_counted_by_the_minute(self):
        of = steady(5, 5, SHORT)
        loose, = self.scores(of, 'cinder', slo_ms=1e3)
        self.assertEqual(0.0, loose.slo_minutes)
        tight, = self.scores(of, 'cinder', slo_ms=1e-3)
        self.assertEqual(10 * 480.0, tight.slo_minutes)
        self.assertEqual(1.0, tight.served)

    def test_what_cannot_be_served_is_told(self):
        usual, = self.scores(steady(5, 5, HOUR), 'cinder')
        found, = self.scores(steady(5, 5, HOUR), 'cinder', scale=20.0)
        self.assertEqual(1.0, usual.served)
        self.assertTrue(found.served < 0.5, found.served)
        self.assertGreater(found.worst_us, usual.worst_us)

    def test_a_pool_more_is_used(self):
        now, then = self.scores(steady(8, 8, SHORT), 'relieve', add=['FAST'])
        self.assertEqual((2, 3), (now.pools, then.pools))
        self.assertLess(then.day_worst[0], now.day_worst[0])
        self.assertEqual('relieve, what if', then.policy)

    def test_a_pool_less_and_another_model(self):
        histories.models(self.dir / 'models', 'SSD1')
        now, then = self.scores(
            steady(3, 3, HOUR * 3), 'cinder', pools=3, remove=[
                'host3@sim#sim'], days=0.125,
            other=['SSD1=host1@sim#sim'])
        self.assertEqual((3, 2), (now.pools, then.pools))
        self.assertNotEqual(then.worst_us, now.worst_us)

    def test_zones_of_a_cluster_are_kept(self):
        pools = [dataclasses.replace(pool, zone=zone) for pool, zone
                 in zip(histories.pools(2), ('north', 'south'))]
        of = steady(5, 5, SHORT)
        apart, near = (self.scores(of, 'relieve', cluster=Cluster(
            tuple(each), tuple(Volume(volume, each[0].name, 20.0)
                               for volume in of.series.volumes)))[0]
            for each in (pools, histories.pools(2)))
        self.assertEqual(0, apart.moves)
        self.assertTrue(near.moves)

    def test_a_history_keeps_its_last_days_and_fills_gaps(self):
        nan = np.nan
        series = histories.series([[1, nan, 3, nan, 5, nan], [nan] * 6,
                                   [nan, nan, nan, nan, 7, 8]], step_s=3600)
        found = replay.prepared(series, 5 / 24)
        self.assertEqual(('v0', 'v2'), found.volumes)
        np.testing.assert_allclose(
            [[nan, 3, 3, 5, nan], [nan, nan, nan, 7, 8]],
            found.values[..., :2].sum(axis=2))
        self.assertRaises(errors.InputError, replay.prepared,
                          dataclasses.replace(
                              series, values=series.values * nan), 1)

    def test_the_same_arguments_give_the_same_result(self):
        first, again = (self.scores(steady(5, 5, HOUR * 6), 'relieve',
                                    drift=0.2)
                        for _ in range(2))
        self.assertEqual(*(dataclasses.replace(found[0], seconds=0.0)
                           for found in (first, again)))

    @ddt.data(
        ({'policies': ['guess']}, 'guess'),
        ({'options': ['holds=3']}, 'holds=3 sets no option'),
        ({'options': ['hold=x']}, 'hold cannot be x'),
        ({'options': ['cinder.auth_type=x']}, 'sets no option'),
        ({'policies': ['relieve:hold']}, 'hold sets no option'),
        ({'pools': 0}, '--pools of 0'), ({'pool_gib': 0.0}, '--pool-gib'),
        ({'days': 0.0}, '--days of 0'), ({'drift': 9.0}, '--drift of 9'),
        ({'size_gib': -1.0}, '--size-gib'), ({'slo_ms': 0.0}, '--slo'),
        ({'scale': 0.0}, '--scale'),
        ({'truth': ['FAST=SLOW']}, 'SLOW'),
        ({'add': ['SLOW']}, '--add-pool names a model SLOW'),
        ({'add': ['FAST=x']}, '--add-pool'), ({'remove': ['x']}, 'no pool x'),
        ({'other': ['FAST']}, 'no pool'), ({'other': ['S=h']}, '--model'),
        ({'remove': ['host1@sim#sim', 'host2@sim#sim']}, 'No pool is left'),
        ({'pool_gib': 50.0}, 'give more pools'),
        ({'models_dir': '/nowhere'}, 'no model'))
    @ddt.unpack
    def test_absurd_settings_are_one_sentence(self, asked, part):
        exc = self.assertRaises(
            errors.InputError, self.scores, steady(5, 5, SHORT),
            *asked.pop('policies', ['cinder']), **asked)
        self.assertIn(part, str(exc))
        self.assertEqual(1, len(str(exc).splitlines()))
