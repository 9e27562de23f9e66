# SPDX-License-Identifier: Apache-2.0
"""The history in real MariaDB and PostgreSQL servers."""

import unittest

import ddt
import testtools

from serifos.database import connection
from serifos.database.history import store as st
from serifos.database.history import tables
from serifos import errors
from tests.functional import machine
from tests.functional import servers
from tests.unit.database.history import behaviour as bh


def _database(server):
    return connection.Database(
        server.connection, {'mysql_sql_mode': 'TRADITIONAL'},
        connection.HISTORY)


def _cases(server):
    """What a history does in any database, each test beginning empty."""
    class OnServer(bh.Behaviour, testtools.TestCase):

        def setUp(self):
            super().setUp()
            self.database = _database(server)
            self.database.run(tables.HEAD.metadata.drop_all)

    return unittest.defaultTestLoader.loadTestsFromTestCase(OnServer)


@ddt.ddt
class HistoryServersTest(machine.MachineTest):

    @ddt.data(servers.MariaDB, servers.PostgreSQL)
    def test_as_in_any_database(self, kind):
        result = unittest.TestResult()
        _cases(kind(self)).run(result)
        self.assertGreater(result.testsRun, 15)
        self.assertEqual([], [f'{case.id()}\n{why}' for case, why in (
            *result.failures, *result.errors)])

    @ddt.data(servers.MariaDB, servers.PostgreSQL)
    def test_a_server_that_is_down(self, kind):
        server = kind(self)
        store = st.Store(_database(server))
        store.add(bh.done('a', bh.BEGIN), store.until())
        server.stop()
        for asked in (store.until, lambda: store.add(
                bh.done('a', bh.BEGIN + 300), bh.BEGIN + 300)):
            error = self.assertRaises(errors.CloudError, asked)
            self.assertIn('look at [history] connection', str(error))
            self.assertNotIn('sesame', str(error))
        server.start()
        self.assertEqual(bh.BEGIN + 300, store.until())
        self.assertTrue(store.add(bh.done('a', bh.BEGIN + 300),
                                  store.until()))
