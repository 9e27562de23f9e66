# SPDX-License-Identifier: Apache-2.0
"""The shipped alerts and dashboard, by Prometheus's own tool."""

import json
import pathlib
import shutil
import subprocess

from tests.functional import machine

HERE = pathlib.Path(__file__).parent
ETC = HERE.parents[1] / 'etc' / 'serifos'
RULES = ETC / 'prometheus' / 'serifos-alerts.yaml'


class AlertsTest(machine.MachineTest):

    programs = ('promtool',)

    def promtool(self, *arguments):
        done = subprocess.run(
            [machine.which('promtool'), *arguments], text=True,
            capture_output=True, cwd=self.directory, timeout=300)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def test_rules(self):
        self.assertIn('9 rules found',
                      self.promtool('check', 'rules', str(RULES)))

    def test_what_they_say(self):
        for file in RULES, HERE / 'alerts-test.yaml':
            shutil.copy(file, self.directory)
        self.promtool('test', 'rules', 'alerts-test.yaml')

    def test_queries_of_the_dashboard(self):
        panels = json.loads((
            ETC / 'grafana' / 'serifos-dashboard.json').read_text())['panels']
        asked = [target['expr'].replace('$top', '10')
                 for panel in panels for target in panel['targets']]
        # What promtool checks are rules, and JSON is YAML.
        (self.directory / 'rules.yaml').write_text(json.dumps({'groups': [{
            'name': 'dashboard', 'rules': [
                {'record': f'query_{i}', 'expr': query}
                for i, query in enumerate(asked)]}]}))
        self.assertIn(f'{len(asked)} rules found', self.promtool(
            'check', 'rules', 'rules.yaml'))
