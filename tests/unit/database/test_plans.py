# SPDX-License-Identifier: Apache-2.0
"""Plans in SQLite, beside the journal; and those of earlier releases."""

import json
import os
import sqlite3

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from serifos.balancer import plans as files
from serifos.database import connection
from serifos.database import journal
from serifos.database import old_plans
from serifos.database import plans as db
from serifos import errors
from serifos.files import documents
from tests.unit import case
from tests.unit.database import at_once
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

    @settings(max_examples=60, deadline=None)
    @given(st.binary(max_size=300), st.integers(0, 300))
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


@ddt.ddt
class OldPlansTest(plans_behaviour.Behaviour, Case):
    """All of it with a directory of an earlier release beside."""

    def setUp(self):
        super().setUp()
        self.old = self.dir / 'plans'

    @property
    def stored(self):
        return db.Plans(self.database, old_plans.OldPlans(self.old))

    def write(self, *names, **others):
        self.old.mkdir(exist_ok=True)
        for name in names:
            documents.write_plan(self.old / f'{name}.json', plan(
                name, volume=name, **others))

    def files(self, directory='plans'):
        there = self.dir / directory
        return {path.name for path in there.iterdir()} if (
            there.exists()) else set()

    def test_they_are_read_before_they_are_taken_over(self):
        self.write('one', 'two')
        self.assertEqual(['one', 'two'], self.ids())
        self.assertEqual(['two'], self.ids(ids=['two']))
        self.assertEqual([], self.ids(expires_after=NOW + 2 * DAY))
        self.assertEqual('two', self.stored.stored('two').id)
        self.assertFalse(self.path.exists())
        self.assertEqual({'one.json', 'two.json'}, self.files())

    def test_what_writes_takes_them_over_once(self):
        self.write('one', 'two')
        text = (self.old / 'one.json').read_bytes()
        self.keep(plan('three', volume='x'))
        self.assertFalse(self.old.exists())
        self.assertEqual(text, (self.dir / 'plans.imported/one.json')
                         .read_bytes())
        self.assertEqual(['one', 'two', 'three'], self.ids())
        self.assertEqual(plan('one', volume='one'),
                         self.stored.stored('one'))
        self.assertEqual(0o750, (self.dir / 'plans.imported').stat().st_mode
                         & 0o777)

    def test_the_last_of_them_is_kept_where_the_moves_are_the_same(self):
        self.write('one')
        self.assertEqual('one', self.keep(plan(
            'two', NOW + 1, volume='one')).id)

    def test_a_kill_before_they_are_put_aside(self):
        self.write('one')
        db.Plans(self.database).keep(
            plan('one', volume='one'), NOW, self.fail)
        self.assertEqual(['one'], self.ids())
        self.stored.take_over(self.fail)
        self.assertEqual(({'one.json'}, set()), (
            self.files('plans.imported'), self.files()))
        self.assertEqual(['one'], self.ids())

    def test_more_of_them_after_that(self):
        """As where the old release was started once more."""
        self.write('one')
        self.stored.take_over(self.fail)
        self.write('two')
        self.stored.take_over(self.fail)
        self.assertEqual({'one.json', 'two.json'},
                         self.files('plans.imported'))
        self.assertEqual(['one', 'two'], self.ids())

    def test_two_that_take_over_at_once(self):
        self.write(*(f'p{n}' for n in range(12)))
        self.assertEqual([], at_once.failures(
            lambda: self.stored.take_over(self.said.append)))
        self.assertEqual([], self.said)
        self.assertEqual({f'p{n}' for n in range(12)}, {*self.ids()})
        self.assertEqual(set(), self.files())

    def test_expired_ones_are_put_aside_too(self):
        self.write('old', created=NOW - 9 * DAY)
        self.keep(plan('one'))
        self.assertEqual(['one'], self.ids())
        self.assertEqual({'old.json'}, self.files('plans.imported'))

    @ddt.data('{"schema": "serifos-pl', '{"schema": "serifos-plan/2"}', '',
              '[' * 100_000, '[]', 'null', '{"schema": 1e400}',
              json.dumps({**plan('bad').to_json(), 'expires_at': 'later'}),
              json.dumps({**plan('bad').to_json(), 'moves': 5}),
              json.dumps({**plan('bad').to_json(), 'id': 'a b'}))
    def test_a_bad_one_is_its_own_affair(self, text):
        self.write('one')
        (self.old / 'bad.json').write_text(text)
        self.assertEqual('two', self.keep(plan('two', volume='w')).id)
        self.assertEqual({'bad.json'}, self.files())
        self.assertEqual({'one.json'}, self.files('plans.imported'))
        said, = self.said
        self.assertIn(str(self.old / 'bad.json'), said)
        self.assertLess(len(said), 500)

    def test_one_of_an_earlier_release_still(self):
        self.write()
        doc = plan('one').to_json()
        del doc['slo_misses'], doc['hot_pools']
        (self.old / 'one.json').write_text(json.dumps(doc))
        self.stored.take_over(self.fail)
        self.assertEqual(plan('one').moves,
                         self.stored.stored('one').moves)

    def test_what_is_no_file(self):
        self.old.mkdir()
        (self.old / 'folder.json').mkdir()
        os.mkfifo(self.old / 'fifo.json')
        (self.old / 'nowhere.json').symlink_to('gone')
        (self.old / '.part.json').write_text('{')
        self.assertEqual('one', self.keep(plan('one')).id)
        self.assertEqual(3, len(self.said))

    def test_a_place_aside_that_cannot_be_used(self):
        self.write('one')
        (self.dir / 'plans.imported').write_text('')
        self.assertEqual('two', self.keep(plan('two', volume='w')).id)
        said, = self.said
        self.assertIn('is in the database now, cannot be put aside', said)
        self.assertEqual(['one', 'two'], self.ids())
