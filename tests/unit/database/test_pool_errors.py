# SPDX-License-Identifier: Apache-2.0
"""The errors of predictions in SQLite, beside the history."""

from serifos.database import connection
from tests.unit import case
from tests.unit.database import pool_errors_behaviour


class PoolErrorsTest(pool_errors_behaviour.Behaviour, case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.database = connection.Database(
            f'sqlite:///{self.dir}/history.sqlite',
            content=connection.HISTORY)
