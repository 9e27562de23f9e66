# SPDX-License-Identifier: Apache-2.0
"""Programs whose standard streams are closed, full, or lack letters."""

import os
import pathlib
import subprocess
import sys

import ddt
import testtools
import yaml

from tests.unit.cmd import command

EXAMPLES = pathlib.Path(__file__).parents[3] / 'etc/serifos/examples/paper'
PLAN = ('serifos.cmd.balancer', 'plan', '--cluster', EXAMPLES / 'cluster.json',
        '--models', EXAMPLES / 'models')
FULL = 'The output cannot be written: No space left on device.'


def run(redirected, module, *argv, stdout=subprocess.PIPE, **environment):
    """A module as a program, redirected as a shell does."""
    return subprocess.run(
        ['sh', '-c', f'exec "$@" {redirected}', 'sh', sys.executable, '-m',
         module, *map(str, argv)], stdout=stdout, stderr=subprocess.PIPE,
        env={**os.environ, **environment})


@ddt.ddt
class StreamsTest(testtools.TestCase):

    def sentence(self, found):
        """The last line of what is said, where there is no traceback."""
        said = found.stderr.decode()
        self.assertNotIn('Traceback', said)
        self.assertNotIn('Exception', said)
        return said.splitlines()[-1].partition(': ')[2]

    @ddt.data(
        (1, '', PLAN), (1, '1', PLAN),
        (1, '', ('serifos.cmd.balancer', '--help')),
        (255, '1', ('serifos.cmd.status', '--cinder-conf', '/nowhere',
                    'upgrade', 'check')))
    @ddt.unpack
    def test_an_output_that_cannot_be_written(self, code, unbuffered, argv):
        found = run('>/dev/full', *argv, PYTHONUNBUFFERED=unbuffered)
        self.assertEqual((code, FULL),
                         (found.returncode, self.sentence(found)))
        found = run('>&-', *argv)
        self.assertEqual(code, found.returncode)
        self.assertIn('output is closed; send it to /dev/null',
                      self.sentence(found))

    def test_who_reads_has_enough(self):
        ours, theirs = os.pipe()
        os.close(ours)
        found = run('', *PLAN, '-f', 'json', stdout=theirs)
        os.close(theirs)
        self.assertEqual(1, found.returncode)
        self.assertNotIn(b'Pipe', found.stderr)

    def test_nothing_else_takes_the_place_of_a_closed_stream(self):
        found = run('2>&-', *PLAN, '--models', '/nowhere')
        self.assertEqual((2, b''), (found.returncode, found.stdout))
        self.assertEqual(1, run('<&- >&- 2>&-', *PLAN).returncode)
        self.assertEqual(0, run('<&-', *PLAN).returncode)

    def test_letters_that_the_output_lacks(self):
        found = run('', *PLAN, PYTHONIOENCODING='ascii')
        self.assertEqual(0, found.returncode, found.stderr)
        self.assertIn(rb'node1 4.94 \u2192 3.36 ms', found.stdout)

    def test_a_document_is_the_same_in_any_encoding(self):
        options = *PLAN[1:], '-f', 'yaml', '-c', 'reason'
        found = run('', PLAN[0], *options, PYTHONIOENCODING='ascii')
        self.assertEqual(yaml.safe_load(command.balance(*options)[1]),
                         yaml.safe_load(found.stdout))
