# SPDX-License-Identifier: Apache-2.0
"""States of a server and its host in which Nova copies no volume."""

from tests.functional.attached import refusals


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
