# SPDX-License-Identifier: Apache-2.0
"""The history in real MariaDB and PostgreSQL servers."""

import unittest

import ddt
import testtools

from serifos.database import connection
from serifos.database import history_store
from serifos.database.history_store import Store
from serifos.database import pool_errors
from serifos.database import space
from serifos import errors
from tests.functional import machine
from tests.functional import servers
from tests.unit.database.history_behaviour import BEGIN
from tests.unit.database.history_behaviour import Behaviour
from tests.unit.database.history_behaviour import done
from tests.unit.database import homes_behaviour
from tests.unit.database import pool_errors_behaviour
from tests.unit.database import space_behaviour

BEHAVIOURS = ((Behaviour, 15), (space_behaviour.Behaviour, 4),
              (homes_behaviour.Behaviour, 6),
              (pool_errors_behaviour.Behaviour, 4))
"""Tests of any database, and how many there are at least."""


def _database(server):
    return connection.Database(
        server.connection, {'mysql_sql_mode': 'TRADITIONAL'},
        connection.HISTORY)


def _cases(server, behaviour):
    """What it does in any database, each test beginning empty."""
    class OnServer(behaviour, testtools.TestCase):

        def setUp(self):
            super().setUp()
            self.database = _database(server)
            for table in (history_store.HEAD, space.USED,
                          pool_errors.ERRORS):
                self.database.run(table.metadata.drop_all)

    return unittest.defaultTestLoader.loadTestsFromTestCase(OnServer)


@ddt.ddt
class HistoryServersTest(machine.MachineTest):

    @ddt.data(servers.MariaDB, servers.PostgreSQL)
    def test_as_in_any_database(self, kind):
        server = kind(self)
        for behaviour, least in BEHAVIOURS:
            result = unittest.TestResult()
            _cases(server, behaviour).run(result)
            self.assertGreater(result.testsRun, least)
            self.assertEqual([], [f'{case.id()}\n{why}' for case, why in (
                *result.failures, *result.errors)])

    @ddt.data(servers.MariaDB, servers.PostgreSQL)
    def test_a_server_that_is_down(self, kind):
        server = kind(self)
        store = Store(_database(server))
        store.add(done('a', BEGIN), store.until())
        server.stop()
        for asked in (store.until, lambda: store.add(
                done('a', BEGIN + 300), BEGIN + 300)):
            error = self.assertRaises(errors.CloudError, asked)
            self.assertIn('look at [history] connection', str(error))
            self.assertNotIn('sesame', str(error))
        server.start()
        self.assertEqual(BEGIN + 300, store.until())
        self.assertTrue(store.add(done('a', BEGIN + 300),
                                  store.until()))
