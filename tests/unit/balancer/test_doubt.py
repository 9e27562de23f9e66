# SPDX-License-Identifier: Apache-2.0
"""A journal that cannot be relied on: nothing moves until a person said so."""

import sqlite3

from serifos.cmd.balancer import apply as balancer_apply
from serifos.cmd.balancer import history as balancer_history
from tests.unit.cmd import test_balancer_verbs as verbs


class DoubtTest(verbs.Case):

    def sql(self, statement):
        with sqlite3.connect(self.shared.file) as made:
            made.execute(statement)
        made.close()

    def moves_nothing(self, why):
        """It observes and plans, and neither a round nor a person moves."""
        plan = self.balancer.round()
        self.assertEqual(['u'], [move.volume for move in plan.moves])
        self.assertIn(why, self.log.output)
        code, _, err = self.verb(balancer_apply.Apply, plan.id, '--yes')
        self.assertEqual(2, code)
        self.assertIn(f'Nothing is moved: {why}', err)
        self.assertEqual([], self.cinder.asked)

    def test_a_broken_entry(self):
        self.journal().write('accepted', volume='v')
        self.sql("update serifos_journal_entries set facts = '{}'")
        self.moves_nothing(f'the journal {self.shared.file} has a broken '
                           'entry, id 1')
        self.verb(balancer_history.Resume)
        self.balancer.round()
        self.assertEqual(['u'], [volume for volume, _ in self.cinder.asked])
