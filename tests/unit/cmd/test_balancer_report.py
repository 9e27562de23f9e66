# SPDX-License-Identifier: Apache-2.0
"""The page of a cloud answers what an operator asks first."""

import html
import json
import re
import shlex
import time

import ddt
import numpy as np

from serifos.database import connection
from serifos.database import history_store
from serifos.database import journal
from serifos.database import plans
from serifos.database import pool_errors
from serifos.facts import history
from serifos.facts.pool_errors import Check
from serifos.facts import times
from serifos.files import documents
from serifos.report import cloud_page
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

    def verdict(self):
        """The first line of the page."""
        return words(re.search('<h1 class="verdict">(.*?)</h1>',
                               self.page(), re.S).group(1))

    def test_the_verdict_is_one_line(self):
        self.assertEqual(
            '1 pool is hot and 2 SLOs are forecast to be violated. The plan '
            'prevents 1 of 2 forecast violations in 20.5 min.',
            self.verdict())
        for volume in self.doc['volumes']:
            volume.pop('max_latency_us', None)
        self.assertRegex(self.verdict(), r'^1 pool is hot\. The plan brings '
                         r'node1 from 4\.94 to \d\.\d+ ms in [\d.]+ min\.$')
        for volume in self.doc['volumes']:
            volume.update(movable='a snapshot holds it',
                          movable_code='snapshots')
        self.assertEqual('Nothing can be moved, though 1 pool is hot.',
                         self.verdict())

    def test_four_figures_come_first(self):
        tiles = re.findall('<div class="tile">(.*?)</div>', self.page(), re.S)
        self.assertEqual(['Slowest pool 4.94 ms', 'SLO violations 0 → 0',
                          'The plan 2 moves', 'Meanwhile +2.25 ms'],
                         [words(each.partition('</b>')[0]) for each in tiles])
        self.assertIn('node1, predicted: none is measured', tiles[0])
        self.assertIn('forecast 2 → 1', tiles[1])

    def test_pools_and_moves_are_drawn_with_their_figures(self):
        page = self.page()
        labels = re.findall('<svg role="img" aria-label="(.*?)"', page)
        node1 = next(each for each in labels if each.startswith('node1: '))
        self.assertRegex(node1, r'^node1: not measured; 4\.94 ms predicted '
                                r'now; 90 % interval .* to .* ms; .*after '
                                r'the plan; it is hot; 1 forecast SLO '
                                r'violation$')
        self.assertIn(f'<title>{node1}</title>', page)
        self.assertIn('snapshots hold it', words(page))
        self.assertNotRegex(page, r'(src|href)="(?!#)')

    def test_slowest_is_by_what_is_measured(self):
        for volume in self.doc['volumes']:
            if volume.get('workload'):
                volume['workload'].update(iops=100.0, latency_us=(
                    7000.0 if volume['pool'] == 'node2@ssd#ssd' else 900.0))
        page = self.page()
        self.assertIn('Slowest pool 7 ms node2, measured; the middle pool '
                      'has 0.9 ms', words(page))
        first = re.search('<div class="row"><span>(.*?)</span>', page)
        self.assertEqual('node2', first.group(1))

    def rows(self, page, heading):
        """Column → cell, of each row of a section's first table."""
        part = page.split(f'<summary>{heading}</summary>')[1]
        names = re.findall('<th scope="col">(.*?)</th>',
                           part.partition('</thead>')[0])
        body = part.partition('<tbody>')[2].partition('</tbody>')[0]
        return [dict(zip(names, map(words, row.split('<td>')[1:])))
                for row in body.split('<tr')[1:]]

    def test_every_volume_is_listed_with_what_is_done(self):
        one = self.doc['volumes'][0]
        one.update(name='orders', server='web1', project_id='shop')
        page = self.page()
        found = self.rows(page, 'All 16 volumes')
        self.assertEqual(16, len(found))
        its = next(each for each in found if each['volume'] == 'orders')
        self.assertEqual(
            ('node1', 'web1', 'shop', 'gold', '60', '4', 'moves to node5'),
            tuple(its[name] for name in (
                'pool', 'server', 'project', 'type', 'GiB', 'SLO, ms',
                'in this plan')))
        self.assertIn(f'<tr title="{one["id"]}">', page)
        self.assertIn('stays: snapshots hold it',
                      [each['in this plan'] for each in found])

    def test_slos_are_counted_by_type(self):
        found, = self.rows(self.page(), 'SLOs by type')
        self.assertEqual('gold', found['type'])
        self.assertEqual('3', found['volumes'])
        self.assertEqual('0', found['violated now'])
        self.assertEqual('2', found['forecast now'])

    def test_the_command_that_carries_the_plan_out(self):
        page = self.page()
        self.assertIn('<code>serifos-balancer plan --out plan.json '
                      '&amp;&amp; serifos-balancer apply plan.json</code>',
                      page)
        path = self.dir / "a plan's.json"
        self.run_verb('plan', '--out', path)
        self.assertIn(f'serifos-balancer apply {shlex.quote(str(path))}',
                      html.unescape(self.page(path)))
        stored = documents.read_plan(path)
        plans.Plans(connection.Database(
            f'sqlite:///{self.state}/journal.sqlite')).keep(
                stored, self.now, self.fail)
        command = f'<code>serifos-balancer apply {stored.id}</code>'
        self.assertEqual(2, self.page().count(command))
        with self.file.open('a') as file:
            file.write('[balancer]\nmode = approve\n')
        self.assertEqual(2, self.page().count(
            command.replace('apply', 'approve')))

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
        store = history_store.Store(connection.Database(
            f'sqlite:///{self.state}/history.sqlite', {},
            connection.HISTORY))
        one = self.doc['volumes'][0]
        one['name'] = 'orders</script>'
        begin = int(self.now // 3600 - 1) * 3600
        store.add(history.Series(
            (one['id'],), begin, 60, np.array(
                [60, 600, 0, 1, 0, 3, 0], np.float32).reshape(7, 1, 1)), 0)
        its = self.hours(self.page())
        self.assertLessEqual(168, its['hours'])
        measured, predicted, volumes = its['pools']['node1']
        self.assertEqual(3, sum(ms == 5.0 for ms in measured))
        self.assertEqual(3, sum(ms == 6.0 for ms in predicted))
        self.assertIn(0.05, volumes['orders</script>'])
        self.assertEqual([[], [], {}], its['pools']['node2'])

    def hours(self, page):
        """What the script draws."""
        return json.loads(re.search('id="data">(.*?)</script>',
                                    page).group(1))

    def test_a_stored_plan_and_a_file(self):
        path = self.dir / 'p.json'
        self.run_verb('plan', '--max-moves', '1', '--out', path)
        stored = json.loads(path.read_text())
        out = self.dir / 'page.html'
        self.assertEqual(f'{out.resolve()}\n',
                         self.page(str(path), '--out', out))
        self.assertIn(f'>{stored["moves"][0]["volume"]}<td>', out.read_text())
        self.assertIn('The plan 1 move ', words(out.read_text()))
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
        self.assertEqual({}, self.hours(out)['pools']['node1'][2])
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

    @ddt.data('<script>alert(1)</script>', '</script><img src=x>',
              '" onmouseover="alert(1)', "'><svg onload=alert(1)>",
              '{{ 7 * 7 }}', '</title><b>', '<!--')
    def test_names_cannot_break_out(self, evil):
        for volume in self.doc['volumes']:
            volume.update(name=evil, server=evil, project_id=evil,
                          volume_type=evil)
        page = self.page()
        self.assertIn(html.escape(evil).replace('&#x27;', '&#39;').replace(
            '&quot;', '&#34;'), page)
        if evil != html.escape(evil):
            self.assertNotIn(evil, page.replace(cloud_page.SCRIPT, ''))
        self.assertEqual(2, len(re.findall('<script', page)))

    def test_many_pools_are_bounded(self):
        pool, volume = self.doc['pools'][0], self.doc['volumes'][0]
        for i in range(1000):
            name = f'more{i:04}@ssd#ssd'
            self.doc['pools'].append({**pool, 'name': name})
            self.doc['volumes'].append(
                {**volume, 'id': f'v{i}', 'pool': name})
        page = self.page()
        self.assertIn('All 1,006 pools', page)
        self.assertEqual(20, page.count(' ms predicted now; 90 % ') // 2)
        self.assertTrue(len(page) < 1_000_000, len(page))

    @ddt.data(('--cluster', '/nowhere'), ('--models', '/nowhere'),
              ('--out', '/nowhere/page.html'))
    def test_absurd_arguments(self, arguments):
        code, out, err = self.run_verb('report', *arguments)
        self.assertEqual((2, 1), (code, err.count('\n')), err)
