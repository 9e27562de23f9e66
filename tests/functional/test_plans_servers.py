# SPDX-License-Identifier: Apache-2.0
"""Plans in real MariaDB and PostgreSQL servers, and two hosts that share one.
"""

import unittest

import ddt
import testtools

from serifos.database import journal
from serifos.database import plans
from serifos.database import rounds
from serifos import errors
from tests.functional import machine
from tests.functional import servers
from tests.unit.balancer import cloud
from tests.unit.balancer import hosts_behaviour
from tests.unit.database import plans_behaviour
from tests.unit.database import rounds_behaviour

BEHAVIOURS = (
    (plans_behaviour.Behaviour, testtools.TestCase, 11),
    (rounds_behaviour.Behaviour, testtools.TestCase, 3),
    (hosts_behaviour.Behaviour, cloud.Case, 5))
"""Tests of any database, their case, and how many there are at least."""


def _cases(server, behaviour, base):
    """What it does in any database, each test beginning empty."""
    class OnServer(behaviour, base):

        url = server.connection

        def setUp(self):
            self.database = servers.database(self.url)
            for table in plans.PLANS, journal.HEAD, rounds.ROUNDS:
                self.database.run(table.metadata.drop_all)
            super().setUp()

    return unittest.defaultTestLoader.loadTestsFromTestCase(OnServer)


@ddt.ddt
class PlansServersTest(machine.MachineTest):

    @ddt.data(servers.MariaDB, servers.PostgreSQL)
    def test_as_in_any_database(self, kind):
        server = kind(self)
        for behaviour, base, least in BEHAVIOURS:
            result = unittest.TestResult()
            _cases(server, behaviour, base).run(result)
            self.assertGreater(result.testsRun, least)
            self.assertEqual([], [f'{case.id()}\n{why}' for case, why in (
                *result.failures, *result.errors)])

    @ddt.data(servers.MariaDB, servers.PostgreSQL)
    def test_a_server_that_is_down(self, kind):
        server = kind(self)
        stored = plans.Plans(servers.database(server.connection))
        stored.keep(plans_behaviour.plan('one'), plans_behaviour.NOW,
                    self.fail)
        server.stop()
        for asked in (lambda: stored.stored('one'),
                      lambda: stored.every(self.fail)):
            error = self.assertRaises(errors.CloudError, asked)
            self.assertIn('look at [database] connection', str(error))
            self.assertNotIn('sesame', str(error))
        server.start()
        self.assertEqual('one', stored.stored('one').id)
