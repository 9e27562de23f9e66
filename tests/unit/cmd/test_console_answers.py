# SPDX-License-Identifier: Apache-2.0
"""The console answers what an operator asks first, on clouds of any size.

As doc/source/user/planning.rst says where to look; the page's answers are
looked at by test_balancer_report, and in a browser by test_pages.
"""

import json
import pathlib
import re
import time

import ddt

from serifos.database import connection
from serifos.database import journal
from serifos.database import plans
from serifos.files import documents
from tests.unit import case
from tests.unit.cmd import clouds
from tests.unit.cmd import command

MODELS = (pathlib.Path(__file__).parents[3]
          / 'etc/serifos/examples/paper/models')
PAGE_LINES = 120
"""What a person scrolls through, however large the cloud is."""


def rows(text, title):
    """The rows of the table that begins with this column."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(f'{title} ') and next(lines).startswith('---'):
            break
    found = []
    for line in lines:
        if not re.match(r'\S+.*  ', line) and not line.startswith(' '):
            break
        found.append(re.split(r'  +', line.strip()))
    return found


def short(pool):
    """Such as stor003.rack-0 of stor003.rack-0.dc1.cloud.example.org@a#a."""
    return pool.partition('.dc1')[0]


@ddt.ddt
class ConsoleTest(case.DirectoryCase):

    def say(self, *arguments):
        code, out, err = command.balance(
            '--config-file', self.dir / 'serifos.conf', *arguments)
        self.assertEqual(0, code, err)
        return out

    def carried_out(self, path, move):
        """The plan of a file, of which one move was made."""
        now = time.time()
        database = connection.Database(
            f'sqlite:///{self.dir}/journal.sqlite')
        stored = documents.read_plan(path)
        plans.Plans(database).keep(stored, now, self.fail)
        facts = {'volume': move['volume'], 'source': move['from'],
                 'target': move['to']}
        for ago_s, kind, more in (
                (9000, 'request', {'plan': stored.id, 'predicted_target_us':
                                   3000.0, 'size_gib': move['size_gib']}),
                (8000, 'outcome', {'result': 'success', 'reason': '',
                                   'seconds': 1000.0}),
                (600, 'achieved', {'hours': 3, 'predicted_target_us': 3000.0,
                                   'target_us': 3300.0})):
            journal.Journal(database, lambda: now - ago_s).write(
                kind, **facts, **more)
        return stored.id

    @ddt.data(5, 30, 1000)
    def test_the_first_questions(self, pools):
        cloud = clouds.cloud(pools)
        (self.dir / 'cluster.json').write_text(json.dumps(cloud))
        (self.dir / 'serifos.conf').write_text(
            f'[serifos]\nstate_dir = {self.dir}\nmodels_dir = {MODELS}\n')
        path = self.dir / 'p.json'
        self.say('plan', '--out', path)
        plan, said = json.loads(path.read_text()), self.say('plan')
        self.assertLess(said.count('\n'), PAGE_LINES)
        names = {each['id']: each['name'] for each in cloud['volumes']}

        # Which pool is slow?
        before = {name: us['before'] for name, us
                  in plan['latency_us'].items()}
        called = {short(name): name for name in before}
        slow = called[rows(said, 'pool')[0][0]]
        self.assertEqual(max(before.values()), before[slow])
        self.assertEqual(short(slow), said.split()[0])

        # Because of whom?
        why = self.say('explain', short(slow))
        whom = re.findall(r'(\S+) \(\d+ % of its load; without',
                          ' '.join(why.split()))
        self.assertEqual({slow}, {each['pool'] for each in cloud['volumes']
                                  if each['name'] in whom})
        self.assertLessEqual({*whom}, {
            row[0].split()[0] for row in rows(why, 'volume')})

        # What will be moved?
        moves = {(names[move['volume']], short(move['from']),
                  short(move['to'])) for move in plan['moves']}
        shown = {(row[0], row[3].split()[0], row[4].split()[0])
                 for row in rows(said, 'volume')}
        self.assertTrue(shown and shown <= moves, (shown, moves))
        if pools <= 30:
            self.assertEqual(moves, shown)

        # What does it cost?
        headline = ' '.join(said.split('Judged')[0].split())
        gib = sum(move['size_gib'] for move in plan['moves'])
        self.assertRegex(
            headline, rf'{gib:,} GiB copied by {len(moves)} moves in about '
            r'\S+ (min|h) if one runs at a time; tenants there wait up to '
            r'[\d.]+ ms meanwhile')

        # What cannot move, and why?
        held = {row[2]: (int(row[0].replace(',', '')), row[-1])
                for row in rows(said, 'volumes')}
        refused = [each['reason'] for each in plan['refused']]
        number, mend = held['snapshots hold it']
        self.assertEqual(refused.count('a snapshot holds it'), number)
        self.assertIn('delete them', mend)

        # Did the last plan work?
        move = plan['moves'][0]
        made = self.say('show', self.carried_out(path, move))
        self.assertIn('success', made)
        self.assertIn(names[move['volume']], made)
        self.assertIn('3.3 ms', self.say('history'))
