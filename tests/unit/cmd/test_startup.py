# SPDX-License-Identifier: Apache-2.0
"""A command loads what it uses, so that a short one is short."""

from importlib import metadata
import inspect
import pathlib
import subprocess
import sys

import ddt
import testtools

from serifos.cmd import app
from tests.unit import case

EXAMPLES = pathlib.Path(__file__).parents[3] / 'etc/serifos/examples/paper'

LOADED = """
import sys
from serifos.cmd import {program}
code = {program}.main({argv})
print(code, *sys.modules, file=sys.stderr)
"""

LIBRARIES = frozenset((
    'cinderclient', 'keystoneauth1', 'matplotlib', 'numpy', 'oslo_config',
    'oslo_db', 'pandas', 'prometheus_client', 'requests', 'scipy', 'sklearn',
    'sqlalchemy', 'statsmodels', 'tooz'))


def loaded(program, *argv):
    """The exit code of a command, and which libraries it loaded."""
    code, *modules = subprocess.run(
        [sys.executable, '-c', LOADED.format(program=program, argv=argv)],
        text=True, check=True, capture_output=True).stderr.split('\n')[
            -2].split()
    return code, LIBRARIES.intersection(modules)


@ddt.ddt
class StartupTest(case.DirectoryCase):

    def loaded(self, *argv):
        file = self.dir / 'serifos.conf'
        file.write_text(f'[serifos]\nstate_dir = {self.dir}\n')
        return loaded('balancer', '--config-file', str(file), *argv)

    @ddt.data('balancer', 'model')
    def test_help_loads_no_verb(self, program):
        self.assertEqual(('0', frozenset()), loaded(program, '--help'))

    @ddt.data(('status', ()), ('plans', ()), ('show', ('--help',)))
    @ddt.unpack
    def test_what_reads_the_journal_asks_no_cloud(self, verb, more):
        code, found = self.loaded(verb, *more)
        self.assertEqual('0', code)
        self.assertEqual(set(), found & {
            'cinderclient', 'tooz', 'prometheus_client', 'scipy'})

    def test_a_plan_without_a_past_opens_no_database(self):
        code, found = self.loaded(
            'plan', '--cluster', str(EXAMPLES / 'cluster.json'), '--models',
            str(EXAMPLES / 'models'))
        self.assertEqual('0', code)
        self.assertIn('numpy', found)
        self.assertEqual(set(), found & {
            'sqlalchemy', 'cinderclient', 'tooz', 'scipy'})


@ddt.ddt
class HelpTest(testtools.TestCase):

    @ddt.data(*((program, point.name) for program in ('balancer', 'model',
                                                      'sim')
                for point in metadata.entry_points(
                    group=f'serifos.{program}')))
    @ddt.unpack
    def test_a_line_is_the_first_of_the_docstring(self, program, name):
        manager = app.App(f'serifos-{program}', '').command_manager
        verb, = (each for known, each in manager if known == name)
        whole = inspect.getdoc(manager.find_command([name])[0])
        self.assertEqual(whole.partition('\n')[0],
                         verb.load().__doc__)
