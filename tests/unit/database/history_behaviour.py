# SPDX-License-Identifier: Apache-2.0
"""What a history in a database does, whatever the database."""

from __future__ import annotations

import threading

import numpy as np
import sqlalchemy

from serifos.database import history_store
from serifos.database.history_store import Store
from serifos.database.history_store import Tier
from serifos import errors
from serifos.facts.history import Series
from tests.unit.telemetry import readings

BEGIN = 1_800_000_000
HOUR, DAY = 3600, 86400


def done(volumes, begin, slots=5, iops=100.0, seen_s=60.0, step_s=60):
    """A series in which all volumes do the same; the nth n times as much."""
    found = Series.empty(volumes, begin, begin + slots * step_s, step_s)
    each = iops * np.arange(1, len(volumes) + 1) * seen_s
    found.sums[0] = seen_s
    for nth, share in enumerate((.5, .5, 2048, 2048, .001, .001), 1):
        found.sums[nth] = each * share
    return found


def places(*volumes):
    return [readings.place(volume) for volume in volumes]


class Behaviour:
    """The tests; who uses them has ``database``, empty when one begins."""

    def store(self, **others):
        return Store(self.database, **others)

    def rounds(self, volumes, begin, count=1, store=None, **others):
        """Writes rounds of five minutes, one after another."""
        store = store or self.store()
        for nth in range(count):
            self.assertTrue(store.add(
                done(volumes, begin + 300 * nth, **others), store.until()))
        return begin + 300 * count

    def assert_iops(self, expected, begin, step_s, *volumes, store=None):
        """Holds the rates of volumes, a list each, against the expected."""
        found = (store or self.store()).read(
            places(*volumes), begin, begin + step_s * len(expected[0]),
            step_s)
        np.testing.assert_allclose(
            np.array(expected, float).T, found.iops, rtol=1e-5)

    def test_what_is_added_is_read_in_slots_of_any_length(self):
        self.assertEqual(0, self.store().until())
        self.rounds('ab', BEGIN, 24)
        self.rounds('ab', BEGIN + 2 * HOUR, 12, iops=300)
        self.assertEqual(BEGIN + 3 * HOUR, self.store().until())
        self.assert_iops([[200] * 2 + [600], [100] * 2 + [300]], BEGIN, HOUR,
                         'b', 'a')
        self.assert_iops([[100] * 24 + [300] * 12], BEGIN, 300, 'a')
        self.assert_iops([[100] * 120 + [300] * 60], BEGIN, 60, 'a')
        self.assert_iops([[200, 600]], BEGIN, 2 * HOUR, 'b')
        self.assert_iops([[np.nan, 100, 100, 300, np.nan]], BEGIN - HOUR,
                         HOUR, 'a')
        seen = self.store().read(places('a'), BEGIN, BEGIN + 60, 60)
        self.assertEqual(BEGIN, seen.begin)
        for name, value in (('seconds', 60), ('write_pct', 50),
                            ('block_kib', 4), ('latency_us', 2000),
                            ('outstanding', .2)):
            np.testing.assert_allclose([[value]], getattr(seen, name),
                                       rtol=1e-5)

    def test_slots_of_a_length_that_is_not_kept(self):
        error = self.assertRaises(
            errors.InputError, self.store().read, places('a'), BEGIN,
            BEGIN + 90, 90)
        self.assertIn('a multiple of 60 s', str(error))

    def test_the_hour_goes_on_where_a_round_ended(self):
        self.rounds('a', BEGIN, seen_s=30)
        self.rounds('a', BEGIN + 300, slots=1, iops=700)
        self.assert_iops([[(100 * 150 + 700 * 60) / 210]], BEGIN, HOUR, 'a')
        seen = self.store().read(places('a'), BEGIN, BEGIN + HOUR, HOUR)
        np.testing.assert_allclose([[210]], seen.seconds)

    def test_gap(self):
        end = self.rounds('ab', BEGIN)
        self.rounds('ab', end + 600)
        self.assert_iops([[100, np.nan, np.nan, 100]], BEGIN, 300, 'a')
        self.assert_iops([[100]], BEGIN, HOUR, 'a')

    def test_an_exporter_that_goes_and_comes(self):
        """Its volumes are there all the time, and seen some of it."""
        for nth, seen in enumerate((True, False, True)):
            series = done('ab', BEGIN + 300 * nth)
            series.sums[:, :, 1] *= seen
            self.assertTrue(self.store().add(series, self.store().until()))
        self.assert_iops([[100] * 3, [200, np.nan, 200]], BEGIN, 300, 'a',
                         'b')
        self.assertEqual({'a': None, 'b': None}, self.gone())

    def gone(self):
        """Volume → when it was gone."""
        return self.database.run(lambda connection: {
            row.volume: row.gone_at for row in connection.execute(
                sqlalchemy.select(history_store.VOLUMES))})

    def test_volumes_that_are_new_and_deleted(self):
        end = self.rounds('ab', BEGIN)
        end = self.rounds('bc', end)
        self.assert_iops(
            [[100, np.nan], [200, 100], [np.nan, 200], [np.nan] * 2],
            BEGIN, 300, 'a', 'b', 'c', 'd')
        self.assertEqual({'b': None, 'c': None},
                         {v: at for v, at in self.gone().items() if v != 'a'})
        self.assertGreaterEqual(self.gone()['a'], end)
        self.rounds('abc', end)
        self.assertIsNone(self.gone()['a'])
        self.assert_iops([[100, np.nan, 100]], BEGIN, 300, 'a')

    def test_a_number_is_given_anew_when_nothing_is_left_of_its_volume(self):
        store = self.store(tiers=(Tier(60, 300), Tier(300, 600)))
        end = self.rounds('ab', BEGIN, store=store)
        for nth in range(8):
            end = self.rounds([f'c{nth}', 'b'], end, store=store)
        numbers = self.database.run(lambda connection: {
            row.volume: row.number for row in connection.execute(
                sqlalchemy.select(history_store.VOLUMES))})
        self.assertNotIn('a', numbers)
        self.assertLess(max(numbers.values()), 7)
        self.assertEqual(len(numbers), len(set(numbers.values())))
        self.assert_iops([[200] * 2, [100, np.nan], [np.nan, 100]],
                         end - 600, 300, 'b', 'c6', 'c7', store=store)

    def test_what_is_old_is_deleted(self):
        store = self.store(tiers=(Tier(60, 600), Tier(300, 1200),
                                  Tier(HOUR, DAY)))
        end = self.rounds('a', BEGIN, 30, store=store)
        for step_s, keep_s in ((60, 600), (300, 1200)):
            seen = store.read(places('a'), BEGIN, end, step_s).seconds
            self.assertEqual(keep_s, seen.sum(), step_s)
            self.assertTrue((seen[-keep_s // step_s:] > 0).all())
        self.assertEqual(9000, store.read(
            places('a'), BEGIN, end, HOUR).seconds.sum())

    def seen_s(self, step_s, begin=BEGIN - DAY, end=BEGIN + 5 * DAY):
        return float(self.store().read(
            places('a'), begin, end, step_s).seconds.sum())

    def test_a_clock_that_was_ahead_for_an_hour(self):
        """What it wrote goes, and costs little of what is right."""
        end = self.rounds('a', BEGIN, 24)
        ahead = BEGIN + 3 * DAY
        self.rounds('a', ahead, 12)
        self.assertEqual(2 * HOUR, self.seen_s(300, end=end))
        self.rounds('a', end, 13)
        self.assertEqual(3 * HOUR + 300, self.seen_s(300))
        self.assertEqual(3 * HOUR + 300, self.seen_s(HOUR))
        self.assertEqual(0, self.seen_s(60, begin=ahead))

    def test_a_clock_that_is_years_ahead_deletes_no_more_than_it_writes(self):
        end = self.rounds('a', BEGIN, 40)
        self.rounds('a', BEGIN + 3650 * DAY, 12)
        self.assertEqual(200 * 60 - 120 * 60, self.seen_s(60, end=end))
        self.assertEqual(40 * 300 - 24 * 300, self.seen_s(300, end=end))

    def test_a_clock_that_was_behind_for_a_while(self):
        """The same minutes twice: no rate is wrong by that."""
        self.rounds('a', BEGIN, 12)
        self.rounds('a', BEGIN + 300, 2, iops=300)
        self.assert_iops([[100, 200, 200, 100]], BEGIN, 300, 'a')

    def test_years_behind_costs_no_volume_its_number(self):
        """What is gone then is not forgotten while it is in the slots."""
        end = self.rounds('ab', BEGIN, 4)
        self.rounds('b', BEGIN - 10_000 * DAY, 2)
        self.rounds('bc', end)
        self.assert_iops([
            [100] * 2 + [np.nan] * 3, [200] * 2 + [np.nan] * 2 + [100],
            [np.nan] * 4 + [200]], BEGIN, 300, 'a', 'b', 'c')

    def test_nothing_is_added_twice(self):
        store = self.store()
        self.rounds('a', BEGIN)
        until = store.until()
        again = done('a', until)
        self.assertTrue(store.add(again, until))
        self.assertFalse(store.add(again, until))
        self.assert_iops([[100, 100, np.nan]], BEGIN, 300, 'a')
        self.assertEqual(600, store.read(
            places('a'), BEGIN, BEGIN + 900, 300).seconds.sum())

    def test_several_that_write_the_same_minutes(self):
        self.rounds('a', BEGIN)
        until, added = self.store().until(), []

        def write():
            for nth in range(4):
                at = until + 300 * nth
                added.append(self.store().add(done('a', at), at))
        threads = [threading.Thread(target=write) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(4, added.count(True), added)
        self.assertEqual(1500, self.store().read(
            places('a'), BEGIN, BEGIN + HOUR, HOUR).seconds.sum())

    def test_more_volumes_than_a_row_holds(self):
        volumes = [f'{n:05}' for n in range(2500)]
        self.rounds(volumes, BEGIN, 2)
        some = [2499, 3, 1024, 1023]
        self.assert_iops([[100 * (n + 1)] * 2 for n in some], BEGIN, 300,
                         *(volumes[n] for n in some))
        found = self.store().read(places(*volumes), BEGIN, BEGIN + 600, 300)
        np.testing.assert_allclose(
            [100 * np.arange(1, 2501)] * 2, found.iops, rtol=1e-5)

    def test_a_round_without_volumes(self):
        self.rounds('a', BEGIN)
        self.rounds([], BEGIN + 300)
        self.assert_iops([[100, np.nan]], BEGIN, 300, 'a')
        self.assertEqual(0, len(self.store().read(
            [], BEGIN, BEGIN + 300, 300).volumes))

    def test_a_newer_version_is_refused(self):
        self.rounds('a', BEGIN)
        self.database.run(lambda connection: connection.execute(
            sqlalchemy.update(history_store.HEAD).values(version=2)),
            write=True)
        for refused in (
                self.store().until,
                lambda: self.store().add(done('a', BEGIN + 600), BEGIN + 600),
                lambda: self.store().read(places('a'), BEGIN, BEGIN, 60)):
            error = self.assertRaises(errors.FormatError, refused)
            self.assertIn('is of version 2; this serifos knows versions up '
                          'to 1. Install', str(error))
