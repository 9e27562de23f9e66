# SPDX-License-Identifier: Apache-2.0
"""Where volumes are, in SQLite, beside the history."""

from serifos.database import connection
from tests.unit import case
from tests.unit.database import homes_behaviour


class HomesTest(homes_behaviour.Behaviour, case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.database = connection.Database(
            f'sqlite:///{self.dir}/history.sqlite',
            content=connection.HISTORY)
