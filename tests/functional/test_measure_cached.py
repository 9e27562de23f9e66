# SPDX-License-Identifier: Apache-2.0
"""``measure-cached``: what a loop device sees behind a page cache."""

import contextlib
import os
import pathlib

from serifos.files import documents
from serifos.lab.relative import cached_command
from tests.functional import machine

MEMORY = (pathlib.Path('/sys/fs/cgroup/memory'),  # version 1, else 2
          pathlib.Path('/sys/fs/cgroup'))


class MeasureCachedTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'findmnt', 'mkfs.ext4')

    def setUp(self):
        super().setUp()
        if not (cached_command.TRACING / 'instances').is_dir():
            self.own_mounts()
            self.run_tool('mount', '-t', 'tracefs', 'tracefs',
                          cached_command.TRACING)
        self.group = self.bounded(32)
        path, _ = self.loop(256)
        self.file = self.mounted(path) / 'x.bin'
        self.dataset = self.directory / 'x.jsonl'
        self.left = cached_command.TRACING / 'instances' / (
            'serifos-' + ':'.join(map(str, cached_command.disk(
                os.stat(self.file.parent).st_dev))))
        self.asked = (
            'measure-cached', f'file:{self.file}', '--name', 'x', '--cgroup',
            self.group, '--size-gib', '0.15', '--runtime', '1', '--sampled',
            '4', '--block-kibs', '4', '--think-times', '0', '--random-pcts',
            '0', '--iodepths', '4', '--write-pcts', '30,70')

    def bounded(self, mib):
        """A cgroup of so much memory."""
        self.need(os.geteuid() == 0, 'only root can make a cgroup')
        for root in MEMORY:
            group = root / f'serifos-{os.getpid()}'
            with contextlib.suppress(OSError):
                group.mkdir()
                self.addCleanup(group.rmdir)
                for name in cached_command.LIMITS:
                    if (group / name).exists():
                        (group / name).write_text(f'{mib}M')
                        return group
        self.need(False, 'no cgroup here bounds memory')

    def test_measured(self):
        code, _, err = self.model(*self.asked)
        self.assertEqual(0, code, err)
        self.assertFalse(self.left.exists())
        made = documents.read_dataset(self.dataset, cached=True)
        self.assertEqual(32, made.header.device['page_cache_mib'])
        self.assertEqual(4, len(made.samples))
        for sample in made.samples:
            saw, = sample.seen
            # The page cache joins what is written and reads ahead.
            for side in 'read', 'write':
                size = (saw[f'device_{side}_kib_s']
                        / saw[f'device_{side}_iops'])
                self.assertGreater(size, 8, saw)
            self.assertGreater(saw['device_latency_us'], 0)
            self.assertLessEqual(saw['device_random_pct'], 100)
        self.refused(2, 'passed the page cache', 'fit', self.dataset, '--out',
                     'x.json')
        self.refused(2, 'passed the page cache', 'build',
                     f'file:{self.file}', '--name', 'x', '--size-gib', '0.15',
                     *machine.SIX)

    def traces(self):
        """Whether requests are traced; so not before all of it is set."""
        with contextlib.suppress(OSError):
            return (self.left / 'events/block/block_rq_complete/enable'
                    ).read_text().startswith('1')
        return False

    def test_killed_the_trace_ends_and_the_same_command_resumes(self):
        process = self.start(*self.asked)
        machine.wait_until(lambda: machine.lines(self.dataset) >= 2
                           and self.traces())
        machine.interrupt(process, 9)
        machine.wait_until(lambda: not self.left.exists() or (
            self.left / 'tracing_on').read_text() == '0\n')
        code, _, err = self.model(*self.asked)
        self.assertEqual(0, code, err)
        self.assertFalse(self.left.exists())

    def test_refused(self):
        self.refused(2, 'that bounds memory', *self.asked, '--cgroup',
                     self.directory)
        self.refused(2, 'file:PATH', 'measure-cached', '/dev/sdz',
                     '--cgroup', self.group)
        self.refused(2, '--ioengine', *self.asked, '--ioengine', 'io_uring')
        memory = pathlib.Path('/dev/shm')
        self.need(memory.is_dir(), 'there is no /dev/shm')
        self.refused(3, 'on no block device', 'measure-cached',
                     f'file:{memory}/x.bin', '--cgroup', self.group)
        self.assertFalse(self.dataset.exists())
