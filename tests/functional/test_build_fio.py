# SPDX-License-Identifier: Apache-2.0
"""``build`` with a fio that is missing, too old, broken or stuck."""

import os
import time

from serifos.files import documents
from tests.functional import machine

# It says a good version and fills files; the runs are another matter. They
# are counted as directories: a fio that has another file open is killed.
FAKE = '''#!/bin/sh
case "$*" in
    *--version*) echo fio-3.33; exit ;;
    *--rw=write*) exec {fio} "$@" ;;
esac
mkdir {ran}/$$
{then}
'''

PRINTS = '''
for a in "$@"; do case $a in --bs=*) bs=${{a#--bs=}} ;; esac; done
side='"iops": 9, "bw": 9, "lat_ns": {{"N": 9, "mean": '$((bs * 10000 / 1024))
side="$side"', "percentile": {{"99.000000": 9000}}}}'
echo '{{"timestamp_ms": 1, "jobs": [{{"error": 0, "read": {{'"$side"'}},'
echo '"write": {{'"$side"'}}}}]}}'
'''.format()


class FioTest(machine.MachineTest):

    programs = ('fio', 'lsblk', 'findmnt')

    def setUp(self):
        super().setUp()
        self.bin = self.directory / 'bin'
        self.bin.mkdir()
        self.ran = self.directory / 'runs'
        self.ran.mkdir()
        self.target = (f'file:{self.directory}/x', '--size-gib', '0.0625',
                       *machine.SIX)
        self.path = f'{self.bin}:{os.environ["PATH"]}'

    def fake(self, text):
        fio = self.bin / 'fio'
        fio.write_text(text)
        fio.chmod(0o755)

    def fake_runs(self, then):
        self.fake(FAKE.format(fio=machine.which('fio'), ran=self.ran,
                              then=then))

    def runs(self):
        return len(list(self.ran.iterdir()))

    def test_missing(self):
        self.refused(4, 'fio is not installed; install it', 'build',
                     *self.target, path=self.bin)

    def test_too_old(self):
        self.fake('#!/bin/sh\necho fio-2.1.11\n')
        self.refused(4, 'fio-2.1.11 is too old', 'build', *self.target,
                     path=self.path)

    def test_no_fio_at_all(self):
        self.fake('#!/bin/sh\necho hello\n')
        self.refused(4, "printed 'hello'", 'build', *self.target,
                     path=self.path)

    def test_rubbish_three_times_in_a_row(self):
        self.fake_runs('echo rubbish')
        err = self.refused(4, '3 runs failed in a row', 'build',
                           *self.target, path=self.path)
        self.assertIn('rubbish', err.splitlines()[-1])
        self.assertEqual(3, self.runs())
        self.assertFalse((self.directory / 'x').exists())

    def test_failing_with_its_own_words(self):
        self.fake_runs('echo "fio: the disk is on fire" >&2; exit 1')
        err = self.refused(4, '3 runs failed in a row', 'build',
                           *self.target, path=self.path)
        self.assertIn('the disk is on fire', err.splitlines()[-1])

    def test_hanging_is_killed(self):
        pids = self.directory / 'pids'
        pids.mkdir()
        self.fake_runs(f'sleep 600 & mkdir {pids}/$!; wait')
        began = time.monotonic()
        self.refused(4, 'was killed', 'build', *self.target,
                     '--hang-after', '1', path=self.path)
        self.assertLess(time.monotonic() - began, 60)
        for pid in (int(each.name) for each in pids.iterdir()):
            machine.wait_until(lambda: machine.state(pid) == 'Z')

    def test_one_failure_costs_one_run_which_is_tried_again(self):
        self.fake_runs(f'[ $(ls {self.ran} | wc -l) != 2 ] || exit 1\n'
                       f'exec {machine.which("fio")} "$@"')
        code, _, err = self.model('build', *self.target, path=self.path)
        self.assertEqual(0, code, err)
        self.assertEqual(7, self.runs())
        made = documents.read_dataset(self.directory / 'x.jsonl').samples
        self.assertEqual(6, len({s.key for s in made}))
        self.assertEqual(6, len(made))
        model = documents.read_model(self.directory / 'x.json')
        self.assertEqual(['outstanding'], [*model.quality['mre_by_kind']])

    def test_it_resumes_once_fio_works(self):
        self.fake_runs(f'[ $(ls {self.ran} | wc -l) -lt 3 ] || exit 1\n'
                       f'exec {machine.which("fio")} "$@"')
        self.refused(4, 'the 2 of 6 runs made', 'build', *self.target,
                     path=self.path)
        code, _, err = self.model('build', *self.target)
        self.assertEqual(0, code, err)
        made = documents.read_dataset(self.directory / 'x.jsonl').samples
        self.assertEqual((6, 6), (len(made), len({s.key for s in made})))

    def test_study_measures_and_tells(self):
        self.fake_runs(PRINTS)
        code, out, err = self.model(
            'study', *self.target[:3], '--write-pcts', '0,50,100',
            '--block-kibs', '4,16,64', '--random-pcts', '10,50,100',
            '--full', '--rounds', '1', '--runtime', '0.5', path=self.path)
        self.assertEqual(0, code, err)
        self.assertEqual(27, self.runs())
        # The fake's latency is 10 us for each KiB, and nothing else.
        row = next(line.split() for line in out.splitlines()
                   if line.split()[1:4:2] == ['linear', 'S'])
        self.assertEqual((10.0, 'yes'), (float(row[5]), row[-2]))
        again = self.model('study', self.directory / 'x.jsonl')
        self.assertEqual((0, out), again[:2])
