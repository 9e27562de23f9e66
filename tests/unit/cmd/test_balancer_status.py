# SPDX-License-Identifier: Apache-2.0
import json
import socket
import subprocess
import time

from serifos.database import connection
from serifos.database import journal
from serifos.database import plans
from serifos.facts import times
from serifos.files import documents
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.database.plans_behaviour import plan


class Case(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        self.now = time.time()
        self.file = self.dir / 'serifos.conf'
        self.file.write_text(
            f'[serifos]\nstate_dir = {self.dir}\n[balancer]\nmode = auto\n')

    @property
    def journal(self):
        return journal.Journal(self.database, lambda: self.now)

    @property
    def stored(self):
        return plans.Plans(self.database)

    @property
    def database(self):
        return connection.Database(f'sqlite:///{self.dir}/journal.sqlite')

    def run_verb(self, *arguments):
        code, out, err = command.balance(
            '--config-file', self.file, *arguments)
        self.assertEqual(0, code, err)
        return out

    def observed(self, ago_s=60.0, **facts):
        (self.dir / 'cluster.json').write_text(json.dumps({
            'schema': 'serifos-cluster/1', 'pools': [],
            'observed_at': times.text(self.now - ago_s), 'volumes': [
                {'id': 'v', 'name': 'db\x1b[2J', 'pool': 'a',
                 'size_gib': 1, **facts}]}))

    def requested(self, plan_id='one', ago_s=60.0):
        was, self.now = self.now, self.now - ago_s
        self.journal.write(
            'request', volume='v', source='a', target='b', plan=plan_id,
            size_gib=10.0, estimated_s=600.0)
        self.now = was


class StatusTest(Case):

    def test_a_balancer_that_did_nothing_yet(self):
        before = set(self.dir.iterdir())
        out = self.run_verb('status')
        self.assertIn('mode          auto', out)
        self.assertIn('leader        none\n', out)
        self.assertIn('last round    none: there is no observation', out)
        self.assertIn('in flight     nothing', out)
        self.assertEqual(before, set(self.dir.iterdir()))

    def test_one_that_works(self):
        self.observed()
        self.journal.take_lead('ctl1-4711', 'auto')
        self.requested()
        out = self.run_verb('status')
        self.assertIn('leader        ctl1-4711 (auto) since 20', out)
        self.assertRegex(
            out, r'last round    6\d s ago; the next in (4|3\.\d+) min')
        self.assertRegex(
            out, r'\n *db\?\[2J \(\w+\) +a +b +10 +1(\.\d+)? +(9|8\.9\d) '
                 r'+17\.1 +earlier copies\n')
        self.observed(copy_mib_s=100.0)
        self.assertRegex(
            self.run_verb('status'), r' 100 +its counters\n')

    def test_one_that_is_paused_late_and_waits(self):
        self.observed(3600)
        self.journal.write('pause', reason='3 failures in a row')
        self.requested()
        self.journal.write(
            'outcome', volume='v', result='error', reason='no', source='a',
            target='b', seconds=5.0)
        out = self.run_verb('status')
        self.assertIn('see whether serifos-balancer run', out)
        self.assertIn(': 3 failures in a row; look at', out)
        self.assertIn('waits         the last migration ended', out)
        self.assertIn('last 24 h     1 error; 0 GiB moved', out)
        self.assertIn('failures      1 in a row', out)
        doc = json.loads(self.run_verb('status', '-f', 'json'))
        self.assertEqual(['3 failures in a row', 1, {'error': 1}], [
            doc['paused'][0], doc['failures'], doc['done']])

    def test_the_mode_is_that_of_the_leader(self):
        self.file.write_text(f'[serifos]\nstate_dir = {self.dir}\n')
        self.assertIn('mode          advise', self.run_verb('status'))
        lead = self.journal.take_lead('ctl1-4711', 'auto')
        self.assertIn('mode          auto\n', self.run_verb('status'))
        lead.give_lead_back()
        self.assertIn('mode          advise', self.run_verb('status'))

    def test_a_leader_that_was_killed(self):
        ended = subprocess.Popen(['true'])
        ended.wait()
        self.journal.take_lead(f'{socket.gethostname()}-{ended.pid}',
                               'evacuate')
        self.assertRegex(
            self.run_verb('status'),
            f'leader        none: .*-{ended.pid} \\(evacuate\\), which took '
            'the lead at 20.*, has ended\n')
        self.assertIsNone(json.loads(
            self.run_verb('status', '-f', 'json'))['leader'])

    def test_a_journal_that_vanished(self):
        before = self.journal.mark()
        self.observed()
        path = self.dir / 'cluster.json'
        path.write_text(json.dumps({
            'schema': 'serifos-cluster/1', 'journal': before.to_json(),
            **json.loads(path.read_text())}))
        self.database.file.unlink()
        code, _, err = command.balance(
            '--config-file', self.file, 'status')
        self.assertEqual(0, code)
        self.assertIn('Nothing will be moved: the journal '
                      f'{self.database.file} is not the one that {path} '
                      'remembers', err)
        self.assertFalse(self.database.file.exists())

    def test_plans_and_one_of_them(self):
        self.assertEqual('No plan is stored.\n', self.run_verb('plans'))
        for name, ago_s, volume in ('one', 90, 'v'), ('two', 9, 'w'):
            self.stored.keep(plan(name, self.now - ago_s, volume=volume),
                             self.now, self.fail)
        self.requested()
        rows = self.run_verb('plans').split('\n')
        self.assertRegex(
            rows[3], r'^two +20\S+ +relieve +1 +0 +1 +.* valid +–$')
        self.assertRegex(rows[4], r'^one .* under way +–$')
        self.assertEqual(
            [('two', 'valid'), ('one', 'under way')],
            [(doc['id'], doc['state']) for doc
             in json.loads(self.run_verb('plans', '-f', 'json'))])
        self.observed()
        out = self.run_verb('show', 'one')
        self.assertIn('Plan one of relieve, created at 20', out)
        self.assertRegex(out, r'db\?\[2J \(\w+\) +1 +a .* in flight\n')
        self.assertNotIn('apply', out)
        out = self.run_verb('show', 'two')
        self.assertRegex(out, r'\nw +1 +a .* not requested\n')
        self.assertIn('serifos-balancer apply two carries it out.', out)
        doc = json.loads(self.run_verb('show', 'one', '-f', 'json'))
        self.assertEqual(('one', 'under way', {'v': {
            'result': None, 'reason': '', 'restore': []}}), (
                doc['id'], doc['state'], doc['outcomes']))

    def test_a_plan_that_is_written_to_a_file_is_one_again(self):
        made = plan('one', self.now)
        self.stored.keep(made, self.now, self.fail)
        file = self.dir / 'one.json'
        self.run_verb('show', 'one', '--out', file)
        self.assertEqual(made, documents.read_plan(file))
        self.assertEqual(self.run_verb('show', 'one'),
                         self.run_verb('show', file))

    def test_looking_at_plans_writes_nothing(self):
        for name, made in ('two', self.now - 60), ('one', self.now):
            self.stored.keep(plan(name, made, volume=name), made, self.fail)
        before = {path: path.stat().st_mtime_ns
                  for path in self.dir.rglob('*')}
        self.assertRegex(self.run_verb('plans'),
                         r'(?s)\none .* valid .*\ntwo .* superseded')
        self.run_verb('show', 'two')
        self.assertEqual(before, {path: path.stat().st_mtime_ns
                                  for path in self.dir.rglob('*')})

    def test_a_plan_that_is_not_there(self):
        code, _, err = command.balance(
            '--config-file', self.file, 'show', 'three')
        self.assertEqual(2, code)
        self.assertIn('There is no plan three', err)
