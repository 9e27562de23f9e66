# SPDX-License-Identifier: Apache-2.0
"""Plans in SQLite, beside the journal; and those of earlier releases."""

import sqlite3

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies

from serifos.balancer import plans as files
from serifos.database import connection
from serifos.database import journal
from serifos import errors
from serifos.files import documents
from tests.unit import case
from tests.unit.database import plans_behaviour
from tests.unit.database.plans_behaviour import DAY
from tests.unit.database.plans_behaviour import NOW
from tests.unit.database.plans_behaviour import plan


class Case(case.DirectoryCase):

    def setUp(self):
        self.database = None
        super().setUp()
        self.path = self.dir / 'journal.sqlite'
        self.database = connection.Database(f'sqlite:///{self.path}')


class PlansTest(plans_behaviour.Behaviour, Case):

    def sql(self, *statement):
        with sqlite3.connect(self.path) as made:
            made.execute(*statement)
        made.close()

    def test_reading_makes_nothing(self):
        self.assertEqual([], self.ids())
        self.assertRaises(errors.InputError, self.stored.stored, 'one')
        self.assertEqual([], list(self.dir.iterdir()))
        journal.Journal(self.database, lambda: NOW).write('pause', reason='')
        before = self.path.read_bytes()
        self.assertEqual([], self.ids())
        self.assertEqual(before, self.path.read_bytes())

    def test_it_is_read_while_another_one_writes(self):
        self.keep(plan('one'))
        with sqlite3.connect(self.path) as other:
            other.execute('delete from serifos_plans')
            self.assertEqual(['one'], self.ids())
            other.rollback()
        other.close()

    def test_a_row_of_another_type_is_named(self):
        self.keep(plan('one'))
        for document in ('text', 5, 2 ** 40, 1.5):
            self.said.clear()
            self.sql('update serifos_plans set document = ?', (document,))
            self.assertEqual([], self.ids())
            said, = self.said
            self.assertIn('it is no compressed document', said)
            self.assertIn(str(self.path), said)

    @settings(max_examples=30, deadline=None)
    @given(strategies.binary(max_size=300), strategies.integers(0, 300))
    def test_any_row_is_a_plan_or_one_sentence(self, noise, at):
        self.keep(plan('one'))
        whole = plans_behaviour.packed(plan('one').to_json())
        for document in noise, whole[:at] + noise + whole[at:]:
            self.said.clear()
            plans_behaviour.break_row(
                self.database, 'one', document=document)
            self.assertEqual(1, len(self.ids()) + len(self.said))

    def test_a_newer_journal_is_left_alone(self):
        self.keep(plan('one'))
        journal.Journal(self.database, lambda: NOW).write('pause', reason='')
        self.sql("update serifos_journal set version = 'serifos-journal/4'")
        before = self.path.read_bytes()
        for verb in self.ids, lambda: self.keep(plan('two', volume='w')):
            error = self.assertRaises(errors.FormatError, verb)
            self.assertIn('is of schema serifos-journal/4', str(error))
        self.assertEqual(before, self.path.read_bytes())

    def test_a_plan_whose_transaction_fails_is_not_there_in_part(self):
        self.keep(plan('one'))
        self.sql('create trigger full before insert on serifos_plans begin '
                 "select raise(abort, 'disk full'); end")
        later = NOW + 9 * DAY
        error = self.assertRaises(
            errors.InputError, self.keep, plan('two', later), later)
        self.assertIn('disk full', str(error))
        self.assertEqual(['one'], self.ids())  # which was to be deleted

    def test_a_file_of_that_name_comes_first(self):
        self.keep(plan('one'))
        path = self.dir / 'one'
        documents.write_plan(path, plan('other'))
        self.assertEqual('one', files.find(self.stored, 'one').id)
        self.assertEqual('other', files.find(self.stored, str(path)).id)
