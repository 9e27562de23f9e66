# SPDX-License-Identifier: Apache-2.0
"""Shell completion, in a real zsh on a terminal of its own."""

import os
import pty
import select
import shutil
import signal
import time

from tests.unit import case
from tests.unit.cmd import command

_SETUP = """\
fpath=({dir} $fpath)
autoload -U compinit && compinit -u -D
_every() {{ _main_complete; compstate[insert]=all }}
zle -C every complete-word _every
_told() {{ print -r -- "$BUFFER" > {dir}/found && BUFFER= && zle -R
  mv {dir}/found {dir}/told }}
zle -N _told
bindkey '^I' every
bindkey '^X' _told
touch {dir}/told
"""
"""Tab inserts all that fits, Ctrl-X writes the line to the file told."""


class CompletionTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        if shutil.which('zsh') is None:
            self.skipTest('there is no zsh')
        for name, program in (('serifos-balancer', command.balance),
                              ('serifos-model', command.model)):
            code, out, err = program('--print-completion', 'zsh')
            self.assertEqual((0, ''), (code, err))
            (self.dir / f'_{name}').write_text(out)
        (self.dir / 'cluster.json').touch()
        (self.dir / 'setup').write_text(_SETUP.format(dir=self.dir))
        self.told = self.dir / 'told'
        pid, self.terminal = pty.fork()
        if not pid:
            os.chdir(self.dir)
            os.environ.update(TERM='dumb', HOME=str(self.dir))
            os.execvp('zsh', ['zsh', '-f', '-i'])
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(os.close, self.terminal)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        self._type(f'source {self.dir}/setup\n')

    def _type(self, keys):
        """What is typed, until zsh has written the file told."""
        os.write(self.terminal, keys.encode())
        ends = time.monotonic() + case.PATIENCE_S
        while not self.told.exists():
            if time.monotonic() > ends:
                self.fail(f'zsh does not answer {keys!r}')
            if select.select([self.terminal], [], [], 0.05)[0]:
                os.read(self.terminal, 65536)
        text = self.told.read_text()
        self.told.unlink()
        return text

    def completed(self, line):
        """The words that a Tab at the end of a line puts in its last one."""
        return set(self._type(f'{line}\t\x18').split()) - set(
            line.split() if line.endswith(' ') else line.split()[:-1])

    def test_verbs_options_choices_and_files(self):
        for line, wanted in (
                ('serifos-balancer und', {'undo'}),
                ('serifos-balancer ap', {'apply', 'approve'}),
                ('serifos-model re', {'relate', 'report'}),
                ('serifos-balancer --conf', {'--config-file'}),
                ('serifos-balancer plan --ev', {'--every-refusal'}),
                ('serifos-balancer top --i', {'--interval'}),
                ('serifos-balancer plan -f ',
                 {'table', 'json', 'yaml', 'value'}),
                ('serifos-balancer plan --cluster clu', {'cluster.json'})):
            self.assertEqual(wanted, self.completed(line), line)
