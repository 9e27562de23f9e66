# SPDX-License-Identifier: Apache-2.0

import subprocess
import sys

import testtools


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
