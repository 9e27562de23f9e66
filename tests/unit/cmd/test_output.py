# SPDX-License-Identifier: Apache-2.0
"""All verbs print in one voice."""

import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import types

import ddt
import yaml

from serifos.cmd import measuring
from serifos.cmd import output
from tests.unit import case
from tests.unit.cmd import command
from tests.unit.cmd import test_balancer_plan
from tests.unit.cmd import test_balancer_status

UUID = re.compile('[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')


@ddt.ddt
class FormatTest(test_balancer_plan.PlanTestCase):

    def out(self, *arguments):
        code, out, err = self._plan(*arguments)
        self.assertEqual(0, code, err)
        return out

    def test_yaml_is_the_same_document_as_json(self):
        stamps = ('id', 'created_at', 'expires_at')
        found = yaml.safe_load(self.out('-f', 'yaml'))
        wanted = json.loads(self.out('-f', 'json'))
        for doc in found, wanted:
            for stamp in stamps:
                doc.pop(stamp)
        self.assertEqual(wanted, found)

    def test_value_is_a_line_for_each_move(self):
        moves = json.loads(self.out('-f', 'json'))['moves']
        self.assertEqual(
            [f'{move["volume"]} {move["to"]}' for move in moves],
            self.out('-f', 'value', '-c', 'volume', '-c', 'to'
                     ).splitlines())
        self.assertEqual(len(moves), len(
            self.out('-f', 'value').splitlines()))

    def test_columns_alone(self):
        moves = json.loads(self.out('-f', 'json'))['moves']
        wanted = [{'to': move['to'], 'size_gib': move['size_gib']}
                  for move in moves]
        given = '-c', 'to', '-c', 'size_gib'
        self.assertEqual(wanted, json.loads(self.out('-f', 'json', *given)))
        self.assertEqual(wanted, yaml.safe_load(
            self.out('-f', 'yaml', *given)))
        _, head, _, *rows, _ = self.out(*given).splitlines()
        self.assertEqual(['to', 'size_gib'], head.split()[1::2])
        self.assertEqual([[row['to'], f'{row["size_gib"]:g}']
                          for row in wanted],
                         [row.split()[1::2] for row in rows])

    def test_rows_are_sorted_and_csv(self):
        given = ('--max-moves', '5', '-f', 'csv', '-c', 'volume', '-c',
                 'source_before_us', '--sort-column', 'source_before_us')
        head, *rows = self.out(*given).splitlines()
        self.assertEqual('"volume","source_before_us"', head)
        figures = [float(row.split(',')[1]) for row in rows]
        self.assertEqual(sorted(figures), figures)
        self.assertLess(1, len(figures))
        self.assertEqual(rows[::-1], self.out(
            *given, '--sort-descending').splitlines()[1:])

    def test_names_and_columns_of_pools_are_short_or_all(self):
        short, whole = (self.out(*given).split('Pools, ')[1].split('\n\n')[0]
                        for given in ((), ('--long',)))
        self.assertNotIn('node1@ssd#ssd', short)
        self.assertLessEqual(max(map(len, short.splitlines())), 79)
        self.assertIn('node1@ssd#ssd', whole)
        for column in 'interval', 'immovable', 'free after':
            self.assertNotIn(f'  {column}', short)
            self.assertIn(f'  {column}', whole)

    def test_tables_as_wide_as_was_asked_for(self):
        rows = self.out('--max-width', '60').split('Pools, ')[1].split('\n\n')
        self.assertLessEqual(max(map(len, rows[0].splitlines()[5:])), 60)

    def test_columns_of_a_plan_without_moves(self):
        given = '--planner', 'bfd', '--min-gain', '0.99'
        self.assertEqual([], json.loads(
            self.out(*given, '-f', 'json'))['moves'])
        code, out, err = self._plan(*given, '-c', 'colour')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('no such column; there are: volume, from',
                      err)
        self.assertEqual('', self.out(*given, '-f', 'value', '-c', 'volume'))

    def test_a_column_that_is_not_there(self):
        code, out, err = self._plan('-c', 'colour')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('no such column; there are: volume, from',
                      err)

    def test_quiet_prints_nothing_but_what_was_asked_for(self):
        target = self.dir / 'plan.json'
        arguments = ('plan', '--cluster', self.cluster, '--models',
                     self.models, '--out', target)
        self.assertEqual((0, '', ''), command.balance('-q', *arguments))
        self.assertEqual('serifos-plan/1',
                         json.loads(target.read_text())['schema'])
        code, out, err = command.balance('-q', *arguments, '-f', 'json')
        self.assertEqual((0, ''), (code, err))
        self.assertTrue(json.loads(out)['moves'])
        code, out, err = command.balance(
            '-q', 'plan', '--cluster', self.dir / 'no.json')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('no.json', err)

    def test_quiet_tells_what_is_wrong_and_no_table_of_models(self):
        model = self.models / 'quickstart.json'
        code, out, _ = command.model('-q', 'show', model)
        self.assertEqual((0, ''), (code, out))
        code, out, _ = command.model('-q', 'show', model, '-f', 'json')
        self.assertEqual(0, code)
        self.assertTrue(json.loads(out))

    def test_quiet_verbs_that_have_one_form_print_it(self):
        arguments = '--cluster', self.cluster, '--models', self.models
        code, out, err = command.balance('-q', 'report', *arguments)
        self.assertEqual(0, code, err)
        self.assertNotEqual('', out)
        self.assertEqual((0, '', ''), command.balance(
            '-q', 'explain', 'node1', *arguments))


class MeasuringTest(case.DirectoryCase):
    """What the verbs that measure tell a person."""

    def told(self, quiet, given):
        target = types.SimpleNamespace(word='S1', fresh=False, name='/dev/x')
        with command.captured() as (out, err), output.voice(quiet, False):
            sys.stdin, was = io.StringIO('S1\n'), sys.stdin
            try:
                measuring.show({'runs': '80'})
                measuring.confirm(target, given)
            finally:
                sys.stdin = was
        self.assertEqual('', out.getvalue())
        return err.getvalue()

    def test_quiet_verbs_tell_what_they_ask_alone(self):
        for given in None, 'S1':
            self.assertIn('runs: 80', self.told(False, given))
            self.assertIn('EVERYTHING', self.told(False, given))
        self.assertEqual('', self.told(True, 'S1'))
        self.assertEqual('EVERYTHING on /dev/x will be lost.\n'
                         'Type S1 to go on: ', self.told(True, None))


class StatusFormatTest(test_balancer_status.Case):

    def test_a_document_is_a_value_a_line(self):
        self.observed()
        self.assertEqual('auto\n', self.run_verb(
            'status', '-f', 'value', '-c', 'mode'))
        self.assertEqual(
            json.loads(self.run_verb('status', '-f', 'json')).keys(),
            yaml.safe_load(self.run_verb('status', '-f', 'yaml')).keys())

    def test_the_document_goes_to_a_file_too(self):
        self.assertEqual('No plan is stored.\n', self.run_verb(
            'plans', '--out', self.dir / 'plans.json'))
        self.assertEqual([], json.loads(
            (self.dir / 'plans.json').read_text()))
        code, out, err = command.balance(
            '--config-file', self.file, 'plans', '--out', '/no/such/file')
        self.assertEqual((2, ''), (code, out))
        self.assertIn('/no/such', err)

    def test_a_column_that_is_not_there_where_nothing_is_listed(self):
        for verb in ('plans',), ('history',), ('history', '--pools'):
            for form in 'table', 'json', 'yaml', 'value':
                code, out, err = command.balance(
                    '--config-file', self.file, *verb, '-f', form,
                    '-c', 'colour')
                self.assertEqual((2, ''), (code, out), verb)
                self.assertIn('there is no such column; there are: ', err)

    def test_columns_of_nothing(self):
        given = '-c', 'id', '-c', 'moves'
        self.assertEqual('No plan is stored.\n',
                         self.run_verb('plans', *given))
        self.assertEqual('', self.run_verb('plans', '-f', 'value', *given))
        self.assertEqual([], json.loads(
            self.run_verb('plans', '-f', 'json', *given)))
        self.assertEqual([], json.loads(self.run_verb(
            'history', '-f', 'json', '-c', 'volume', '-c', 'result')))

    def test_nothing_to_list_is_nothing(self):
        for form, wanted in (('json', []), ('yaml', [])):
            self.assertEqual(wanted, yaml.safe_load(
                self.run_verb('history', '-f', form)))
        self.assertEqual('', self.run_verb('history', '-f', 'value'))


def on_terminal(arguments, columns=80, lines=24):
    """What a program prints on a terminal of this size, and its code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ,
                struct.pack('HHHH', lines, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items()
                   if name not in ('COLUMNS', 'LINES')}
    with subprocess.Popen(arguments, stdin=theirs, stdout=theirs,
                          stderr=subprocess.DEVNULL,
                          env=environment) as process:
        os.close(theirs)
        found = b''
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            found += more
    os.close(ours)
    return found.decode().replace('\r\n', '\n'), process.returncode


@ddt.ddt
class TerminalTest(test_balancer_plan.PlanTestCase):

    @ddt.data('plan', 'explain node1')
    def test_80_columns_are_enough_and_no_id_is_lost(self, verb):
        arguments = (*verb.split(), '--cluster', str(self.cluster),
                     '--models', str(self.models))
        shown, code = on_terminal(
            [sys.executable, '-m', 'serifos.cmd.balancer', *arguments])
        self.assertEqual(0, code, shown)
        self.assertLessEqual(max(map(len, shown.splitlines())), 80, shown)
        code, piped, _ = command.balance(*arguments)
        self.assertEqual(sorted(UUID.findall(piped)),
                         sorted(UUID.findall(shown)))
        self.assertGreater(max(map(len, piped.splitlines())), 80)
