# SPDX-License-Identifier: Apache-2.0
"""``build`` on a scratch file with real fio: stopped, killed, refused."""

import collections
import fcntl
import os
import pathlib
import signal
import statistics
import subprocess
import sys

from serifos.files import documents
from serifos.model import fit
from tests.functional import machine
from tests.unit import case

MIB = 2 ** 20
WITHOUT_SCIPY = """
import sys
sys.modules['scipy'] = None  # an import fails as where it is missing
from serifos.cmd import model
sys.exit(model.main(sys.argv[1:]))
"""


class FileTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'findmnt')

    def setUp(self):
        super().setUp()
        self.file = self.directory / 'x'
        self.dataset = self.directory / 'x.jsonl'
        self.target = (f'file:{self.file}', '--size-gib', '0.0625',
                       *machine.SIX)

    def lines(self):
        return machine.lines(self.dataset)

    def assert_each_once(self, runs=6):
        made = collections.Counter(
            s.key for s in documents.read_dataset(self.dataset).samples)
        self.assertEqual(runs, len(made))
        self.assertEqual({1}, set(made.values()))

    def assert_nothing_left(self):
        self.assertFalse(self.file.exists())
        self.assertEqual([], [name for name in os.listdir(self.directory)
                              if not name.startswith('x.json')])

    def test_from_a_file_to_a_model(self):
        code, out, err = self.model('build', *self.target, '--kind', 'auto',
                                    '--tails', '--write-pcts', '50',
                                    '--block-kibs', '4,8,16,32,64,128',
                                    '-f', 'json')
        self.assertEqual(0, code, err)
        self.assertIn('6 sets x 1 round x 0.5 s = 0.00 h', err)
        self.assertIn('measure: 6 of 6', err)
        self.assert_each_once()
        self.assert_nothing_left()
        model = documents.read_model(self.directory / 'x.json')
        self.assertEqual(6, model.dataset['runs'])
        self.assertEqual({*fit.AUTO}, {*model.quality['mre_by_kind']})
        self.assertEqual({'read_p99_us', 'write_p99_us'}, {*model.tails})
        self.assertEqual(f'file:{self.file}', model.device['target'])
        self.assertIn('mre', out)

    def test_too_few_runs_for_tails_still_make_a_model(self):
        code, _, err = self.model('build', *self.target, '--tails')
        self.assertEqual(2, code)
        self.assertIn('4 different runs with a read_p99_us', err)
        model = documents.read_model(self.directory / 'x.json')
        self.assertEqual((6, {}), (model.dataset['runs'], {**model.tails}))

    def test_what_fitting_lacks_is_told_before_anything_is_made(self):
        done = subprocess.run(
            [sys.executable, '-c', WITHOUT_SCIPY, 'build',
             *self.target], cwd=self.directory, text=True,
            capture_output=True)
        self.assertEqual(4, done.returncode, done.stderr)
        self.assertIn('scipy is not installed; install it with pip '
                      'install serifos[model]', done.stderr)
        self.assertEqual([], os.listdir(self.directory))

    def test_figures_obey_littles_law_and_the_mix_asked_for(self):
        code, _, err = self.model(
            'build', f'file:{self.file}', '--size-gib', '0.125', '--full',
            '--counts', '2', '--write-pcts', '0,25,100', '--block-kibs',
            '4', '--iodepths', '8', '--rounds', '1', '--runtime', '2',
            '--kind', 'outstanding')
        self.assertEqual(0, code, err)
        kept = []
        for sample in documents.read_dataset(self.dataset).samples:
            for asked, saw in zip(sample.workloads, sample.seen):
                q = saw['iops'] * saw['latency_us'] / 1e6
                kept.append(q / asked.iodepth)
                share = 100 * saw['write_iops'] / saw['iops']
                self.assertLess(abs(share - asked.write_pct), 5)
                bandwidth = saw['read_bw_kib_s'] + saw['write_bw_kib_s']
                self.assertTrue(
                    0.9 < bandwidth / (saw['iops'] * 4) < 1.1, saw)
        # A request that began in the ramp counts whole: a stall of the
        # machine at its end shows as a surplus of that run.
        self.assertLess(0.8, min(kept), kept)
        self.assertLess(statistics.median(kept), 1.2, kept)

    def test_think_times_and_what_the_machine_did(self):
        code, _, err = self.model(
            'build', f'file:{self.file}', '--size-gib', '0.0625', '--full',
            '--counts', '1', '--write-pcts', '0,50,100', '--block-kibs', '4',
            '--iodepths', '4', '--think-times', '0,500', '--rounds', '1',
            '--runtime', '1', '--observe-host', '--kind', 'outstanding')
        self.assertEqual(0, code, err)
        for sample in documents.read_dataset(self.dataset).samples:
            asked, saw = sample.workloads[0], sample.seen[0]
            self.assertTrue(0 < saw['cpu_pct'] <= 100, saw)
            self.assertGreater(saw['context_switches_per_s'], 0)
            self.assertGreater(saw['interrupts_per_s'], 0)
            if asked.think_time_us:  # four requesters wait 0.5 ms a request
                self.assertTrue(0 < saw['iops'] <= 8800, saw)

    def test_ctrl_c_finishes_the_run_and_the_same_command_resumes(self):
        process = self.start('build', *self.target)
        machine.wait_until(lambda: self.lines() >= 3)
        code, _, err = machine.interrupt(process)
        self.assertEqual(130, code, err)
        self.assertIn('the same command resumes', err)
        made = self.lines() - 1
        self.assertTrue(2 <= made < 6, made)
        self.assert_nothing_left()
        code, _, err = self.model('build', *self.target)
        self.assertEqual(0, code, err)
        self.assertIn(f'{made} of them are made already', err)
        self.assert_each_once()

    def test_runs_that_are_chosen_one_after_another(self):
        target = (*self.target[:3], '--counts', '1,2', '--block-kibs',
                  '4,16', '--iodepths', '1,8', '--runtime', '0.5')
        process = self.start('build', *target)
        machine.wait_until(lambda: self.lines() >= 4)
        code, _, err = machine.interrupt(process)
        self.assertEqual(130, code, err)
        self.assertIn('fewer when they are enough: 80 sets', err)
        self.assertIn('of 80 runs made', err)
        self.assertIn('the same command resumes', err)
        self.assert_each_once(self.lines() - 1)
        self.assert_nothing_left()

    def test_a_second_ctrl_c_stops_at_once_and_leaves_nothing(self):
        # A run so long that it cannot end between the two signals.
        process = self.start('build', *self.target, '--runtime', '600')
        machine.wait_until(lambda: self.lines() and machine.children(
            process.pid, 'fio'))
        fios = machine.children(process.pid, 'fio')
        process.send_signal(signal.SIGINT)
        for line in process.stderr:
            if 'once more to stop at once' in line:
                break
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        self.assertEqual(130, process.wait(case.PATIENCE_S), err)
        self.assertIn('Stopped at once', err)
        self.assertIn('the same command resumes', err)
        self.assertNotIn('Traceback', err)
        self.assert_nothing_left()
        self.assertEqual([], [pid for pid in fios
                              if pathlib.Path('/proc', pid).exists()])

    def test_killed_outright_and_the_last_line_cut(self):
        process = self.start('build', *self.target)
        machine.wait_until(lambda: self.lines() >= 4)
        machine.interrupt(process, signal.SIGKILL)
        self.assert_nothing_left()
        with open(self.dataset, 'a') as file:
            file.write('{"workloads": [{"write_p')
        code, _, err = self.model('build', *self.target)
        self.assertEqual(0, code, err)
        self.assert_each_once()
        self.assert_nothing_left()

    def test_all_made_already_touches_nothing(self):
        self.model('build', *self.target)
        before = self.dataset.read_bytes()
        code, _, err = self.model('build', *self.target)
        self.assertEqual(0, code, err)
        self.assertIn('All 6 runs', err)
        self.refused(2, 'runtime_s 0.5 and 1', 'build', *self.target,
                     '--runtime', '1')
        self.assertEqual(before, self.dataset.read_bytes())

    def test_never_longer_than_asked_and_kept_on_demand(self):
        self.model('build', *self.target, '--keep')
        info = self.file.stat()
        self.assertEqual((64 * MIB, 64 * MIB),
                         (info.st_size, info.st_blocks * 512))
        with open(self.file, 'rb') as file:
            for at in range(0, 64 * MIB, 4 * MIB):  # it was filled
                self.assertNotEqual(bytes(4096), os.pread(
                    file.fileno(), 4096, at))
        self.refused(3, 'name a path where nothing is yet', 'build',
                     *self.target, '--name', 'other')
        self.assertEqual(info.st_mtime_ns, self.file.stat().st_mtime_ns)

    def test_one_build_at_a_time_in_a_directory(self):
        handle = os.open(self.directory, os.O_RDONLY)
        self.addCleanup(os.close, handle)
        fcntl.flock(handle, fcntl.LOCK_EX)
        self.refused(3, 'Another build', 'build', *self.target)
        self.assert_nothing_left()

    def test_somebody_elses_file(self):
        self.file.write_text('precious')
        self.refused(3, 'serifos did not make it', 'build', *self.target)
        self.assertEqual('precious', self.file.read_text())

    def test_a_file_that_a_user_puts_there_during_a_build(self):
        process = self.start('build', *self.target)
        machine.wait_until(lambda: self.lines() >= 3)
        self.file.write_text('precious')
        info = self.file.stat()
        _, err = process.communicate(timeout=case.PATIENCE_S)
        self.assertEqual(0, process.returncode, err)
        self.assertEqual('precious', self.file.read_text())
        self.assertEqual(info.st_ino, self.file.stat().st_ino)

    def test_no_space(self):
        self.refused(3, 'does not fit', 'build', f'file:{self.file}',
                     '--size-gib', '1048576', *machine.SIX)
        self.assert_nothing_left()

    def test_a_file_in_memory(self):
        memory = pathlib.Path('/dev/shm')
        self.need(os.access(memory, os.W_OK), 'there is no /dev/shm')
        self.refused(3, 'lives in memory', 'build',
                     f'file:{memory}/serifos-test', *self.target[1:])
        self.assertFalse((memory / 'serifos-test').exists())

    def test_bad_arguments_touch_nothing(self):
        for code, words, options in (
                (2, 'A --rounds of 0', ('--rounds', '0')),
                (2, 'write_pct nan', ('--write-pcts', 'nan')),
                (2, 'write_pct of 0.5', ('--write-pcts', '0.5')),
                (2, 'design is empty', ('--counts', ',')),
                (2, '--size-gib of nan', ('--size-gib', 'nan')),
                (2, '--hang-after of 0', ('--hang-after', '0')),
                (2, 'A --settle-rounds of 1', ('--settle-rounds', '1')),
                (2, 'cannot name a file', ('--name', '../x')),
                (2, 'end in .jsonl', ('--output', 'x.txt')),
                (2, 'no directory', ('--output', 'no/x.jsonl')),
                (2, 'no directory', ('--models-dir', 'no')),
                (2, 'too few', ('--block-kibs', '65536')),
                (2, 'made anew', ('--precondition', 'only'))):
            self.refused_at_once(code, words, 'build', *self.target,
                                 *options)
        self.assertEqual([], os.listdir(self.directory))
