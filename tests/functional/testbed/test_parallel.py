# SPDX-License-Identifier: Apache-2.0
"""Mode auto migrates at the same time what shares no device.

It takes four hosts, ``tools/testbed up --hosts 4``.
"""

import signal

from tests.functional import machine
from tests.functional.testbed import case
from tests.testbed import available
from tests.testbed import load
from tests.testbed import marks
from tests.testbed import network

JOB = load.Job(write_pct=50, block_kib=64, iodepth=4)
BUSY = (1, 3)


class ParallelTest(case.TestbedTest):

    def setUp(self):
        super().setUp()
        if len(self.testbed.hosts) < 4:
            self.skipTest('this testbed has fewer than four hosts')
        self.story = available.AvailableStory(self.testbed)
        self.balancer = self.story.balancer
        self.balancer.forget()
        self.balancer.assume_models()
        self.addCleanup(self.story.loads.stop_all)
        self.volumes = {self.volume(f'{name}{number}', host=host): host.pool
                        for number in BUSY
                        for host in [self.testbed.host(number)]
                        for name in 'uv'}
        self.marks = {volume: marks.write(self.testbed, volume)
                      for volume in self.volumes}
        for volume in self.volumes:
            self.story.loads.start(volume, JOB)

    def entries(self, kind):
        return [entry for entry in self.balancer.journal()
                if entry['kind'] == kind]

    def test_two_migrations_at_the_same_time(self):
        self.balancer.configure(mode='auto', interval=5, settle=3600)
        running = self.balancer.start('run')
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        network.wait_for('telemetry sees the tenants', self._active, 300)
        self.story.loads.stop_all()
        network.wait_for('two migrations are requested',
                         lambda: len(self.entries('request')) == 2, 300)
        self.assertEqual([], self.entries('outcome'))
        network.wait_for('both have an outcome',
                         lambda: len(self.entries('outcome')) == 2, 1200)
        code, _, err = machine.interrupt(running, signal.SIGTERM)
        self.assertEqual(0, code, err)

        requests = self.entries('request')
        self.assertEqual(
            {self.testbed.host(number).pool for number in BUSY},
            {entry['source'] for entry in requests})
        ends = [entry[end] for entry in requests
                for end in ('source', 'target')]
        self.assertEqual(4, len({*ends}), ends)
        self.assertEqual(
            ['success'] * 2,
            [entry['result'] for entry in self.entries('outcome')])
        moved = {entry['volume']: entry['target'] for entry in requests}
        for volume, home in self.volumes.items():
            self.assertEqual(moved.get(volume, home),
                             self.testbed.host_of(volume).pool)
            self.assertEqual(self.marks[volume],
                             marks.checksum(self.testbed, volume))
        self.assertEqual([], self.testbed.copies())

    def _active(self):
        try:
            found = self.balancer.cluster()
        except FileNotFoundError:
            return False
        return all(volume['workload'] and volume['workload']['iops']
                   for volume in found['volumes'])
