# SPDX-License-Identifier: Apache-2.0
"""serifos relieves an overloaded host of a real Cinder, data intact."""

import json

from tests.functional.testbed import case
from tests.testbed import available
from tests.testbed import network
from tests.testbed import story
from tests.unit.cmd import command
from tests.unit.cmd import questions


class StoryTest(case.TestbedTest):

    def setUp(self):
        super().setUp()
        told = []
        # Cinder copies an encrypted volume as it is.
        kind = self.testbed.api.create_type('luks', {}, encrypted=True)
        self.addCleanup(self.delete_type, kind)
        self.story = available.AvailableStory(
            self.testbed, told.append, {'logs': 'luks'})
        self.story.balancer.forget()
        self.addCleanup(self.story.end)
        self.detail('story', told)

    def delete_type(self, kind):
        api = self.testbed.api
        network.wait_for('the encrypted volume is deleted', lambda: not any(
            volume['volume_type'] == 'luks' for volume in api.volumes()),
            300, every=0.5)
        api.delete_type(kind)

    def pin(self, *names):
        for name in names:
            self.testbed.api.ask(
                'POST', f'/volumes/{self.story.volumes[name]}/metadata',
                {'metadata': {'serifos:pin': 'yes'}})

    def test_the_story(self):
        # Of one host, for the time that it takes; the demo measures all.
        self.assertEqual({'node3'}, set(self.story.models(3)))
        self.story.tenants()
        # A copy takes two minutes here: those of the slowest host are enough.
        self.pin('wiki', 'docs')
        before = self.story.felt()

        cluster = self.story.observe()
        active = {volume['id'] for volume in cluster['volumes']
                  if volume['workload']['iops'] > 0}
        self.assertEqual(set(self.story.volumes.values()), active)
        self.assertEqual(
            {'node1', 'node2', 'node3'},
            {pool['model'] for pool in cluster['pools']})

        # The slow host is the emptiest for none of it: it is the slowest.
        self.assertNotEqual('node3', self.story.place())

        # The last of its plans moves nothing.
        moves = self.story.balance()
        self.assertIn(self.story.volumes['logs'],
                      [move['volume'] for move in moves])
        self.assertTrue(self.testbed.api.volume(
            self.story.volumes['logs'])['encrypted'])
        self.assertEqual('node3@ssd#ssd', moves[0]['from'])
        for move in moves:
            self.assertEqual(move['to'], self.testbed.host_of(
                move['volume']).pool)
        after = self.story.felt()
        self.assertLess(after.worst, before.worst)
        self.assertLess(after.variance, before.variance)
        self.assertEqual(dict.fromkeys(available.TENANTS, True),
                         self.story.intact())
        self.assertEqual(
            ['request', 'accepted', 'outcome'] * len(moves),
            [entry['kind'] for entry in self.story.balancer.journal()])
        self.assertEqual(
            {'success'}, {entry['result'] for entry
                          in self.story.balancer.journal()
                          if entry['kind'] == 'outcome'})

        code, out, _ = self.story.balancer.run('history')
        self.assertEqual(0, code)
        self.assertIn('success', out)

        self.replay(after.worst)
        self.take_back()

    def replay(self, worst_us):
        """Its own past, on pools as its models say."""
        balancer = self.story.balancer
        week = self.directory / 'week.csv.gz'
        code, out, err = balancer.run(
            'history', '--out', week, '--days', 1, '--step', 60)
        self.assertEqual(0, code, err)
        self.assertIn(f'{week} has 4 of 4 volumes; ', out)
        code, out, err = command.simulate(
            'backtest', week, '--models', balancer.models, '--cluster',
            balancer.state / 'cluster.json', '--policy', 'stay',
            '--policy', 'relieve', '--option', 'interval=60', '--option',
            'hold=1', '--jobs', 1, '-f', 'json')
        self.assertEqual(0, code, err)
        self.detail('backtest', [out])
        stay, relieve = json.loads(out)['policies']
        for found in stay, relieve:
            self.assertEqual((3, 4), (found['pools'], found['volumes']))
        self.assertEqual(0, stay['moves'])
        self.assertTrue(0.1 < stay['worst_us'] / worst_us < 10,
                        (stay['worst_us'], worst_us))

    def take_back(self):
        """The last plan, by mode approve; what a person then looks at."""
        balancer = self.story.balancer
        last = [entry['plan'] for entry in balancer.journal()
                if entry['kind'] == 'request'][-1]
        self.story.observe()
        balancer.configure(min_gain=story.MIN_GAIN, mode='approve')
        code, out, err = balancer.run('undo', last, '-f', 'json')
        self.assertEqual(0, code, err)
        back = json.loads(out)
        made = {(entry['volume'], entry['source'])
                for entry in balancer.journal()
                if entry['kind'] == 'request' and entry['plan'] == last}
        self.assertEqual(made, {(move['volume'], move['to'])
                                for move in back['moves']})

        code, out, err = balancer.run('approve', back['id'])
        self.assertEqual(0, code, err)
        # Under load was shown above; without it a copy takes half the time.
        with self.story.moving(back['moves']):
            self.story.loads.pause_all()
            for _ in back['moves']:
                code, out, err = balancer.run(
                    'run', '--once', '--window', story.WINDOW_S)
                self.assertEqual(0, code, err)
        self.assertEqual(
            made, {(volume, self.testbed.host_of(volume).pool)
                   for volume, _ in made})
        self.look(back['id'])
        self.assertEqual(dict.fromkeys(available.TENANTS, True),
                         self.story.intact())

    def look(self, plan):
        """What console and page say of the cloud and a plan carried out."""
        balancer = self.story.balancer
        page = self.directory / 'cloud.html'
        for verb, says in (
                (('status',), 'approve'), (('top', '--once'), 'node3'),
                (('explain', 'node3'), 'node3: '),
                (('explain', 'logs'), 'luks'),
                (('show', plan), 'carried out'), (('plans',), plan[:8]),
                (('report', '--out', page), '')):
            code, out, err = balancer.run(*verb)
            self.detail(' '.join(map(str, verb)), [out, err])
            self.assertEqual(0, code, err)
            self.assertIn(says, out)
        self.assertIn('node3', page.read_text())
        self.assertEqual([], questions.unanswered(page.read_text()))
