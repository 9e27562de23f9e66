# SPDX-License-Identifier: Apache-2.0
"""The page of a cloud answers what an operator asks first."""

import json
import re
import time

import ddt

from serifos.database import connection
from serifos.database import journal
from serifos.database import plans
from serifos.database import pool_errors
from serifos.facts.pool_errors import Check
from serifos.facts import times
from serifos.files import documents
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.cmd import questions
from tests.unit.cmd.questions import QUESTIONS
from tests.unit.cmd.questions import words
from tests.unit.cmd.test_balancer_plan import EXAMPLES


@ddt.ddt
class ReportTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.now = time.time()
        self.doc = json.loads((EXAMPLES / 'cluster.json').read_text())
        self.doc['observed_at'] = times.text(self.now - 60)
        self.state = self.dir / 'state'
        self.state.mkdir()
        self.file = self.dir / 'serifos.conf'
        self.file.write_text(
            f'[serifos]\nstate_dir = {self.state}\n'
            f'models_dir = {EXAMPLES / "models"}\n')

    def run_verb(self, *arguments):
        (self.state / 'cluster.json').write_text(json.dumps(self.doc))
        return command.balance('--config-file', self.file, *arguments)

    def page(self, *arguments):
        code, out, err = self.run_verb('report', *arguments)
        self.assertEqual(0, code, err)
        return out

    def answers(self, *arguments):
        """Question → answer."""
        found = questions.answers(self.page(*arguments))
        self.assertEqual([*QUESTIONS], [*found][:len(QUESTIONS)])
        return found

    def entry(self, at_s, kind, **facts):
        journal.Journal(
            connection.Database(f'sqlite:///{self.state}/journal.sqlite'),
            lambda: self.now - at_s).write(kind, **facts)

    def test_the_questions_of_an_operator_in_the_words_of_plan(self):
        found = self.answers()
        slow, whom, moved, cost, stays, last = (
            found[question] for question in QUESTIONS)
        said = ' '.join(self.run_verb('plan')[1].split())
        self.assertRegex(slow, r'^Yes, 1 pool is hot and 2 SLOs are forecast '
                               r'to be violated: node1 with 4\.94 ms\.$')
        self.assertIn('node1: Because of a06cef3c-2823-5278-8af0-5e278b902de5 '
                      '(33 % of its load; without it 1.76 ms) and', whom)
        self.assertIn(' has 60 GiB, type gold.', whom)
        self.assertIn('from node1 to node5', moved)
        self.assertIn('In mode advise nothing moves until', moved)
        price = cost.split('meanwhile.')[0]
        self.assertIn(price, said)
        self.assertIn(stays.split('. On ')[0], said)
        self.assertEqual('No plan was carried out yet.', last)

    def test_the_verdict_is_the_headline_of_plan(self):
        said = ' '.join(self.run_verb('plan')[1].split())
        verdict = words(re.search('<p class="verdict">(.*?)</p>',
                                  self.page(), re.S).group(1))
        self.assertTrue(said.startswith(verdict), (verdict, said))

    def test_pools_and_moves_are_drawn_with_their_figures(self):
        page = self.page()
        labels = re.findall('<svg role="img" aria-label="(.*?)"', page)
        node1 = next(each for each in labels if each.startswith('node1: '))
        self.assertRegex(node1, r'^node1: 4\.94 ms predicted now; 90 % '
                                r'interval .* to .* ms; .*after the plan; '
                                r'it is hot; 1 forecast SLO violation$')
        moves = next(each for each in labels if each.startswith('Moves: '))
        self.assertIn('node1 to node5: 60 GiB, 10.2 min', moves)
        self.assertIn('snapshots hold it', words(page))
        self.assertNotIn('<script', page)
        self.assertNotRegex(page, r'(src|href)="(?!#)')

    def test_slos_are_counted_by_type(self):
        said = words(self.page())
        self.assertIn('SLOs 0 of 3 SLOs are violated, as measured; 2 more '
                      'are forecast to be.', said)
        self.assertIn('after the plan gold 4 3 0 0 2 1', said)

    def test_what_the_last_plan_achieved(self):
        doc = json.loads(self.run_verb('plan', '-f', 'json')[1])
        move = doc['moves'][0]
        self.run_verb('plan', '--out', self.dir / 'p.json')
        stored = documents.read_plan(self.dir / 'p.json')
        plans.Plans(connection.Database(
            f'sqlite:///{self.state}/journal.sqlite')).keep(
                stored, self.now, self.fail)
        facts = {'volume': move['volume'], 'source': move['from'],
                 'target': move['to']}
        self.entry(9000, 'request', **facts, plan=stored.id,
                   size_gib=move['size_gib'], predicted_target_us=3000.0)
        self.entry(8000, 'outcome', **facts, result='success', reason='',
                   seconds=1000.0)
        self.assertIn('is reported three hours after a move',
                      self.answers()['Did the last plan work?'])
        self.entry(600, 'achieved', **facts, hours=3,
                   predicted_target_us=3000.0, target_us=3300.0)
        said = self.answers()['Did the last plan work?']
        self.assertTrue(said.startswith(
            f'In part. Plan {stored.id} of relieve, created at '), said)
        self.assertIn(f'1 of {len(doc["moves"])} moves made', said)
        self.assertIn('had 3.3 ms (3 predicted)', said)
        page = words(self.page())
        self.assertIn('the middle one was 10 % off', page)
        self.assertIn('success', page)

    def test_a_plan_under_way_shows_what_is_left(self):
        path = self.dir / 'p.json'
        self.run_verb('plan', '--planner', 'bfd', '--paper', '--max-moves',
                      '3', '--out', path)
        first, second, third = json.loads(path.read_text())['moves']
        by_id = {each['id']: each for each in self.doc['volumes']}
        whole = self.answers(str(path))
        self.assertTrue(whole['What will be moved?'].startswith('3 volumes'))
        self.assertNotIn('are made', whole['What will be moved?'])
        by_id[first['volume']]['pool'] = first['to']
        self.entry(60, 'request', volume=second['volume'],
                   source=second['from'], target=second['to'], plan='p',
                   size_gib=second['size_gib'])
        found = self.answers(str(path))['What will be moved?']
        self.assertTrue(found.startswith('2 volumes: '), found)
        self.assertNotIn(first['volume'], found)
        self.assertIn('1 of its 3 moves is made, 1 is in flight; all figures '
                      'are of what is left.', found)
        by_id[third['volume']]['pool'] = 'node2@ssd#ssd'
        found = self.answers(str(path))['What will be moved?']
        self.assertIn('1 of its 3 moves is made, 1 is in flight, 1 can no '
                      'longer be made', found)
        by_id[second['volume']]['pool'] = second['to']
        self.assertTrue(self.answers(str(path))['What will be moved?']
                        .startswith('Nothing. 2 of its 3 moves are made'))

    def test_what_is_left_of_a_plan_is_told_by_the_present(self):
        path = self.dir / 'p.json'
        self.run_verb('plan', '--out', path)
        plan = json.loads(path.read_text())
        same = words(self.page(str(path)))
        self.assertIn(words(self.page()).split('Is anything slow?')[1].split(
            'What does it cost?')[0].split('In mode')[0], same)
        for each in self.doc['volumes']:
            if each['pool'].startswith('node1@') and each.get('workload'):
                each['workload'].update(iodepth=0.1, block_kib=4)
        now = {name: us['before'] / 1e3 for name, us in json.loads(
            self.run_verb('plan', '-f', 'json')[1])['latency_us'].items()}
        slowest = max(now, key=now.get)
        before = {name: us['before'] for name, us
                  in plan['latency_us'].items()}
        self.assertNotEqual(slowest, max(before, key=before.get))
        self.assertRegex(self.answers(str(path))['Is anything slow?'],
                         rf'with {now[slowest]:.3g} ms')

    def test_the_last_day_of_pools(self):
        kept = pool_errors.PoolErrors(connection.Database(
            f'sqlite:///{self.state}/history.sqlite', {},
            connection.HISTORY))
        for hour in 3, 2, 1:
            kept.note({'node1@ssd#ssd': Check.of(
                5000 + hour, 6000, (-0.2, 0.3))}, self.now - 3600 * hour)
        page = self.page()
        self.assertIn('aria-label="node1, hour by hour: 5 ms measured in the '
                      'last hour that is known, 6 ms predicted"', page)
        self.assertEqual(3, page.count(' ms predicted</title>'))

    def test_a_stored_plan_and_a_file(self):
        path = self.dir / 'p.json'
        self.run_verb('plan', '--max-moves', '1', '--out', path)
        stored = json.loads(path.read_text())
        out = self.dir / 'page.html'
        self.assertEqual(f'{out.resolve()}\n',
                         self.page(str(path), '--out', out))
        self.assertIn(f'>{stored["moves"][0]["volume"]}<', out.read_text())
        self.assertIn('1 move, ', words(out.read_text()))
        code, _, err = self.run_verb('report', 'three')
        self.assertEqual(2, code)
        self.assertIn('There is no plan three', err)

    def test_without_a_state_dir(self):
        for path in self.state.iterdir():
            path.unlink()
        self.state.rmdir()
        cluster = self.dir / 'c.json'
        cluster.write_text(json.dumps(self.doc))
        code, out, err = command.balance(
            '--config-file', self.file, 'report', '--cluster', cluster)
        self.assertEqual(0, code, err)
        self.assertIn('Nothing is known of it; serifos-balancer run records',
                      out)
        self.assertFalse(self.state.exists())

    def test_nothing_is_written_where_it_looks(self):
        self.run_verb('plan')
        before = sorted(self.state.rglob('*'))
        self.page()
        self.assertEqual(before, sorted(self.state.rglob('*')))

    def test_nothing_to_do(self):
        self.doc['volumes'] = []
        found = self.answers()
        self.assertTrue(found['Is anything slow?'].startswith('No: '))
        self.assertTrue(found['What will be moved?'].startswith('Nothing.'))
        self.assertEqual('Nothing.', found['What does it cost?'])

    def test_no_pool_has_a_model(self):
        for pool in self.doc['pools']:
            pool.pop('model', None)
        self.assertIn('no pool has a model',
                      self.answers()['Is anything slow?'])

    def test_names_cannot_break_out(self):
        evil = '<script>alert(1)</script>'
        self.doc['volumes'][0].update(name=evil, server=evil)
        self.assertNotIn(evil, self.page())

    def test_many_pools_are_bounded(self):
        pool, volume = self.doc['pools'][0], self.doc['volumes'][0]
        for i in range(1000):
            name = f'more{i:04}@ssd#ssd'
            self.doc['pools'].append({**pool, 'name': name})
            self.doc['volumes'].append(
                {**volume, 'id': f'v{i}', 'pool': name})
        page = self.page()
        self.assertIn('1,006 pools, the slowest first; 11 of them are drawn',
                      words(page)[:4000])
        self.assertEqual(11, page.count(' ms predicted now; 90 % '))
        self.assertTrue(len(page) < 1_000_000, len(page))

    @ddt.data(('--cluster', '/nowhere'), ('--models', '/nowhere'),
              ('--out', '/nowhere/page.html'))
    def test_absurd_arguments(self, arguments):
        code, out, err = self.run_verb('report', *arguments)
        self.assertEqual((2, 1), (code, err.count('\n')), err)
