# SPDX-License-Identifier: Apache-2.0
"""One balancer acts at a time, whatever becomes of real locks.

Two balancers in processes of their own; the cloud bears witness that no
migration is asked for while another is in flight, and none of a volume that
either of them has just moved.
"""

import os
import signal
import time

from tests.functional import leaders
from tests.functional import machine
from tests.functional import servers


class TwoLeadersTest(machine.MachineTest):

    def balancers(self, lock, database):
        made = leaders.Balancers(self, lock.lock_url, database.connection)
        machine.wait_until(lambda: made.more(2))
        return made

    def assert_one_led(self, balancers, more=3):
        """Migrations go on, none twice or too early."""
        so_far = len(balancers.cloud.asked)
        machine.wait_until(lambda: balancers.more(so_far + more))
        self.assertEqual([], balancers.cloud.faults)

    def test_a_connection_that_the_server_closed(self):
        server = servers.MariaDB(self)
        server.sql('set global wait_timeout = 1')
        balancers = self.balancers(server, server)
        time.sleep(6)
        self.assert_one_led(balancers)

    def test_a_server_that_was_restarted(self):
        server = servers.MariaDB(self)
        balancers = self.balancers(server, server)
        for _ in range(2):
            server.restart()
            self.assert_one_led(balancers)

    def test_a_leader_that_was_stopped_beyond_its_lease(self):
        etcd, database = servers.Etcd(self), servers.PostgreSQL(self)
        balancers = self.balancers(etcd, database)
        for _ in range(2):
            first = balancers.leader()
            os.kill(first.pid, signal.SIGSTOP)
            try:
                machine.wait_until(
                    lambda: balancers.leader() is not first)
                self.assert_one_led(balancers, 1)
            finally:
                os.kill(first.pid, signal.SIGCONT)
            self.assert_one_led(balancers)
