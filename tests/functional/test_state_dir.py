# SPDX-License-Identifier: Apache-2.0
"""Commands of root in a state_dir that belongs to the daemon's user."""

import os
import shutil
import subprocess
import sys

from tests.functional import machine
from tests.unit import case

NOBODY = 65534


class StateDirTest(machine.MachineTest):

    def setUp(self):
        super().setUp()
        self.need(os.geteuid() == 0, 'only root can be somebody else')
        self.directory.chmod(0o755)
        self.state = self.directory / 'state'
        self.state.mkdir()
        os.chown(self.state, NOBODY, NOBODY)
        self.conf = self.directory / 'serifos.conf'
        self.conf.write_text(f'[serifos]\nstate_dir = {self.state}\n')
        # Another user may not read root's checkout.
        site = self.directory / 'site'
        site.mkdir()
        shutil.copytree('serifos', site / 'serifos')
        self.path = os.pathsep.join([str(site), *filter(None, sys.path)])

    def balancer(self, *arguments, **others):
        done = subprocess.run(
            [sys.executable, '-m', 'serifos.cmd.balancer', '--config-file',
             self.conf, *arguments], cwd=self.directory, text=True,
            capture_output=True, timeout=case.PATIENCE_S,
            stdin=subprocess.DEVNULL,
            env={**os.environ, 'PYTHONPATH': self.path}, **others)
        self.assertNotIn('Traceback', done.stderr)
        return done.returncode, done.stdout, done.stderr

    def test_what_root_makes_belongs_to_the_daemon(self):
        code, out, err = self.balancer('resume')
        self.assertEqual(0, code, err)
        self.assertIn('The balancer is not paused.\n', out)
        self.assertEqual({NOBODY}, {path.stat().st_uid
                                    for path in self.state.iterdir()})
        self.assertEqual({NOBODY}, {path.stat().st_gid
                                    for path in self.state.iterdir()})

    def test_a_file_that_root_left_is_told_with_the_chown(self):
        journal = self.state / 'journal.sqlite'
        journal.touch(0o600)
        code, _, err = self.balancer('history')
        self.assertEqual(2, code)
        self.assertIn(f'{journal} belongs to root:root, mode 0600, and user '
                      'nobody may not read and write it; run as root: chown '
                      f'nobody:nogroup {journal}', ' '.join(err.split()))

    def test_a_link_leads_root_nowhere(self):
        precious = self.directory / 'precious'
        (self.state / 'journal.sqlite').symlink_to(precious)
        code, _, err = self.balancer('resume')
        self.assertEqual(2, code)
        self.assertIn('is a symbolic link, which is not followed', err)
        self.assertFalse(precious.exists())
