# SPDX-License-Identifier: Apache-2.0
"""What Nova would refuse is seen before it is asked to copy a volume.

A host is evacuated: the plan names each volume that stays, with its reason,
and what has changed since is seen again just before the request.
"""

from testtools import matchers

from tests.functional.attached import refusals
from tests.functional.attached import stage
from tests.functional import machine
from tests.functional.testbed.nova import accounts


class RefusalsTest(refusals.RefusalsCase):

    def test_an_account_that_may_only_read(self):
        self.log_in(accounts.Accounts(self.testbed).user('serifos_reader'))
        found = self.evacuate(lambda: None)
        self.assertEqual(1, found.code)
        self.assertEqual(refusals.STAYS, found.refused)
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
        self.assertEqual({**refusals.STAYS, **reasons},
                         self.evacuate().refused)

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

    def test_a_server_stopped_after_the_plan_keeps_its_volumes_alone(self):
        free = self.stage.create('free')
        stopped = refusals.STOPPED.format(self.stage.server)
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
        stopped = refusals.STOPPED.format(self.stage.server)
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
