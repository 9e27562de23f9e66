# SPDX-License-Identifier: Apache-2.0
"""Commands of root in a state_dir that belongs to the daemon's user."""

import json
import os
import shutil
import subprocess
import sys
import time

from serifos.files import documents
from tests.functional import machine
from tests.unit.database import plans_behaviour
from tests.unit.database import test_journal as unit

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
            capture_output=True, timeout=60, stdin=subprocess.DEVNULL,
            env={**os.environ, 'PYTHONPATH': self.path}, **others)
        self.assertNotIn('Traceback', done.stderr)
        return done.returncode, done.stdout, done.stderr

    def paused(self):
        old = self.state / 'journal.jsonl'
        old.write_text(unit.HEADER + json.dumps(
            {'at': '2026-01-15T07:00:00Z', 'kind': 'pause',
             'reason': '3 failures in a row'}) + '\n')
        os.chown(old, NOBODY, NOBODY)
        return old

    def test_what_root_makes_belongs_to_the_daemon(self):
        self.paused()
        code, out, err = self.balancer('resume')
        self.assertEqual(0, code, err)
        self.assertIn('The balancer goes on with its next round.\n', out)
        self.assertEqual({NOBODY}, {path.stat().st_uid
                                    for path in self.state.iterdir()})
        self.assertEqual({NOBODY}, {path.stat().st_gid
                                    for path in self.state.iterdir()})

    def test_plans_that_root_takes_over_belong_to_the_daemon(self):
        old = self.state / 'plans'
        old.mkdir()
        documents.write_plan(old / 'one.json', plans_behaviour.plan(
            'one', time.time()))
        for path in old, old / 'one.json':
            os.chown(path, NOBODY, NOBODY)
        code, out, err = self.balancer('approve', 'one')
        self.assertEqual(0, code, err)
        self.assertIn('Plan one is approved', out)
        self.assertFalse(old.exists())
        kept = [*self.state.rglob('*')]
        self.assertIn(self.state / 'plans.imported' / 'one.json', kept)
        self.assertEqual({(NOBODY, NOBODY)}, {
            (path.stat().st_uid, path.stat().st_gid) for path in kept})

    def test_a_file_that_root_left_is_told_with_the_chown(self):
        self.paused()
        journal = self.state / 'journal.sqlite'
        journal.touch(0o600)
        code, _, err = self.balancer('history')
        self.assertEqual(2, code)
        self.assertIn(f'{journal} belongs to root:root, mode 0600, and user '
                      'nobody may not read and write it; run as root: chown '
                      f'nobody:nogroup {journal}', ' '.join(err.split()))

    def test_a_link_leads_root_nowhere(self):
        self.paused()
        precious = self.directory / 'precious'
        (self.state / 'journal.sqlite').symlink_to(precious)
        code, _, err = self.balancer('resume')
        self.assertEqual(2, code)
        self.assertIn('is a symbolic link, which is not followed', err)
        self.assertFalse(precious.exists())
