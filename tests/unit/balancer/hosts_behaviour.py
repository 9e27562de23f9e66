# SPDX-License-Identifier: Apache-2.0
"""Two hosts with a state_dir each and one database, whatever that is."""

from __future__ import annotations

import fixtures

from serifos.database import connection
from tests.unit.balancer.cloud import A
from tests.unit.balancer.cloud import busy
from tests.unit.balancer.cloud import record
from tests.unit.cmd import command


class Behaviour:
    """The tests, of a :class:`.cloud.Case`.

    Who uses them has ``url``, of a database that is empty when one begins.
    """

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MonkeyPatch('time.time', lambda: self.now))
        names = [f'v{i}' for i in range(6)]
        self.cinder = self.cloud(
            [*map(record, names)], {name: busy(64) for name in names})
        self.set(approved_only=True, batch=1)
        for host in 'one', 'two':
            (self.dir / host).mkdir()
            (self.dir / f'{host}.conf').write_text(
                f'[serifos]\nstate_dir = {self.dir}/{host}\n'
                f'models_dir = {self.dir}/models\n[balancer]\n'
                f'mode = approve\nwindow = 0\n[database]\n'
                f'connection = {self.url}\n')

    @property
    def shared(self):
        return connection.Database(
            self.url, {'mysql_sql_mode': 'TRADITIONAL'})

    def on(self, host):
        """The balancer of a host, which takes the lead."""
        self.set(state_dir=self.dir / host)
        journal = self.journal().take_lead(host, 'auto')
        return self.balancer.as_leader(journal, journal.prove)

    def round_on(self, host):
        self.now += 300
        return self.on(host).round()

    def say(self, host, *arguments):
        code, out, err = command.balance(
            '--config-file', self.dir / f'{host}.conf', *arguments)
        self.assertEqual(0, code, err)
        return out

    def asked(self):
        return [volume for volume, _ in self.cinder.asked]

    def test_a_plan_of_one_is_listed_shown_and_approved_on_the_other(self):
        plan = self.round_on('one')
        self.assertRegex(self.say('two', 'plans'), rf'\n{plan.id} .* valid')
        self.assertIn(f'Plan {plan.id} of relieve', self.say(
            'two', 'show', plan.id))
        self.assertIn('is approved: ', self.say('two', 'approve', plan.id))
        self.assertRegex(self.say('one', 'plans'), rf'\n{plan.id} .* \w+\n')
        self.assertIn('is no longer approved', self.say(
            'one', 'cancel', plan.id))
        self.assertIn('is not approved', self.say('two', 'cancel', plan.id))

    def test_the_next_leader_goes_on_with_what_was_approved(self):
        plan = self.round_on('one')
        moves = [move.volume for move in plan.moves]
        self.assertGreater(len(moves), 2)
        self.say('two', 'approve', plan.id)
        self.round_on('one')
        self.assertEqual(moves[:1], self.asked())
        for _ in moves:
            self.round_on('two')
        self.assertEqual(moves, self.asked())
        self.assertIn('carried out', self.say('one', 'plans'))

    def test_what_one_carried_out_is_taken_back_by_the_other(self):
        self.set(batch=10, cool_down_s=86400.0)
        plan, former = self.round_on('one'), self.homes()
        self.say('two', 'approve', plan.id)
        self.round_on('one')
        self.assertNotEqual(former, self.homes())
        self.now += 300
        self.on('two').observer.as_follower().observe()
        back = self.say('two', 'undo', plan.id, '-f', 'json')
        undone = next(each for each in self.plans.every(self.fail)
                      if each.planner == 'undo')
        self.assertIn(undone.id, back)
        self.say('one', 'approve', undone.id)
        self.round_on('two')
        self.assertEqual(former, self.homes())

    def test_the_same_moves_are_one_plan_for_both(self):
        first = self.round_on('one')
        self.assertEqual(first.id, self.round_on('two').id)

    def test_no_file_of_a_plan_is_written(self):
        self.round_on('one')
        self.assertEqual({'cluster.json', 'pools.json'}, {
            path.name for path in (self.dir / 'one').iterdir()})

    def test_a_row_that_is_broken_is_one_sentence(self):
        plan = self.round_on('one')
        self.shared.run(lambda connection: connection.exec_driver_sql(
            "update serifos_plans set document = 'no'"))
        for verb in ('show', plan.id), ('approve', plan.id):
            code, out, err = command.balance(
                '--config-file', self.dir / 'two.conf', *verb)
            self.assertEqual((2, ''), (code, out))
            said = ' '.join(err.split())
            self.assertIn(f'The stored plan {plan.id} cannot be read: it is '
                          'no compressed document; delete that row of '
                          'serifos_plans in ', said)
            self.assertNotIn('Traceback', err)
        # A list reads no document.
        self.assertRegex(self.say('two', 'plans'), rf'\n{plan.id} .* valid')
        self.assertNotEqual(plan.id, self.round_on('two').id)
        self.assertEqual(A, self.homes()['v0'])
