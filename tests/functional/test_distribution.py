# SPDX-License-Identifier: Apache-2.0
"""The distribution of response times, as real fio measures it.

Reads of a file through the page cache, each block once and in random order,
hit as often as there is of the file in the cache; the kernel counts what was
read from the disk nevertheless.
"""

import os
import resource

import ddt

from serifos.bench import fio_result
from serifos.facts import distribution
from serifos.files import documents
from serifos.model.queueing import hits
from tests.functional import machine

_MIB = 64


@ddt.ddt
class DistributionTest(machine.MachineTest):

    programs = ('fio',)

    def file(self, cached):
        """A file of which the page cache holds this share, the first."""
        path = self.directory / 'file'
        with path.open('wb') as file:
            for _ in range(_MIB):
                file.write(os.urandom(2 ** 20))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with path.open('rb', buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            for _ in range(round(_MIB * cached)):
                file.read(2 ** 20)
        return path

    def told(self, cached):
        """The share of slow reads, and of those that the kernel counted.

        And the distribution, for whom the two are not the same.
        """
        path = self.file(cached)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
        found = fio_result.parse(self.run_tool(
            'fio', '--name=serifos', '--thread=1', f'--filename={path}',
            '--direct=0', '--invalidate=0', '--ioengine=psync',
            '--rw=randread', '--bs=4096', '--lat_percentiles=1',
            '--clat_percentiles=0', '--percentile_list=99',
            '--output-format=json+'))
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
        times = distribution.of_seen(found, 'read')
        parted = hits.parted(times)
        return (None if parted is None else parted.slow,
                (after - before) * 512 / (_MIB * 2 ** 20), times)

    @ddt.data(0.25, 0.5, 0.75)
    def test_hits_are_told_from_misses(self, cached):
        # A hit that waits for a processor is as slow as a miss: try again.
        told = []
        for _ in range(12):
            slow, missed, times = self.told(cached)
            if slow is None:
                continue
            if abs(slow - missed) < 0.06:
                return
            told.append((slow, missed, times))
        self.need(told, 'the disk is as fast as its page cache, or too busy '
                  'to tell')
        self.fail(f'slow, of the disk, times: {told}')

    def test_a_build_for_a_network_measures_and_keeps_them(self):
        self.need_programs('lsblk', 'findmnt')
        code, out, err = self.model(
            'build', f'file:{self.directory}/x', '--size-gib', '0.0625',
            '--kind', 'queueing', '--runtime', '0.5', '--write-pcts',
            '0,50,100', '--block-kibs', '4,16', '--iodepths', '1,4',
            '--counts', '1,2', '--enough-error', '0.99')
        self.assertEqual(0, code, err)
        model = documents.read_model(self.directory / 'x.json')
        self.assertEqual('queueing', model.kind)
        dataset = documents.read_dataset(self.directory / 'x.jsonl')
        self.assertEqual(
            [((write_pct, kib, depth),) for write_pct in (0, 100)
             for kib in (4, 16) for depth in (1, 4)],
            [tuple((w.write_pct, w.block_kib, w.iodepth)
                   for w in sample.workloads)
             for sample in dataset.samples[:8]])
        counted = 0
        for sample in dataset.samples:
            for workload, saw in zip(sample.workloads, sample.seen):
                for name, is_there in (('read', workload.write_pct < 100),
                                       ('write', workload.write_pct > 0)):
                    times = distribution.of_seen(saw, name)
                    # On a busy machine half a second may end before any.
                    is_there &= saw.get(f'{name}_latency_us') is not None
                    self.assertEqual(is_there, times is not None)
                    if times:
                        counted += 1
                        self.assertLess(saw[f'{name}_p99_us'],
                                        1.01 * times.ends_us[-1])
        self.assertGreater(counted, len(dataset.samples) / 2)
