# SPDX-License-Identifier: Apache-2.0
"""The journal in a database, and its fencing token."""

import concurrent.futures
import sqlite3

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos.balancer import plans
from serifos.database import connection
from serifos.database.journal import Journal
from serifos import errors
from serifos.facts.journal import approvals
from serifos.facts.journal import doubt
from serifos.facts.journal import last_moves
from serifos.facts.journal import open_moves
from serifos.facts.journal import paused
from tests.unit import case
from tests.unit.database import plans_behaviour

REQUEST = {'source': 'a', 'target': 'b', 'plan': 'p', 'size_gib': 1}
OUTCOME = {'result': 'success', 'reason': '', 'source': 'a', 'target': 'b',
           'seconds': 1.0}


class Case(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.path = self.dir / 'journal.sqlite'
        self.now = 1_800_000_000.0

    def journal(self, **others):
        return Journal(
            connection.Database(f'sqlite:///{self.path}'), lambda: self.now,
            **others)

    def after(self, delay, kind, /, **facts):
        self.now += delay
        return self.journal().write(kind, **facts)

    def sql(self, *statement):
        with sqlite3.connect(self.path) as made:
            made.execute(*statement)
        made.close()


@ddt.ddt
class DatabaseTest(Case):

    def test_what_is_written_is_read_again(self):
        one = self.after(0, 'request', volume='v', **REQUEST)
        two = self.after(1, 'resume', reason='é 😀')
        self.assertEqual((one, two), self.journal().entries())
        self.assertEqual('2027-01-15T08:00:00.000Z', one.at)
        self.assertEqual(0o640, self.path.stat().st_mode & 0o777)

    def test_reading_makes_nothing(self):
        self.assertEqual((), self.journal().entries())
        self.assertEqual([], list(self.dir.iterdir()))

    @ddt.data(('request', {'volume': 'v', **REQUEST, 'size_gib': 1e400}),
              ('request', {'volume': 'v'}), ('nap', {}),
              ('pause', {'reason': '', 'more': float('nan')}))
    @ddt.unpack
    def test_what_no_reader_could_use_is_not_written(self, kind, facts):
        self.assertRaises(errors.InputError, self.journal().write, kind,
                          **facts)
        self.assertEqual((), self.journal().entries())

    @ddt.data(
        ('facts', 'x', 'not JSON'), ('facts', '[]', 'not a JSON object'),
        ('facts', '{"volume": "v", "source": "a", "target": "b", "plan": "p",'
         ' "size_gib": NaN}', 'NaN'), ('facts', '{}', 'volume is null'),
        ('facts', '[' * 100_000, 'nested'), ('facts', 5, 'not a JSON object'),
        ('kind', b'nap', 'not request or'), ('written_at', 'noon', "'noon'"),
        ('written_at', b'noon', 'its at is'), ('facts', b'\xff', 'UTF-8'))
    @ddt.unpack
    def test_a_broken_entry_is_named_and_nothing_moves(
            self, column, value, said):
        self.after(0, 'request', volume='v', **REQUEST)
        self.sql(f'update serifos_journal_entries set {column} = ?', (value,))
        other = self.after(1, 'accepted', volume='w')
        _, found = entries = self.journal().entries()
        self.assertEqual(other, found)
        self.assertIn(said, doubt(entries))
        self.assertIn(f'{self.path} has a broken entry, id 1 of '
                      'serifos_journal_entries', doubt(entries))
        self.after(2, 'resume', reason='seen')
        self.assertIsNone(doubt(self.journal().entries()))

    def test_kinds_of_a_newer_release_are_left_out(self):
        one = self.after(0, 'request', volume='v', **REQUEST)
        self.after(1, 'accepted', volume='v')
        self.sql("update serifos_journal_entries set kind = 'nap', "
                 "facts = '[]' where id = 2")
        self.assertEqual((one,), self.journal().entries())

    def test_a_version_that_is_not_known(self):
        self.after(0, 'pause', reason='')
        self.sql("update serifos_journal set version = 'serifos-journal/4'")
        for verb in (self.journal().entries,
                     lambda: self.journal().write('pause', reason=''),
                     lambda: self.journal().take_lead('m', 'auto')):
            error = self.assertRaises(errors.FormatError, verb)
            self.assertIn('is of schema serifos-journal/4; this serifos '
                          'reads serifos-journal/3', str(error))

    def test_what_is_no_database(self):
        self.path.write_text('Shopping: milk, eggs.\n' * 100)
        for verb in (self.journal().entries,
                     lambda: self.journal().write('pause', reason='')):
            error = self.assertRaises(errors.InputError, verb)
            self.assertIn(f'The journal {self.path} is damaged (file is not '
                          'a database); nothing is requested', str(error))
            self.assertIn(f'mkdir -p {self.dir}/damaged && mv {self.path}* '
                          f'{self.dir}/damaged/;', str(error))

    def test_a_place_that_is_not_there(self):
        self.path = self.dir / 'no' / 'journal.sqlite'
        error = self.assertRaises(
            errors.InputError, self.journal().write, 'pause', reason='')
        self.assertIn(f'{self.path} cannot be written: No such', str(error))

    def test_a_symbolic_link_is_not_followed(self):
        precious = self.dir / 'precious'
        precious.touch()
        self.path.symlink_to(precious)
        error = self.assertRaises(
            errors.InputError, self.journal().write, 'pause', reason='')
        self.assertIn('is a symbolic link', str(error))
        self.assertEqual(b'', precious.read_bytes())

    def test_two_that_write_at_once(self):
        def write(name):
            return [self.journal().write('accepted', volume=f'{name}{n}')
                    for n in range(15)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            written = list(pool.map(write, 'abcd'))
        volumes = [e.facts['volume'] for e in self.journal().entries()]
        for name, entries in zip('abcd', written):
            self.assertEqual([f'{name}{n}' for n in range(15)],
                             [v for v in volumes if v.startswith(name)])
        self.assertEqual(60, len(volumes))


class UrlTest(testtools.TestCase):

    def refused(self, url):
        return str(self.assertRaises(errors.InputError,
                                     connection.Database, url))

    def test_what_is_no_url(self):
        for url in ('x', 'nothing://host/db', 'mysql+no://h/d', '://',
                    'mysql+pymysql://u:hush@h:port/d'):
            said = self.refused(url)
            self.assertIn('[database] connection is not a URL', said)
            self.assertNotIn('hush', said)

    def test_memory_is_no_place(self):
        for url in ('sqlite://', 'sqlite:///:memory:'):
            self.assertIn('in memory is lost', self.refused(url))

    def test_a_server_that_does_not_answer(self):
        database = connection.Database(
            'mysql+pymysql://u:hush@127.0.0.1:1/d?read_timeout=5')
        error = self.assertRaises(errors.CloudError, database.run, print)
        self.assertIn('@127.0.0.1:1/d, cannot be used: Can', str(error))
        self.assertNotIn('hush', f'{error}{database!r}')

    def test_a_url_without_a_driver_or_with_odd_parts(self):
        for url in ('mysql://u:hush@127.0.0.1:1/d',
                    'postgresql://u:hush@127.0.0.1:1/d',
                    'mysql://u:hush@127.0.0.1:99999999/d',
                    'mysql://u:hush@127.0.0.1:1/d?charset=klingon',
                    'mysql://u:hush@127.0.0.1:1/d?colour=red'):
            database = connection.Database(url)
            error = self.assertRaises(errors.CloudError, database.run, print)
            self.assertIn('look at [database] connection', str(error))
            self.assertNotIn('hush', str(error))

    @settings(max_examples=80, deadline=None)
    @given(strategies.text()
           | strategies.text().map('mysql+pymysql://u:hush@{}'.format)
           | strategies.text().map('{}://u:hush@h/d'.format))
    def test_any_text_is_a_url_or_refused(self, url):
        try:
            said = connection.Database(url).name
        except errors.InputError as exc:
            said = str(exc)
        self.assertNotIn('hush', said)


class LeadTest(Case):

    def test_who_leads_no_more_writes_nothing(self):
        one = self.journal().take_lead('one', 'auto')
        first = one.write('request', volume='v', **REQUEST)
        one.prove()
        other = self.journal().take_lead('other', 'auto')
        for verb in one.prove, lambda: one.write('request', volume='w',
                                                 **REQUEST):
            error = self.assertRaises(errors.NotLeading, verb)
            self.assertIn('Another balancer, other, has taken the lead, at '
                          '2027-01-15T08:00:00.000Z', str(error))
        other.prove()
        self.assertEqual((first,), other.entries())

    def test_who_leads_is_told_without_a_write(self):
        self.assertIsNone(self.journal().leader())
        self.assertEqual([], [*self.dir.iterdir()])
        self.journal().write('resume', reason='made')
        self.assertIsNone(self.journal().leader())
        lead = self.journal().take_lead('one', 'evacuate')
        self.assertEqual(
            ('one', '2027-01-15T08:00:00.000Z', 'evacuate'),
            self.journal().leader())
        other = self.journal().take_lead('other', 'auto')
        lead.give_lead_back()
        self.assertEqual('other', self.journal().leader().name)
        other.give_lead_back()
        self.assertIsNone(self.journal().leader())

    def test_whoever_leads_a_person_may_resume(self):
        leader = self.journal().take_lead('one', 'auto')
        leader.write('pause', reason='3 failures')
        self.journal().write('resume', reason='')
        leader.prove()
        self.assertFalse(paused(leader.entries()))


class LengthTest(Case):

    def test_a_long_journal_is_shortened_and_forgets_nothing(self):
        journal = self.journal(long=60)
        asked = journal.write('request', volume='open', **REQUEST)
        for number in range(150):
            self.now += 1
            volume = f'v{number % 7}'
            journal.write('request', volume=volume, **REQUEST)
            journal.write('outcome', volume=volume, **OUTCOME)
        entries = journal.entries()
        self.assertEqual((asked,), open_moves(entries))
        self.assertEqual(7, len(last_moves(entries)))
        self.assertEqual(self.now, last_moves(entries)[volume])
        self.assertLess(len(entries), 67)

    def test_a_plan_that_was_approved_is_not_forgotten(self):
        journal = self.journal(long=60)
        journal.write('approve', plan='good', by='anna')
        journal.write('approve', plan='bad', by='anna')
        journal.write('cancel', plan='bad', by='anna')
        facts = {**REQUEST, 'plan': 'good'}
        for volume, result in ('a', 'success'), ('b', 'refused'):
            journal.write('request', volume=volume, **facts)
            journal.write('outcome', volume=volume,
                          **{**OUTCOME, 'result': result})
        for number in range(150):
            self.now += 1
            volume = 'abc'[number % 3]
            journal.write('request', volume=volume, **REQUEST)
            journal.write('outcome', volume=volume, **OUTCOME)
        entries = journal.entries()
        self.assertLess(len(entries), 67)
        self.assertEqual({'good': 'anna'}, approvals(entries))
        found, = plans.standings(
            [plans_behaviour.plan('good')], entries, self.now)
        self.assertEqual({'a': 'success', 'b': 'refused'}, {
            name: each.result for name, each in found.outcomes.items()})

    def test_a_resume_while_it_is_shortened_is_not_lost(self):
        journal = self.journal(long=20)
        journal.take_lead('m', 'auto').write('pause', reason='3 failures')

        def fill(_):
            for _ in range(40):
                journal.write('accepted', volume='v')
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            filling = pool.submit(fill, 0)
            resumed = [pool.submit(journal.write, 'resume', reason=f'{n}')
                       for n in range(20)]
            for each in [filling, *resumed]:
                each.result()
        self.assertFalse(paused(journal.entries()))
