# SPDX-License-Identifier: Apache-2.0
import json
import shutil

from serifos.facts import times
from serifos.files import documents
from tests.unit.cmd import command
from tests.unit.cmd import days
from tests.unit.cmd import test_balancer_plan
from tests.unit.cmd import test_balancer_status


class Case(test_balancer_status.Case):
    """The plan of the example cluster was carried out, but for one move."""

    def setUp(self):
        super().setUp()
        examples = test_balancer_plan.EXAMPLES
        shutil.copytree(examples / 'models', self.dir / 'models')
        shutil.copy(self.dir / 'models/intel-s3610.json',
                    self.dir / 'models/quickstart.json')
        self.file.write_text(
            f'[serifos]\nstate_dir = {self.dir}\n'
            f'models_dir = {self.dir}/models\n[balancer]\nmode = approve\n')
        self.doc = json.loads((examples / 'cluster.json').read_text())
        self.look()
        self.run_verb('plan', '--out', self.dir / 'plan.json')
        self.plan = documents.read_plan(self.dir / 'plan.json')
        self.former = self.homes()
        for move in self.plan.moves[:-1]:
            self.move(move, 'success')
        self.move(self.plan.moves[-1], 'error')
        self.look()

    def look(self, ago_s=0.0):
        self.doc['observed_at'] = times.text(self.now - ago_s)
        (self.dir / 'cluster.json').write_text(json.dumps(self.doc))

    def volume(self, name):
        return next(each for each in self.doc['volumes']
                    if each['id'] == name)

    def move(self, move, result):
        facts = {'volume': move.volume, 'source': move.source,
                 'target': move.target}
        self.journal.write('request', plan=self.plan.id,
                           size_gib=move.size_gib, **facts)
        self.journal.write('outcome', result=result, reason='', seconds=60.0,
                           **facts)
        if result == 'success':
            self.volume(move.volume).update(
                pool=move.target, movable_code='cool_down',
                movable=f'moved at {times.text(self.now)}; '
                f'cools down until {times.text(self.now + 3600)}')

    def homes(self):
        return {each['id']: each['pool'] for each in self.doc['volumes']}


class UndoTest(Case):

    def undo(self, *arguments):
        return command.balance('--config-file', self.file, 'undo',
                               self.plan.id, *arguments)

    def every(self):
        return self.stored.every(self.fail)

    def test_the_moves_back_are_shown_and_stored_and_nothing_more(self):
        before = self.journal.entries()
        code, out, err = self.undo('--out', self.dir / 'back.json')
        self.assertEqual(0, code, err)
        plan, = self.every()
        made = self.plan.moves[:-1]
        self.assertEqual(
            [(move.volume, move.target, move.source)
             for move in reversed(made)],
            [(move.volume, move.source, move.target) for move in plan.moves])
        self.assertEqual('undo', plan.planner)
        self.assertEqual(plan, documents.read_plan(self.dir / 'back.json'))
        self.assertEqual(before, self.journal.entries())
        gib = sum(move.size_gib for move in made)
        self.assertIn(f'{gib:,.6g} GiB copied by ', ' '.join(
            out.split()))
        for part in 'Pools, the slowest first', 'Moves', 'Trade-off: ':
            self.assertIn(part, out)
        self.assertIn(f'serifos-balancer apply {plan.id}', err)
        self.assertIn(f'serifos-balancer approve {plan.id}', err)

    def test_it_is_listed_and_approved_as_any_other(self):
        self.undo()
        plan, = self.every()
        self.assertIn(' undo ', self.run_verb('plans'))
        self.assertIn(f'Plan {plan.id} of undo', self.run_verb(
            'show', plan.id))
        self.assertIn('is approved', self.run_verb('approve', plan.id))

    def test_it_is_judged_by_the_days_that_rounds_judge_by(self):
        with self.file.open('a') as file:
            file.write('window = 86400\n')
        back = self.plan.moves[0]
        days.keep(self.file, days.past(self.doc, self.now, idle=[
            each['id'] for each in self.doc['volumes']
            if each['pool'] == back.target]))
        code, out, err = self.undo('-f', 'json')
        self.assertEqual(0, code, err)
        doc = json.loads(out)
        self.assertEqual(86400, doc['window_s'])
        self.assertEqual(0, doc['latency_us'][back.target]['before'])
        self.assertEqual({86400}, {
            plan.window_s for plan in self.every()})
        self.assertIn('Judged by the last 24 hours', ' '.join(
            self.undo()[1].split()))

    def test_volumes_that_cannot_go_back_are_named(self):
        first = self.plan.moves[0]
        self.volume(first.volume).update(
            movable='2 snapshots hold it', movable_code='snapshots')
        self.look()
        code, out, _ = self.undo()
        self.assertEqual(1, code)
        self.assertIn(f'{first.volume} stays: 2 snapshots hold it\n', out)
        doc = json.loads(self.undo('-f', 'json')[1])
        self.assertEqual([first.volume],
                         [each['volume'] for each in doc['refused']])

    def test_where_none_can_go_back_nothing_is_stored(self):
        for move in self.plan.moves:
            self.volume(move.volume).update(
                movable='a snapshot holds it', movable_code='snapshots')
        self.look()
        code, out, _ = self.undo()
        self.assertEqual((1, []), (code, self.every()))
        stay = len(self.plan.moves) - 1
        self.assertEqual(
            f'{stay} volume{"s" * (stay > 1)} cannot be moved, for the '
            'reasons below.', out.split('\n')[0])

    def refused(self, *arguments):
        code, out, err = command.balance('--config-file', self.file,
                                         *arguments)
        self.assertEqual((2, ''), (code, out))
        return err

    def test_what_was_not_carried_out_is_not_taken_back(self):
        self.assertIn('No move of plan other was made',
                      self.refused('undo', 'other'))
        self.look(ago_s=10.0)
        self.assertIn('is of a time before the moves ended',
                      self.refused('undo', self.plan.id))
        self.assertEqual([], self.every())
