# SPDX-License-Identifier: Apache-2.0
"""What Nova would refuse is seen before it is asked to copy a volume.

A host is evacuated: the plan names each volume that stays, with its reason,
and what has changed since is seen again just before the request.
"""

import dataclasses
import re
import subprocess

from testtools import matchers

from tests.functional.attached import stage
from tests.functional import machine
from tests.functional.testbed import balancer
from tests.functional.testbed import case
from tests.functional.testbed.nova import accounts
from tests.functional.testbed.nova import config

PROMPT = 'Type yes: '

STAYS = {
    'encrypted': 'it is encrypted and in use: Nova does not copy such volumes',
    'grouped': 'it is in a group'}
STOPPED = ('its server vm ({}) is SHUTOFF; Nova copies volumes of servers '
           'that are ACTIVE, PAUSED or resized')


@dataclasses.dataclass(frozen=True)
class Evacuation:
    """What serifos-balancer evacuate said.

    ``refused`` in its plan, and the outcome of each move; name → words.
    """

    code: int
    refused: dict[str, str]
    outcomes: dict[str, str]


class RefusalsTest(case.NovaTest):
    """The tests share the server; each leaves it active."""

    _stage = None

    def setUp(self):
        super().setUp()
        cls = type(self)
        if cls._stage is None:
            cls._stage = stage.Stage(self.testbed)
            cls.addClassCleanup(cls._stage.end)
            cls._stage.begin()
        self.stage = cls._stage
        self.log_in(config.auth('admin', 'admin'))
        self.balancer.assume_models()
        self.balancer.forget()

    def log_in(self, account):
        self.balancer = balancer.Balancer(self.testbed, account)
        self.balancer.configure(allow_attached=True, max_failures=1,
                                back_off=0)

    def name(self, volume):
        return {found: name
                for name, found in self.stage.volumes.items()}[volume]

    def evacuate(self, meanwhile=None, afterwards=None):
        """With an answer of yes after what happens meanwhile, or of no."""
        process = self.balancer.start(
            'evacuate', self.testbed.host(stage.HOST).pool,
            stdin=subprocess.PIPE)
        self.addCleanup(process.kill)
        said = ''
        while not said.endswith(PROMPT) and (one := process.stdout.read(1)):
            said += one
        if meanwhile:
            self.assertThat(said, matchers.EndsWith(PROMPT))
            meanwhile()
            process.stdin.write('yes\n')
            process.stdin.flush()
        if afterwards:
            afterwards()
        out, err = process.communicate()
        self.detail('evacuate', [said, out, err])
        volume = '[0-9a-f-]{36}'
        return Evacuation(
            process.returncode,
            {self.name(found[1]): found[2] for found in re.finditer(
                rf'^({volume}) stays: (\S.*)$', said, re.M)},
            {self.name(found[1]): found[2] for found in re.finditer(
                rf'^\d+ of \d+: ({volume}), .*\n +(\S.*)$', out, re.M)})

    def assert_refused(self, why, *names):
        """In the plan; the others stay for reasons of their own."""
        found = self.evacuate()
        self.assertEqual(1, found.code)
        self.assertEqual({**STAYS, **dict.fromkeys(names, why)},
                         found.refused)

    def assert_not_started(self, meanwhile, **reasons):
        """Seen just before the request, which is never sent."""
        found = self.evacuate(meanwhile)
        self.assertEqual(1, found.code)
        self.assertEqual(STAYS, found.refused)
        self.assertEqual(
            {name: f'not started: {why}' for name, why in reasons.items()},
            found.outcomes)
        self.assertEqual([], self.balancer.journal())

    @property
    def server(self):
        return f'its server vm ({self.stage.server})'

    def test_an_account_that_may_only_read(self):
        self.log_in(accounts.Accounts(self.testbed).user('serifos_reader'))
        found = self.evacuate(lambda: None)
        self.assertEqual(1, found.code)
        self.assertEqual(STAYS, found.refused)
        self.assertThat([*found.outcomes.values()][0], matchers.MatchesRegex(
            'denied: Cinder denies access .*migrate_volume'))
        for name in 'data', 'shared':
            self.assertEqual(stage.HOST, self.testbed.host_of(
                self.stage.volumes[name]).number)

    def test_snapshots_and_more_than_one_attachment(self):
        def meanwhile():
            self.addCleanup(self.stage.delete_snapshot,
                            self.stage.take_snapshot())
            self.addCleanup(self.stage.unshare, self.stage.share())

        reasons = {'data': 'a snapshot holds it',
                   'shared': '2 servers share it'}
        self.assert_not_started(meanwhile, **reasons)
        self.assertEqual({**STAYS, **reasons}, self.evacuate().refused)

    def test_nova_is_down(self):
        self.addCleanup(self.testbed.nova.wait_up)
        self.addCleanup(self.testbed.nova.start_nova_api)
        found = self.evacuate(self.testbed.nova.kill_nova_api)
        why = 'attached, and Nova could not be asked: Nova does not answer'
        self.assertEqual({'data', 'shared'}, {*found.outcomes})
        for said in found.outcomes.values():
            self.assertIn(f'not started: {why}', said)
        self.assertEqual([], self.balancer.journal())
        refused = self.evacuate().refused
        for name in 'data', 'shared':
            self.assertIn(why, refused[name])

    def test_compute_service_is_down_and_a_task_under_way(self):
        down = f'the nova-compute of {self.server}, on compute, is down'
        try:
            self.stage.stop_compute()
            self.assert_refused(down, 'data', 'shared')
            # Nobody carries it out.
            self.stage.ask('os-stop')
            self.assert_refused(f'{self.server} has a task under way: '
                                'powering-off', 'data', 'shared')
        finally:
            self.stage.start_compute()
        self.stage.servers.wait(self.stage.server, 'SHUTOFF')
        self.stage.act('os-start', 'ACTIVE')

    def test_suspended_and_paused(self):
        why = (f'{self.server} is SUSPENDED; Nova copies volumes of servers '
               'that are ACTIVE, PAUSED or resized')
        self.assert_not_started(
            lambda: self.stage.act('suspend', 'SUSPENDED'),
            data=why, shared=why)
        self.stage.act('resume', 'ACTIVE')
        self.stage.act('pause', 'PAUSED')
        self.assertEqual(STAYS, self.evacuate().refused)
        self.stage.act('unpause', 'ACTIVE')

    def test_a_server_stopped_after_the_plan_keeps_its_volumes_alone(self):
        free = self.stage.create('free')
        stopped = STOPPED.format(self.stage.server)
        found = self.evacuate(lambda: self.stage.act('os-stop', 'SHUTOFF'))
        self.stage.act('os-start', 'ACTIVE')
        self.assertEqual(1, found.code)
        self.assertEqual(
            dict.fromkeys(('data', 'shared'), f'not started: {stopped}'),
            {name: said for name, said in found.outcomes.items()
             if name != 'free'})
        self.assertIn('success: ', found.outcomes['free'])
        self.assertEqual([free, free, free], [
            entry['volume'] for entry in self.balancer.journal()])
        self.assertNotEqual(stage.HOST, self.testbed.host_of(free).number)

    def test_nova_refuses_after_cinder_has_accepted(self):
        others = [each for each in self.testbed.guests
                  if each.host.number != stage.HOST]

        def accept():
            # Cinder will, and nobody makes the copy yet.
            for each in others:
                self.signal(each, 'STOP')
                self.addCleanup(self.signal, each, 'CONT')

        def stop():
            machine.wait_until(lambda: any(
                entry['kind'] == 'accepted'
                for entry in self.balancer.journal()))
            self.stage.act('os-stop', 'SHUTOFF')
            for each in others:
                self.signal(each, 'CONT')

        found = self.evacuate(accept, stop)
        self.stage.act('os-start', 'ACTIVE')
        stopped = STOPPED.format(self.stage.server)
        self.assertEqual(1, found.code)
        self.assertEqual(
            [f'not started: {stopped}',
             f'refused: Nova refused to copy it: {stopped}'],
            sorted(found.outcomes.values()))
        # A failure would pause the balancer here.
        self.assertEqual(
            ['request', 'accepted', 'refused', 'back-off'],
            [entry.get('result', entry['kind'])
             for entry in self.balancer.journal()])
        volume = self.testbed.api.volume(self.balancer.journal()[0]['volume'])
        self.assertEqual(
            ('in-use', 'error', self.testbed.host(stage.HOST).pool),
            (volume['status'], volume['migration_status'],
             volume['os-vol-host-attr:host']))
        self.assertEqual([], self.testbed.copies())

    def signal(self, guest, name):
        guest.call(f'kill -{name} -- -$(cat /run/cinder-volume.pid)')
