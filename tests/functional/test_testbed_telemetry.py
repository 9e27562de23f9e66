# SPDX-License-Identifier: Apache-2.0
"""Telemetry reports for each volume what fio reports of its I/O there."""

import time

from serifos.telemetry import ring
from tests.functional.testbed import case
from tests.testbed import balancer
from tests.testbed import fio_result
from tests.testbed import load

JOBS = {
    'mixed': (1, load.Job(write_pct=50, block_kib=32, iodepth=4)),
    'small': (1, load.Job(write_pct=20, block_kib=16, iodepth=2)),
    'idle': (1, None),
    'reads': (2, load.Job(write_pct=0, block_kib=64, iodepth=4)),
    'writes': (2, load.Job(write_pct=100, block_kib=32, iodepth=1)),
    'large': (3, load.Job(write_pct=70, block_kib=128, iodepth=2)),
    'limited': (3, load.Job(write_pct=40, block_kib=16, iodepth=4, iops=50)),
}
"""Name → the host of the volume, and what is done with it."""

FIGURES = ('write_pct', 'block_kib', 'iops', 'latency_us')
WINDOW_S = 60
TOLD_S = 5
"""Between two questions to fio."""


class TelemetryTest(case.TestbedTest):
    """All tenants at once, several of them on each SSD."""

    def setUp(self):
        super().setUp()
        self.balancer = balancer.Balancer(self.testbed)
        self.balancer.forget()
        self.balancer.configure()
        self.loads = load.Loads(self.testbed)
        self.volumes = {
            name: self.testbed.api.create_volume(
                name, host=self.testbed.host(host))
            for name, (host, _) in JOBS.items()}
        self.addCleanup(self.testbed.delete_volumes, self.volumes.values())
        for volume in self.volumes.values():
            self.testbed.wait_available(volume)

    def observe(self):
        """Name → telemetry's figures, and fio's of the same time."""
        self.addCleanup(self.loads.stop_all)
        for name, (_, job) in JOBS.items():
            if job:
                self.loads.start(self.volumes[name], job)
        process = self.balancer.start('observe', '--window', WINDOW_S)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        told = [self.loads.so_far()]
        until = time.monotonic() + 10 * WINDOW_S
        while process.poll() is None and time.monotonic() < until:
            time.sleep(TOLD_S)
            told.append(self.loads.so_far())
        told.append(self.loads.so_far())  # for sure after the last reading
        _, err = process.communicate(timeout=1)
        self.assertEqual(0, process.returncode, err)
        seen = {volume['id']: volume['workload']
                for volume in self.balancer.cluster()['volumes']}
        self.detail('fio, every time it was asked', [
            f'{name:8}{one.at:16.2f}{one.seconds:9.2f} s{one.iops:9.1f} /s'
            f'{one.latency_us:9.1f} us'
            for name, volume in self.volumes.items()
            for one in [each[volume] for each in told if volume in each]])
        return {name: (seen[volume], fio_result.between(
            [each[volume] for each in told], *self.watched(volume))
            if volume in told[0] else None)
            for name, volume in self.volumes.items()}

    def watched(self, volume):
        """The times of the first and the last reading of its host."""
        host = self.testbed.host_of(volume).name
        readings = ring.Ring(self.balancer.state, 0).read()[host]
        return readings[0].at, readings[-1].at

    def show(self, found):
        """Keeps a table of both, telemetry's figures first, for a failure."""
        lines = [f'{"":8}' + ''.join(f'{name:>20}' for name in FIGURES)]
        for name, (seen, fio) in found.items():
            if fio:
                lines.append(f'{name:8}' + ''.join(
                    f'{seen[key]:12.1f}{getattr(fio, key):8.1f}'
                    for key in FIGURES))
        self.detail('telemetry beside fio', lines)

    def assert_within(self, share, expected, found, what):
        self.assertLess(abs(found / expected - 1), share,
                        f'{what}: {found} is told, {expected} was done')

    def test_telemetry_says_what_fio_says(self):
        found = self.observe()
        self.show(found)
        idle, _ = found.pop('idle')
        self.assertEqual((0, 0), (idle['iops'], idle['iodepth']))
        for name, (seen, fio) in found.items():
            job = JOBS[name][1]
            for done in (fio.write_pct, job.write_pct):
                self.assertLess(abs(seen['write_pct'] - done), 2, name)
            for done in (fio.block_kib, job.block_kib):
                self.assert_within(0.05, done, seen['block_kib'], name)
            self.assert_within(0.05, fio.iops, seen['iops'], name)
            # The kernel's clock of an I/O stops before fio's does, which
            # has to be woken first: never more, and on one processor an
            # eighth less, or twice or thrice that where it is slow.
            outstanding = fio.iops * fio.latency_us / 1e6
            for done, said in ((fio.latency_us, seen['latency_us']),
                               (outstanding, seen['iodepth'])):
                self.assertLess(0.5 * done, said, name)
                self.assertLess(said, 1.05 * done, name)
            self.assert_within(0.001, seen['iodepth'],
                               seen['iops'] * seen['latency_us'] / 1e6, name)
