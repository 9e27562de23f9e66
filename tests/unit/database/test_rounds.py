# SPDX-License-Identifier: Apache-2.0
"""Rounds in SQLite, beside the journal."""

from serifos.database import connection
from serifos.database import journal
from tests.unit import case
from tests.unit.database import rounds_behaviour


class RoundsTest(rounds_behaviour.Behaviour, case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.database = connection.Database(
            f'sqlite:///{self.dir}/journal.sqlite')

    def test_the_journal_is_in_the_same_database(self):
        kept = journal.Journal(self.database, lambda: rounds_behaviour.NOW)
        self.rounds().count('a', 'planned')
        self.assertEqual((), kept.entries())
        kept.write('pause', reason='3 failures in a row')
        self.rounds().count('a', 'planned')
        self.assertEqual(1, len(kept.entries()))
        self.assertEqual(2, self.found()[0][2])

    def test_to_look_makes_no_file(self):
        self.assertEqual([], self.found())
        self.assertFalse(self.database.file.exists())
