# SPDX-License-Identifier: Apache-2.0
"""Shell completion, in a real bash."""

import pathlib
import re
import shutil
import subprocess
import sys

import ddt
import shtab

from serifos.cmd import completion
from tests.unit import case
from tests.unit.cmd import command

PROGRAMS = {'serifos-balancer': command.balance,
            'serifos-model': command.model,
            'serifos-sim': command.simulate}

TOOL = pathlib.Path(__file__).parents[3] / 'tools/completion'

_TOLD = re.compile(r'local _commands=\(\n(.*?)\n *\)', re.DOTALL)

_ASK = '''
set -u
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
name=$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$name" "$1" "${@: -1}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}"
'''
"""Asks as bash does after a Tab: SCRIPT PROGRAM WORD..."""


@ddt.ddt
class CompletionTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        if shutil.which('bash') is None:
            self.skipTest('there is no bash')

    def completed(self, program, *words):
        code, out, err = PROGRAMS[program]('--print-completion', 'bash')
        self.assertEqual((0, ''), (code, err))
        script = self.dir / 'completion.bash'
        script.write_text(out)
        done = subprocess.run(
            ['bash', '-c', _ASK, 'bash', str(script), program, *words],
            capture_output=True, text=True, cwd=self.dir, check=False)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        return {word for word in done.stdout.split('\n') if word}

    @ddt.data(
        ('serifos-balancer', 'ap', {'apply', 'approve'}),
        ('serifos-balancer', 'und', {'undo'}),
        ('serifos-model', 're', {'relate', 'report'}),
        ('serifos-sim', 'back', {'backtest'}),
        ('serifos-balancer', '--conf', {'--config-file'}))
    @ddt.unpack
    def test_verbs_and_our_own_options(self, program, word, wanted):
        self.assertEqual(wanted, self.completed(program, word))

    def test_options_and_choices_of_a_verb(self):
        self.assertEqual({'--every-refusal'}, self.completed(
            'serifos-balancer', 'plan', '--ev'))
        self.assertEqual(
            {'table', 'csv', 'json', 'yaml', 'value'},
            self.completed('serifos-balancer', 'plan', '-f', ''))
        self.assertEqual({'--interval'}, self.completed(
            'serifos-balancer', 'top', '--i'))

    def test_files(self):
        (self.dir / 'cluster.json').touch()
        self.assertEqual({'cluster.json'}, self.completed(
            'serifos-balancer', 'plan', '--cluster', 'clu'))

    def test_the_build_writes_those_of_every_program(self):
        subprocess.run([sys.executable, str(TOOL), str(self.dir / 'usr')],
                       check=True)
        found = {str(path.relative_to(self.dir / 'usr'))
                 for path in (self.dir / 'usr').rglob('*') if path.is_file()}
        self.assertEqual({
            place.format(name) for name in PROGRAMS
            for place in completion.SHELLS.values()}, found)
        for name in PROGRAMS:
            subprocess.run(['bash', '-n', str(
                self.dir / 'usr' / completion.SHELLS['bash'].format(name))],
                check=True)
            self.assertTrue((self.dir / 'usr' / completion.SHELLS[
                'zsh'].format(name)).read_text().startswith(
                    f'#compdef {name}'))

    @ddt.data(*PROGRAMS)
    def test_zsh_tells_one_sentence_of_each_verb(self, program):
        code, out, err = PROGRAMS[program]('--print-completion', 'zsh')
        self.assertEqual((0, ''), (code, err))
        told = _TOLD.search(out)[1].splitlines()
        self.assertGreater(len(told), 2)
        for line in told:
            self.assertRegex(line, r"^ *'?[a-z-]+'?:'?[A-Z].*\.'?$")
            self.assertNotRegex(line, r'\.\s')

    def test_without_shtab_it_says_what_to_install(self):
        def absent(*_):
            raise ModuleNotFoundError(name='shtab')
        self.patch(shtab, 'complete', absent)
        code, out, err = command.balance('--print-completion', 'zsh')
        self.assertEqual((4, ''), (code, out))
        self.assertIn('pip install serifos[completion]', err)
