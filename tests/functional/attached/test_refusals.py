# SPDX-License-Identifier: Apache-2.0
"""What Nova would refuse is seen before it is asked to copy a volume.

A host is evacuated: the plan names each volume that stays, with its reason,
and what has changed since is seen again just before the request.
"""

from testtools import matchers

from tests.functional.attached import refusals
from tests.functional.attached import stage
from tests.testbed.nova import accounts


class RefusalsTest(refusals.RefusalsCase):

    def test_an_account_that_may_only_read(self):
        self.log_in(accounts.Accounts(self.testbed).user('serifos_reader'))
        found = self.evacuate(lambda: None)
        self.assertEqual(1, found.code)
        self.assertEqual(refusals.STAYS, found.refused)
        self.assertThat([*found.outcomes.values()][0], matchers.MatchesRegex(
            'denied: Cinder denies access .*migrate_volume'))
        self.assertEqual(stage.HOST, self.testbed.host_of(
            self.stage.volumes['data']).number)

    def test_snapshots_and_more_than_one_attachment(self):
        def meanwhile():
            self.addCleanup(self.stage.delete_snapshot,
                            self.stage.take_snapshot())
            self.addCleanup(self.stage.unshare, self.stage.share())

        snapshot = {'data': 'a snapshot holds it'}
        self.assert_not_started(meanwhile, **snapshot)
        self.assertEqual(
            {**refusals.STAYS, **snapshot, 'shared': '2 servers share it'},
            self.evacuate().refused)

    def test_nova_is_down(self):
        self.addCleanup(self.testbed.nova.wait_up)
        self.addCleanup(self.testbed.nova.start_nova_api)
        found = self.evacuate(self.testbed.nova.kill_nova_api)
        why = 'attached, and Nova could not be asked: Nova does not answer'
        self.assertEqual({'data'}, {*found.outcomes})
        self.assertIn(f'not started: {why}', found.outcomes['data'])
        self.assertEqual([], self.balancer.journal())
        self.assertIn(why, self.evacuate().refused['data'])

    def test_a_server_stopped_after_the_plan_keeps_its_volume_alone(self):
        free = self.stage.create('free')
        stopped = refusals.STOPPED.format(self.stage.server)
        found = self.evacuate(lambda: self.stage.act('os-stop', 'SHUTOFF'))
        self.stage.act('os-start', 'ACTIVE')
        self.assertEqual(1, found.code)
        self.assertEqual(
            {'data': f'not started: {stopped}'},
            {name: said for name, said in found.outcomes.items()
             if name != 'free'})
        self.assertIn('success: ', found.outcomes['free'])
        self.assertEqual([free, free, free], [
            entry['volume'] for entry in self.balancer.journal()])
        self.assertNotEqual(stage.HOST, self.testbed.host_of(free).number)
