# SPDX-License-Identifier: Apache-2.0
"""Transactions of SQLite."""

import threading

import sqlalchemy

from serifos.database.connection import Database
from serifos import errors
from tests.unit import case
from tests.unit.database import at_once

TABLE = sqlalchemy.Table('t', sqlalchemy.MetaData(),
                         sqlalchemy.Column('n', sqlalchemy.Integer))


class TransactionTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.url = f'sqlite:///{self.dir}/journal.sqlite'
        Database(self.url).run(TABLE.create, write=True)

    def rows(self):
        return Database(self.url).run(lambda connection: [
            row.n for row in connection.execute(sqlalchemy.select(TABLE))])

    def test_what_reads_before_it_writes_waits_for_another_that_does(self):
        both = threading.Barrier(2)

        def work(connection):
            count = connection.scalar(
                sqlalchemy.select(sqlalchemy.func.count()).select_from(TABLE))
            if count == 0:
                reading.set()
                wrote.wait(0.2)  # for a writer that does not wait
            connection.execute(sqlalchemy.insert(TABLE).values(n=count))

        def one():
            both.wait(case.PATIENCE_S)
            Database(self.url).run(work, write=True)
            wrote.set()
        reading, wrote = threading.Event(), threading.Event()
        self.assertEqual([], at_once.failures(one))
        self.assertTrue(reading.is_set())
        self.assertEqual([0, 1], self.rows())

    def test_nothing_is_written_where_the_work_fails(self):
        def work(connection):
            connection.execute(sqlalchemy.insert(TABLE).values(n=1))
            raise KeyError

        self.assertRaises(errors.SerifosError,
                          Database(self.url).run, work, True)
        self.assertEqual([], self.rows())
