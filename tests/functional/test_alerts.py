# SPDX-License-Identifier: Apache-2.0
"""The shipped alerts, by Prometheus's own tool."""

import pathlib
import shutil
import subprocess

from tests.functional import machine

HERE = pathlib.Path(__file__).parent
RULES = HERE.parents[1] / 'etc' / 'serifos' / 'prometheus' / (
    'serifos-alerts.yaml')


class AlertsTest(machine.MachineTest):

    programs = ('promtool',)

    def promtool(self, *arguments):
        done = subprocess.run(
            [machine.which('promtool'), *arguments], text=True,
            capture_output=True, cwd=self.directory, timeout=300)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def test_rules(self):
        self.assertIn('7 rules found',
                      self.promtool('check', 'rules', str(RULES)))

    def test_what_they_say(self):
        for file in RULES, HERE / 'alerts-test.yaml':
            shutil.copy(file, self.directory)
        self.promtool('test', 'rules', 'alerts-test.yaml')
