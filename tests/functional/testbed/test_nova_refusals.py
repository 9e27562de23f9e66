# SPDX-License-Identifier: Apache-2.0
"""States of a server and its host in which Nova copies no volume."""

from tests.functional.attached import refusals
from tests.functional.attached import stage
from tests.functional import machine


class RefusalsTest(refusals.RefusalsCase):

    def test_compute_service_is_down_and_a_task_under_way(self):
        down = f'the nova-compute of {self.server}, on compute, is down'
        stopped = refusals.STOPPED.format(self.stage.server)
        try:
            self.assert_not_started(self.stage.stop_compute,
                                    data=down, shared=down)
            self.assert_refused(down, 'data', 'shared')
            # Nobody carries it out.
            self.stage.ask('os-stop')
            self.assert_refused(f'{self.server} has a task under way: '
                                'powering-off', 'data', 'shared')
        finally:
            self.stage.start_compute()
        self.stage.servers.wait(self.stage.server, 'SHUTOFF')
        self.assert_refused(stopped, 'data', 'shared')
        self.stage.act('os-start', 'ACTIVE')

    def test_suspended_and_paused(self):
        why = (f'{self.server} is SUSPENDED; Nova copies volumes of servers '
               'that are ACTIVE, PAUSED or resized')
        self.assert_not_started(
            lambda: self.stage.act('suspend', 'SUSPENDED'),
            data=why, shared=why)
        self.assert_refused(why, 'data', 'shared')
        self.stage.act('resume', 'ACTIVE')
        self.stage.act('pause', 'PAUSED')
        self.assertEqual(refusals.STAYS, self.evacuate().refused)
        self.stage.act('unpause', 'ACTIVE')

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
