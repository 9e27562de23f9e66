# SPDX-License-Identifier: Apache-2.0
"""The journal in real MariaDB and PostgreSQL servers."""

import multiprocessing
import os
import signal
import time

import ddt
import sqlalchemy

from serifos.database.journal import ENTRIES
from serifos.database.journal import HEAD
from serifos.database.journal import Journal
from serifos import errors
from serifos.facts.journal import doubt
from tests.functional import machine
from tests.functional import servers
from tests.unit import case
from tests.unit.database import test_journal as unit


def _fight(url, name, seconds, results):
    """Takes the lead again and again, and writes until that is lost."""
    journal = Journal(servers.database(url), time.time, long=40)
    written = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        mine = journal.take_lead(name, 'auto')
        try:
            for _ in range(4):
                mine.write('accepted', volume=f'{name}-{mine.token}')
                written.append(mine.token)
        except errors.NotLeading:
            continue
    results.put((name, written))


def _stop_in_a_transaction(url):
    """Locks the journal's head, and is stopped before it commits."""
    def work(transaction):
        transaction.execute(
            sqlalchemy.update(HEAD).values(leader='stopped'))
        os.kill(os.getpid(), signal.SIGSTOP)
    servers.database(url).run(work)


@ddt.ddt
class JournalServersTest(machine.MachineTest):

    def journal(self, server):
        return Journal(servers.database(server.connection), time.time)

    @ddt.data(servers.MariaDB, servers.PostgreSQL)
    def test_two_processes_at_once(self, kind):
        server = kind(self)
        self.journal(server).write(
            'back-off', volume='v', until='2126-01-15T07:00:00Z')
        context = multiprocessing.get_context('spawn')
        results = context.Queue()
        fighters = [context.Process(target=_fight, args=(
            server.connection, name, 4, results)) for name in 'ab']
        for fighter in fighters:
            fighter.start()
        told = [results.get(timeout=case.PATIENCE_S) for _ in fighters]
        for fighter in fighters:
            fighter.join(30)
        entries = self.journal(server).entries()
        # It outlived the shortening.
        self.assertEqual(['v'], [e.facts['volume'] for e in entries
                                 if e.kind == 'back-off'])
        tokens = [int(e.facts['volume'].partition('-')[2])
                  for e in entries if e.kind == 'accepted']
        self.assertEqual(sorted(tokens), tokens)
        self.assertGreater(len(tokens), 3)
        self.assertEqual({'a', 'b'}, {name for name, written in told
                                      if written})

    @ddt.data(servers.MariaDB, servers.PostgreSQL)
    def test_what_is_written_is_read(self, kind):
        server = kind(self)
        journal = self.journal(server)
        self.assertEqual((), journal.entries())
        leader = journal.take_lead('one', 'auto')
        asked = leader.write('request', volume='v', **unit.REQUEST)
        said = leader.write('refused', volume='v', reason='é 😀' * 300)
        self.assertEqual((asked, said), journal.entries())
        journal.take_lead('other', 'auto')
        error = self.assertRaises(errors.NotLeading, leader.write, 'pause',
                                  reason='')
        self.assertIn('Another balancer, other, has', str(error))
        server.stop()
        error = self.assertRaises(errors.CloudError, journal.entries)
        self.assertIn('cannot be used', str(error))
        self.assertNotIn('sesame', str(error))
        server.start()
        self.assertEqual((asked, said), journal.entries())

    @ddt.data(servers.MariaDB, servers.PostgreSQL)
    def test_an_empty_database_in_its_place(self, kind):
        server = kind(self)
        journal = self.journal(server)
        leader = journal.take_lead('one', 'auto')
        leader.write('accepted', volume='v')
        self.assertIsNone(leader.missing())
        journal.database.run(lambda connection: [
            table.drop(connection)
            for table in (HEAD, ENTRIES)])
        error = self.assertRaises(
            errors.InputError, leader.write, 'accepted', volume='w')
        self.assertIn('This balancer stops acting: the journal', str(error))
        self.assertIn('remembers: that had 1 entries, this has 0',
                      doubt(journal.entries()))

    @ddt.data(servers.MariaDB, servers.PostgreSQL)
    def test_a_leader_that_is_stopped_in_a_transaction(self, kind):
        server = kind(self)
        journal = self.journal(server)
        journal.take_lead('one', 'auto')
        stopped = multiprocessing.get_context('spawn').Process(
            target=_stop_in_a_transaction, args=(server.connection,))
        stopped.start()
        self.addCleanup(stopped.join)
        self.addCleanup(stopped.kill)
        machine.wait_until(lambda: machine.state(stopped.pid) == 'T')
        machine.wait_until(lambda: self.takes_lead(journal))
        self.assertEqual('other', journal.leader().name)

    def takes_lead(self, journal):
        try:
            journal.take_lead('other', 'auto')
        except errors.CloudError:
            return False
        return True
