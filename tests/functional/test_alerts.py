# SPDX-License-Identifier: Apache-2.0
"""The shipped alerts and dashboard, by Prometheus's own tool."""

import json
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

from serifos.database import connection
from serifos.database import journal
from serifos.database import rounds
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
        self.assertIn('10 rules found',
                      self.promtool('check', 'rules', str(RULES)))

    def test_what_they_say(self):
        for file in RULES, HERE / 'alerts-test.yaml':
            shutil.copy(file, self.directory)
        self.promtool('test', 'rules', 'alerts-test.yaml')

    def test_loaded_into_a_server_that_scrapes_a_balancer(self):
        self.need_programs('prometheus')
        shutil.copy(RULES, self.directory)
        state = self.directory / 'state'
        state.mkdir()
        database = connection.Database(f'sqlite:///{state}/journal.sqlite')
        kept = journal.Journal(database, time.time)
        kept.write('pause', reason='3 failures in a row')
        rounds.Rounds(database, lambda: time.time() - 7200).count(
            'node1', 'planned')
        (self.directory / 'serifos.conf').write_text(
            f'[serifos]\nstate_dir = {state}\n')
        served, port = machine.free_port(), machine.free_port()
        self.daemon(sys.executable, '-m', 'serifos.cmd.balancer',
                    '--config-file', 'serifos.conf', 'serve', '--port',
                    served)
        (self.directory / 'prometheus.yml').write_text(
            'global: {scrape_interval: 1s, scrape_timeout: 1s, '
            'evaluation_interval: 1s}\n'
            f'rule_files: [{RULES.name}]\n'
            'scrape_configs:\n- job_name: serifos\n  static_configs:\n'
            f'  - targets: [127.0.0.1:{served}]\n')
        self.daemon('prometheus', '--config.file=prometheus.yml',
                    '--storage.tsdb.path=data',
                    f'--web.listen-address=127.0.0.1:{port}')

        def asked(what):
            try:
                with urllib.request.build_opener(
                        urllib.request.ProxyHandler({})).open(
                            f'http://127.0.0.1:{port}/api/v1/{what}',
                            timeout=10) as answer:
                    return json.load(answer)['data']
            except OSError:
                return {'alerts': [], 'groups': []}

        def alerts():
            return {each['labels']['alertname']: each['state']
                    for each in asked('alerts')['alerts']}

        # They wait for minutes before they fire.
        machine.wait_until(lambda: {'SerifosPaused', 'SerifosNoPlan'}
                           <= alerts().keys())
        rules = asked('rules')['groups'][0]['rules']
        self.assertEqual(['ok'] * 10, [each['health'] for each in rules])
        self.assertEqual({'SerifosNoObservation', 'SerifosPaused',
                          'SerifosNoPlan'}, alerts().keys())

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
