# SPDX-License-Identifier: Apache-2.0

import functools
from importlib import metadata
import itertools
import json
import os
import subprocess
import sys

from cliff import show
import ddt
import testtools

from serifos.cmd import app
from serifos.cmd import output
from tests.unit.cmd import command

HELP = [(name, '--help') for name in ('model', 'balance', 'simulate')]
NEEDING = [('model', 'design'), ('model', 'study', '/dev/none'),
           ('model', 'screen', '/dev/none')]
BASE_INSTALL = f"""
import json, sys
for name in ('etcd3gw', 'matplotlib', 'pandas', 'psycopg2', 'pymysql',
             'scipy', 'sklearn', 'statsmodels'):
    sys.modules[name] = None  # an import fails as where it is missing
from tests.unit.cmd import command
print(json.dumps([getattr(command, program)(*argv)
                  for program, *argv in {HELP + NEEDING}]))
"""

THREADS = """
from serifos.lab.sim import main
import numpy, threadpoolctl
print(*(pool['num_threads'] for pool in threadpoolctl.threadpool_info()
        if pool['user_api'] == 'blas'))
"""


@functools.cache
def without_extras():
    """Arguments → (exit code, stdout, stderr) where no extra is installed."""
    told = json.loads(subprocess.run(
        [sys.executable, '-c', BASE_INSTALL], text=True, check=True,
        capture_output=True).stdout)
    return dict(zip(HELP + NEEDING, told))


@ddt.ddt
class ThreadsTest(testtools.TestCase):
    """Programs leave the other processors to what they measure."""

    @ddt.data(({}, '1'), ({'OPENBLAS_NUM_THREADS': '2'}, '2'))
    @ddt.unpack
    def test_one_unless_told_otherwise(self, told, threads):
        others = {name: value for name, value in os.environ.items()
                  if name != 'OPENBLAS_NUM_THREADS'}
        said = subprocess.run(
            [sys.executable, '-c', THREADS], text=True, check=True,
            capture_output=True, env={**others, **told}).stdout
        self.assertEqual([threads], said.split())


@ddt.ddt
class BaseInstallTest(testtools.TestCase):

    @ddt.data(*zip(HELP, ('model', 'balancer', 'sim')))
    @ddt.unpack
    def test_every_verb_is_listed(self, argv, program):
        code, out, err = without_extras()[argv]
        self.assertEqual((0, ''), (code, err))
        listed = [line.split()[0] for line in
                  out.partition('Commands:\n')[2].splitlines()]
        for point in metadata.entry_points(group=f'serifos.{program}'):
            self.assertIn(point.name, listed)
        self.assertNotIn('Could not', out)

    @ddt.data(*NEEDING)
    def test_a_missing_extra_is_named(self, argv):
        code, out, err = without_extras()[argv]
        self.assertEqual((4, ''), (code, out))
        self.assertIn('pip install serifos[model]', err)
        self.assertEqual(1, err.count('\n'), err)


class Nothing(app.Fails, show.ShowOne):
    """A verb that has nothing to show."""

    def take_action(self, parsed_args):
        return (), ()


@ddt.ddt
class NoCommandTest(testtools.TestCase):

    @ddt.data('frobnicate', 'statsu', 'show-me')
    def test_an_unknown_verb_is_told_on_standard_error(self, verb):
        code, out, err = command.balance(verb)
        self.assertEqual((2, ''), (code, out))
        self.assertIn(f"'{verb}' is not a serifos-balancer command", err)

    def test_debug_adds_the_traceback_and_changes_no_exit_code(self):
        shown = 'show', 'nothing-of-that-name'
        code, out, err = command.balance(*shown)
        self.assertNotIn('Traceback', err)
        found = command.balance('--debug', *shown)
        self.assertEqual((code, out), found[:2])
        self.assertIn('Traceback', found[2])
        self.assertTrue(found[2].endswith(err), found[2])

    @ddt.data(*itertools.product(
        ('model', 'balance', 'simulate'),
        (('--config-file', '/dev/null'), ('--debug',), ('-q',))))
    @ddt.unpack
    def test_options_without_a_command(self, program, options):
        name = {'balance': 'balancer', 'simulate': 'sim'}.get(program, program)
        self.assertEqual(
            (2, '', f'serifos-{name}: Give a command; see --help.\n'),
            getattr(command, program)(*options))


class Unknown(app.Fails, show.ShowOne):
    """A verb that shows what is known and what is not."""

    more = ()

    def take_action(self, parsed_args):
        return ('error', 'runs', 'kind', *map(str, self.more)), (
            output.percent(None), output.number(0.25, '.1f'), 'tenant',
            *self.more)


def run_unknown(*argv, names=()):
    """(exit code, stdout, stderr) of the verb, with more columns."""
    class More(Unknown):
        more = names

    with command.captured() as (out, err):
        whole = app.App('serifos-model', 'shows what is known')
        whole.command_manager.add_command('unknown', More)
        code = whole.run(['unknown', *argv])
    return code, out.getvalue(), err.getvalue()


@ddt.ddt
class OutputTest(testtools.TestCase):

    @ddt.data(('value', 'unknown\n0.25\ntenant\n'),
              ('json', '{"error": null, "runs": 0.25, "kind": "tenant"}\n'))
    @ddt.unpack
    def test_only_json_has_a_null(self, form, text):
        self.assertEqual((0, text, ''), run_unknown('-f', form, *(
            ['--noindent'] if form == 'json' else [])))

    @ddt.data(('table', ''), ('json', '{}\n'))
    @ddt.unpack
    def test_nothing_is_shown_as_nothing(self, form, text):
        with command.captured() as (out, _):
            whole = app.App('serifos-model', 'shows nothing')
            whole.command_manager.add_command('nothing', Nothing)
            code = whole.run(['nothing', '-f', form])
        self.assertEqual((0, text), (code, out.getvalue()))

    def test_columns_in_any_case(self):
        self.assertEqual((0, 'tenant\n', ''), run_unknown(
            '-f', 'value', '-c', 'KIND'))

    def test_where_a_column_is_not_known_the_first_are_named(self):
        code, out, err = run_unknown('-c', 'runs', '-c', 'rnus')
        self.assertEqual((2, ''), (code, out))
        self.assertEqual(
            "serifos-model: -c 'rnus': there is no such column; there are: "
            'error, runs, kind.\n', err)
        err = run_unknown('-c', 'rnus', names=range(100_000))[2]
        self.assertIn(' and 99,', err)
        self.assertLess(len(err), 200)
