# SPDX-License-Identifier: Apache-2.0
"""Faults while volumes move: hosts, queue and balancer die, data survives."""

import signal

from tests.functional import machine
from tests.functional.testbed import case
from tests.testbed import available
from tests.testbed import fault
from tests.testbed import layout
from tests.testbed import load
from tests.testbed import marks
from tests.testbed import network

SLOW, FAST = 'node3@ssd#ssd', 'node1@ssd#ssd'
JOB = load.Job(write_pct=50, block_kib=64, iodepth=4)


class FaultTest(case.TestbedTest):
    """Two busy volumes on the slowest host; one of them is to move."""

    def setUp(self):
        super().setUp()
        self.story = available.AvailableStory(self.testbed)
        self.balancer = self.story.balancer
        self.balancer.forget()
        self.balancer.assume_models()
        self.balancer.configure(max_moves=1)
        self.addCleanup(self.story.loads.stop_all)
        self.volumes = [
            self.volume(name, host=self.testbed.host(3)) for name in 'uv']
        self.marks = {volume: marks.write(self.testbed, volume)
                      for volume in self.volumes}
        for volume in self.volumes:
            self.story.loads.start(volume, JOB)

    def planned(self):
        """A plan of one move, its volume no longer in use."""
        plan = self.story.plan()
        move = plan['moves'][0]
        self.assertEqual(SLOW, move['from'])
        self.story.loads.stop_all()
        return plan, move['volume']

    def assert_intact(self):
        for volume, mark in self.marks.items():
            found = self.testbed.api.volume(volume)
            self.assertEqual('available', found['status'])
            self.assertIn(found['migration_status'],
                          (None, 'success', 'error'))
            self.assertEqual(mark, marks.checksum(self.testbed, volume))

    def kinds(self, volume):
        return [entry.get('result') or entry['kind']
                for entry in self.balancer.journal()
                if entry.get('volume') == volume]

    def test_the_source_dies_in_the_copy(self):
        plan, volume = self.planned()
        applying = self.balancer.start('apply', plan['id'], '--yes')
        self.addCleanup(applying.wait)
        self.addCleanup(applying.kill)
        fault.wait_copying(self.testbed, volume)
        self.testbed.kill_guest(3)
        self.testbed.boot_guest(3)
        code, _, err = machine.interrupt(applying, signal.SIGTERM)
        self.assertEqual(130, code, err)
        self.assertEqual(1, len([entry for entry in self.balancer.journal()
                                 if entry['kind'] == 'request']))

        # For ever under way, and nothing else moves.
        found = self.testbed.api.volume(volume)
        self.assertEqual('migrating', found['migration_status'])

        def told():
            code, _, err = self.balancer.run('run', '--once', '--window', '30')
            self.assertEqual(1, code)
            return f'serifos-balancer recover {volume}' in err and err
        # Its copy has to be quiet for 30 s; the host may boot in less.
        err = network.wait_for('it is known to be forgotten', told, 300)
        self.assertIn('was restarted since', err)

        code, out, err = self.balancer.run('recover', volume, '--yes')
        self.assertEqual(0, code, err)
        self.assertEqual([], self.testbed.copies())
        self.assert_intact()
        self.assertEqual('node3', self.testbed.host_of(volume).name)
        self.assertEqual(['request', 'accepted', 'begun', 'success',
                          'recovered', 'back-off'], self.kinds(volume))

    def test_queue_and_balancer_die_in_the_copy(self):
        self.balancer.configure(mode='auto', interval=5, settle=3600,
                                max_moves=1)
        running = self.balancer.start('run')
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        network.wait_for(
            'telemetry sees the tenants', self._active, 300, every=1)
        # It may ask for a migration as soon as it has seen them.
        self.story.loads.stop_all()
        volume = network.wait_for(
            'the balancer asked for a migration', self._asked, 300,
            every=0.3)
        fault.wait_copying(self.testbed, volume)
        code, _, err = machine.interrupt(running, signal.SIGTERM)
        self.assertEqual(0, code, err)
        self.assertEqual(['request', 'accepted'], self.kinds(volume))
        self.testbed.restart_rabbitmq()

        # Another one takes it up, and asks for nothing twice.
        again = self.balancer.start('run')
        self.addCleanup(again.wait)
        self.addCleanup(again.kill)
        network.wait_for(
            'the migration has an outcome',
            lambda: len(self.kinds(volume)) > 2, 900, every=1)
        self.assertEqual(1, self.kinds(volume).count('request'))
        machine.interrupt(again, signal.SIGTERM)
        self.recover(volume)
        self.assert_intact()

    def recover(self, volume):
        """What an operator does: restart what hangs, recover what is left."""
        up = self.testbed.status()['backends']
        for host in self.testbed.hosts:
            if host.service not in up:
                self.testbed.stop_cinder_volume(host.number)
                self.testbed.start_cinder_volume(host.number)
        self.testbed.wait_available(volume)
        try:
            self.testbed.wait_no_copies(120)
            return
        except layout.TestbedError:
            # Cinder's word to delete it got lost with the queue.
            self.testbed.kill_guest(3)
            self.testbed.boot_guest(3)
        code, _, err = self.balancer.run('recover', volume, '--yes')
        if code:  # A source that starts anew deletes an old copy itself.
            self.assertRegex(err, 'nothing to recover|Nothing was done')
        try:
            self.testbed.wait_no_copies(120)
        except layout.TestbedError:
            # Nor does the source know of it, and recover would wait until
            # it has been quiet for a quarter of an hour.
            left = [copy['id'] for copy in self.testbed.copies()]
            for each in left:
                self.testbed.api.reset_status(
                    each, status='error', migration_status='none')
            self.testbed.delete_volumes(left)

    def _active(self):
        try:
            found = self.balancer.cluster()
        except FileNotFoundError:
            return False
        seen = [volume['workload'] for volume in found['volumes']
                if volume['id'] in self.volumes]
        return len(seen) == 2 and all(
            workload and workload['iops'] for workload in seen)

    def _asked(self):
        return next((entry['volume'] for entry in self.balancer.journal()
                     if entry['kind'] == 'accepted'), None)

    def test_the_target_fills_up_between_plan_and_act(self):
        plan, volume = self.planned()
        target = self.testbed.host(int(plan['moves'][0]['to'][4]))
        fault.fill(self.testbed, target.number)
        self.addCleanup(fault.unfill, self.testbed, target.number)
        code, out, err = self.balancer.run('apply', plan['id'], '--yes')
        # Cinder's figures may be older than the fault: then it is Cinder
        # who fails, and a back-off follows.
        if 'GiB free, 1 needed' in out:
            self.assertEqual([], self.kinds(volume))
        else:
            self.assertEqual(1, code, out + err)
            self.assertEqual('error', self.kinds(volume)[2], out + err)
            self.assertEqual('back-off', self.kinds(volume)[-1])
        self.testbed.wait_no_copies()
        self.assert_intact()
        self.assertEqual('node3', self.testbed.host_of(volume).name)
