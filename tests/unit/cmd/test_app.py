# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import subprocess
import sys

from cliff import show
import ddt
import testtools

from serifos.cmd import app


class ExtrasTest(testtools.TestCase):

    def test_a_missing_extra_is_named(self):
        # None in sys.modules: the import fails as where it is missing.
        code = ('import sys; sys.modules["scipy"] = None;'
                'from serifos.cmd import model; sys.exit(model.main('
                '["design"]))')
        done = subprocess.run([sys.executable, '-c', code], text=True,
                              capture_output=True)
        self.assertEqual((4, ''), (done.returncode, done.stdout))
        self.assertIn('pip install serifos[model]', done.stderr)
        self.assertEqual(1, done.stderr.count('\n'))


class Nothing(app.Fails, show.ShowOne):
    """A verb that has nothing to show."""

    def take_action(self, parsed_args):
        return (), ()


@ddt.ddt
class OutputTest(testtools.TestCase):

    @ddt.data(('table', ''), ('json', '{}\n'))
    @ddt.unpack
    def test_nothing_is_shown_as_nothing(self, form, text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            whole = app.App('serifos-model', 'shows nothing')
            whole.command_manager.add_command('nothing', Nothing)
            code = whole.run(['nothing', '-f', form])
        self.assertEqual((0, text), (code, out.getvalue()))
