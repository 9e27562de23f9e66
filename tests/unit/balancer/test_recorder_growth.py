# SPDX-License-Identifier: Apache-2.0
"""A pool that fills up by itself, round after round."""

import dataclasses
import sqlite3

import ddt

from serifos.balancer import recorder
from serifos.database import connection
from serifos.database.space import Homes
from serifos.database.space import SLOT_S
from serifos.database.space import Space
from serifos.facts.space import Used
from serifos.files import documents
from tests.fakes.settings import Limits
from tests.unit.balancer import cloud
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import B
from tests.unit.balancer.cloud import C
from tests.unit.balancer.cloud import record

DAY = 86400.0


@ddt.ddt
class GrowthTest(cloud.Case):
    """Nothing is busy; a volume of 4 GiB is made on A every day."""

    def setUp(self):
        super().setUp()
        self.set(limits=Limits(capacity_horizon_s=10 * DAY))
        self.cinder = self.cloud([record('u', size_gib=30.0),
                                  record('w', B)], {})
        self.change_pools(used_gib=0.0)
        self.database = connection.Database(
            f'sqlite:///{self.dir}/history.sqlite',
            content=connection.HISTORY)

    def change_pools(self, **changes):
        for name, pool in self.cinder.pools.items():
            self.cinder.pools[name] = dataclasses.replace(pool, **changes)

    @property
    def balancer(self):
        return self.made(growth=recorder.Growth(
            Space(self.database, 20 * DAY),
            Homes(self.database, 20 * DAY), 10 * DAY))

    def days(self, count, gib=4.0):
        """The plan of the last day."""
        for _ in range(count):
            self.now += DAY
            self.cinder.add(record(f'{self.now}', size_gib=gib))
            plan = self.balancer.round()
        return plan

    def pool(self, name=A):
        return documents.read_cluster(self.settings.cluster_file).pool(name)

    def test_it_is_left_once_its_growth_was_seen_for_long_enough(self):
        self.balancer.round()
        self.assertEqual((), self.days(4).moves)
        self.assertIsNone(self.pool().growth_gib_day)
        self.assertEqual((), self.days(1).moves)
        self.assertEqual(4.0, self.pool().growth_gib_day)
        self.assertEqual(0.0, self.pool(B).growth_gib_day)
        plan = self.days(3)  # 62 GiB are used, 40 come
        self.assertEqual([f'{A} is full in 9.5 days by its growth'],
                         [move.reason for move in plan.moves])
        self.assertEqual(1, len(self.cinder.asked))
        self.assertIn(f'{A} is full in 9.5 days by its growth: 4 GiB a day',
                      self.log.output)
        move, = plan.moves
        self.assertEqual(4.0, move.size_gib)
        self.assertEqual(move.target, self.homes()[move.volume])

    def test_what_was_moved_is_no_growth_of_its_target(self):
        self.balancer.round()
        plan = self.days(8)
        target = plan.moves[0].target
        self.days(1)
        self.assertEqual(0.0, self.pool(target).growth_gib_day)
        self.assertAlmostEqual(4.0, self.pool().growth_gib_day, 2)

    def test_what_others_moved_is_no_growth_either(self):
        """Whether a round was between that and the next or not."""
        self.balancer.round()
        for nth in range(6):
            self.cinder.add(record(f'c{nth}', C))
        self.now += DAY
        self.balancer.round()
        for nth in range(6):
            self.now += DAY
            self.cinder.change(f'c{nth}', pool=A if nth % 2 else B)
            plan = self.balancer.round()
        self.assertEqual((), plan.moves)
        self.assertEqual([0.0, 0.0], [
            round(self.pool(name).growth_gib_day, 6) for name in (A, B)])
        self.assertAlmostEqual(6 / 7, self.pool(C).growth_gib_day)

    def test_one_that_was_moved_and_extended_grew_where_it_is(self):
        self.balancer.round()
        self.now += 8 * DAY
        self.cinder.change('u', pool=B, size_gib=38.0)
        self.balancer.round()
        self.assertEqual([0.0, 1.0], [
            self.pool(name).growth_gib_day for name in (A, B)])

    def test_what_the_journal_has_from_before_an_update_counts(self):
        """Moves were taken from the journal, before others' were seen."""
        self.now -= DAY
        kept = Space(self.database, 20 * DAY)
        kept.note(Used(self.now, {A: 80.0, B: 1.0, C: 0.0}))
        self.now += DAY
        self.journal().write('request', volume='w', source=A, target=B,
                             plan='p', size_gib=50.0)
        self.journal().write('outcome', volume='w', source=A, target=B,
                             result='success', reason='', seconds=1)
        self.now += 7 * DAY
        self.balancer.round()
        self.assertEqual([0.0, -50 / 8], [
            self.pool(name).growth_gib_day for name in (A, B)])

    def test_a_pool_of_a_migration_under_way_is_not_recorded(self):
        self.cinder.change('u', migration_status='migrating')
        self.cinder.add(record('t', C, migration_status='target:u'))
        self.balancer.observer.observe()
        before, = Space(self.database, DAY).earliest(0, self.now)
        self.assertEqual({A, B}, {*before.gib})
        self.journal().write('request', volume='u', source=A, target=C,
                             plan='p', size_gib=30.0)
        self.now += SLOT_S
        self.balancer.observer.observe()
        later, = Space(self.database, DAY).earliest(self.now, self.now)
        self.assertEqual({B}, {*later.gib})

    def test_a_round_goes_on_where_nothing_can_be_kept(self):
        self.database.file.write_text('no database' * 99)
        self.assertIsNotNone(self.balancer.round())
        self.assertIn('It is not known how fast pools fill up: The history',
                      self.log.output)

    def test_a_pool_whose_space_is_not_known_fills_up_never(self):
        self.change_pools(used_gib=None)
        self.balancer.round()
        self.assertEqual((), self.days(8).moves)
        self.assertIsNone(self.pool().growth_gib_day)

    @ddt.data('serifos_volume_homes.gib', 'serifos_volume_homes.pool',
              'serifos_pool_space.used_gib')
    def test_a_value_that_nobody_wrote_ends_no_round(self, where):
        table, column = where.split('.')
        self.days(1)
        with sqlite3.connect(self.database.file) as made:
            made.execute(f"UPDATE {table} SET {column} = x'ff'")
        made.close()
        self.days(3)
        self.assertEqual(1, self.log.output.count(
            f'The history {self.database.file} is damaged (one of its values '
            "is b'\\xff', not a"))
