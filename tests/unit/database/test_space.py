# SPDX-License-Identifier: Apache-2.0
"""The space of pools in SQLite, beside the history."""

from serifos.database import connection
from serifos.database import history_store
from tests.unit import case
from tests.unit.database import history_behaviour as history
from tests.unit.database import homes_behaviour
from tests.unit.database import space_behaviour


class SpaceTest(space_behaviour.Behaviour, case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.database = connection.Database(
            f'sqlite:///{self.dir}/history.sqlite',
            content=connection.HISTORY)

    def test_the_history_is_in_the_same_database(self):
        self.note(0, a=1.0)
        past = history_store.Store(self.database)
        self.assertEqual(0, past.until())
        past.add(history.done('v', history.BEGIN), 0)
        self.note(DAY := 86400, a=2.0)
        self.assertEqual([(DAY, {'a': 2.0})], self.found(
            space_behaviour.BEGIN + 1))
        self.assertLess(0, past.until())


class HomesTest(homes_behaviour.Behaviour, case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.database = connection.Database(
            f'sqlite:///{self.dir}/history.sqlite',
            content=connection.HISTORY)
