# SPDX-License-Identifier: Apache-2.0
"""Transactions of SQLite."""

import threading

import sqlalchemy as sa

from serifos.database import connection as cn
from serifos import errors
from tests.unit import case
from tests.unit.database import at_once

TABLE = sa.Table('t', sa.MetaData(), sa.Column('n', sa.Integer))


class TransactionTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.url = f'sqlite:///{self.dir}/journal.sqlite'
        cn.Database(self.url).run(TABLE.create, write=True)

    def rows(self):
        return cn.Database(self.url).run(lambda connection: [
            row.n for row in connection.execute(sa.select(TABLE))])

    def test_what_reads_before_it_writes_waits_for_another_that_does(self):
        both = threading.Barrier(2)

        def work(connection):
            count = connection.scalar(
                sa.select(sa.func.count()).select_from(TABLE))
            if count == 0:
                reading.set()
                wrote.wait(0.2)  # for a writer that does not wait
            connection.execute(sa.insert(TABLE).values(n=count))

        def one():
            both.wait(30)
            cn.Database(self.url).run(work, write=True)
            wrote.set()
        reading, wrote = threading.Event(), threading.Event()
        self.assertEqual([], at_once.failures(one))
        self.assertTrue(reading.is_set())
        self.assertEqual([0, 1], self.rows())

    def test_nothing_is_written_where_the_work_fails(self):
        def work(connection):
            connection.execute(sa.insert(TABLE).values(n=1))
            raise KeyError

        self.assertRaises(errors.SerifosError,
                          cn.Database(self.url).run, work, True)
        self.assertEqual([], self.rows())
