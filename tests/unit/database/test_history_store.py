# SPDX-License-Identifier: Apache-2.0
"""The history in SQLite: as in any database, durable, and bounded."""

import multiprocessing
import os
import signal
import sqlite3
import time

import ddt
import fixtures
import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos.database import connection
from serifos.database import history_store
from serifos.database.history_store import PART
from serifos.database.history_store import Store
from serifos.database.history_store import Tier
from serifos.database.history_store import TIERS
from serifos import errors
from tests.unit import case
from tests.unit.database import history_behaviour
from tests.unit.database.history_behaviour import BEGIN


def _database(path):
    return connection.Database(f'sqlite:///{path}',
                               content=connection.HISTORY)


def _write(path):
    """Writes round after round until it is killed."""
    store = Store(_database(path))
    volumes = [f'{n:04}' for n in range(1500)]
    at = BEGIN
    while store.add(history_behaviour.done(volumes, at), store.until()):
        at += 300


class Case(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.path = self.dir / 'history.sqlite'
        self.database = _database(self.path)

    def sql(self, statement, *values):
        made = sqlite3.connect(self.path)
        with made:
            found = made.execute(statement, values).fetchall()
        made.close()
        return found


@ddt.ddt
class StoreTest(history_behaviour.Behaviour, Case):

    def test_reading_makes_nothing(self):
        self.assertEqual(0, self.store().until())
        self.assertTrue(np.isnan(self.store().read(
            history_behaviour.places('a'), BEGIN, BEGIN + 60,
            60).iops).all())
        self.assertFalse(self.path.exists())
        self.rounds('a', BEGIN)
        self.assertEqual(0o640, self.path.stat().st_mode & 0o777)

    def test_it_is_written_while_it_is_read(self):
        """A planner that reads for seconds keeps no round from ending."""
        self.rounds('a', BEGIN)

        def read(connection):
            rows = TIERS[0].rows(connection, BEGIN,
                                 BEGIN + 300)
            first = next(rows)
            self.rounds('a', BEGIN + 300)
            return [first, *rows]
        began = time.monotonic()
        self.assertEqual(5, len(self.database.run(read)))
        self.assertLess(time.monotonic() - began, 10)
        self.assert_iops([[100, 100]], BEGIN, 300, 'a')

    def test_the_file_does_not_grow_once_it_is_full(self):
        store = self.store(tiers=(Tier(60, 600), Tier(300, 900)))
        volumes = [f'{n:04}' for n in range(1200)]
        sizes, end = [], BEGIN
        for _ in range(6):
            end = self.rounds(volumes, end, 2, store)
            sizes.append(self.path.stat().st_size)
        self.assertLess(sizes[0], sizes[2])
        self.assertEqual(sizes[3], sizes[-1])

    def test_what_has_been_committed_outlives_a_kill(self):
        """SIGKILL at any time: a round is in all slots or in none."""
        context = multiprocessing.get_context('fork')
        rng = np.random.default_rng(0)
        for _ in range(3):
            before = self.store().until()
            writer = context.Process(target=_write, args=(self.path,))
            writer.start()
            while self.store().until() < (before or BEGIN) + 600:
                time.sleep(0.05)
            time.sleep(rng.uniform(0, 0.1))
            os.kill(writer.pid, signal.SIGKILL)
            writer.join()
            self.assertEqual([('ok',)], self.sql('PRAGMA integrity_check'))
            self.assertGreaterEqual(self.store().until(),
                                    (before or BEGIN) + 600)
            (raw,), (five,), (hour,) = (
                self.sql('SELECT sum(length(figures)) FROM '
                         'serifos_history_slots WHERE step_s = ?', step_s)[0]
                for step_s in (60, 300, 3600))
            rounds = five // (1500 * history_store.BYTES)
            self.assertEqual(rounds * 1500 * history_store.BYTES, five)
            self.assertEqual(min(5 * rounds, 360), raw // (
                1500 * history_store.BYTES))
            self.assertEqual(-(-rounds // 12), hour // (
                1500 * history_store.BYTES))

    def is_set_aside(self, why, verb):
        """One that is damaged costs its days, and no round after this."""
        error = self.assertRaises(errors.InputError, verb)
        aside = self.dir / 'history.sqlite.damaged'
        self.assertEqual(
            f'The history {self.path} is damaged ({why}); it is set aside as '
            f'{aside}, and a new one is begun.', str(error))
        self.assertTrue(aside.exists())
        self.rounds('a', BEGIN + 600)
        self.assert_iops([[100]], BEGIN + 600, 300, 'a')

    def test_a_file_that_is_none(self):
        for number in range(2):
            self.path.write_bytes(b'not a database' * (100 + number))
            self.is_set_aside('file is not a database', self.store().until)
        self.assertEqual(2, len([*self.dir.iterdir()]))

    def test_a_page_that_is_none(self):
        self.rounds('a', BEGIN)
        with self.path.open('r+b') as file:
            file.seek(4096)
            file.write(b'x' * 4096)
        self.is_set_aside('database disk image is malformed',
                          self.store().until)

    def test_a_table_that_is_gone(self):
        self.rounds('a', BEGIN)
        self.sql('DROP TABLE serifos_history_slots')
        self.is_set_aside(
            'no such table: serifos_history_slots', lambda: self.rounds(
                'a', BEGIN + 300))

    def test_an_end_that_is_no_number(self):
        self.rounds('a', BEGIN)
        self.sql('UPDATE serifos_history SET until = ?', b'\xff')
        self.is_set_aside("one of its values is b'\\xff', not a whole number",
                          self.store().until)

    @ddt.data(b'x' * 31, 'x', 10 ** 12)
    def test_a_row_that_cannot_be_read_costs_itself(self, figures):
        log = self.useFixture(fixtures.FakeLogger())
        self.rounds('a', BEGIN)
        self.rounds('a', BEGIN + 300)
        self.sql('UPDATE serifos_history_slots SET figures = ? WHERE step_s '
                 '= 300 AND begin = ?', figures, BEGIN)
        self.assert_iops([[np.nan, 100]], BEGIN, 300, 'a')
        self.assertIn('delete that row', log.output)


@ddt.ddt
class PackedTest(testtools.TestCase):

    @hypothesis.given(strategies.lists(strategies.integers(0, PART - 1),
                                       unique=True),
                      strategies.integers(0, 999))
    def test_what_is_packed_is_unpacked(self, places, seed):
        figures = np.random.default_rng(seed).random(
            (7, len(places))).astype(np.float32)
        figures[0, ::3] = 0
        seen = figures[0] > 0
        data = history_store.pack(np.array(places, int), figures)
        self.assertEqual(seen.sum() * history_store.BYTES, len(data))
        found, known = history_store.unpack(data)
        np.testing.assert_array_equal(np.array(places)[seen], found)
        np.testing.assert_array_equal(figures[:, seen], known)

    @hypothesis.given(strategies.lists(strategies.lists(
        strategies.integers(0, PART - 1), unique=True), max_size=4))
    def test_what_is_added_is_the_sum(self, parts):
        data, total = None, np.zeros((7, PART))
        for places in parts:
            figures = np.full((7, len(places)), 2.0, np.float32)
            data = history_store.pack_more(
                data, np.array(places, int), figures)
            total[:, places] += 2
        places, figures = history_store.unpack(data or b'')
        np.testing.assert_array_equal(np.flatnonzero(total[0]),
                                      np.sort(places))
        np.testing.assert_array_equal(total[:, places], figures)

    @ddt.data(b'x', b'\xff' * history_store.BYTES)
    def test_what_was_not_packed(self, data):
        self.assertRaises(errors.FormatError, history_store.unpack, data)
