# SPDX-License-Identifier: Apache-2.0
"""The example of etc/serifos/examples: a clean win that a newcomer reads."""

import json
import pathlib
import runpy

from serifos.facts import refusals
from tests.unit import case
from tests.unit.cmd import command

EXAMPLES = pathlib.Path(__file__).parents[2] / 'etc/serifos/examples'


class ExampleTest(case.DirectoryCase):

    def setUp(self):
        super().setUp()
        runpy.run_path(str(EXAMPLES / 'now.py'))['main'](self.dir / 'cloud')

    def said(self, *arguments):
        code, out, err = command.balance(
            '--config-file', self.dir / 'cloud/serifos.conf', *arguments)
        self.assertEqual(0, code, err)
        return out

    def test_its_plan_restores_every_slo(self):
        plan = json.loads(self.said('plan', '-f', 'json'))
        volumes = {volume['id']: volume for volume in json.loads(
            (EXAMPLES / 'cluster.json').read_text())['volumes']}
        self.assertEqual(
            ['reports-etl', 'backup-stage'],
            [volumes[move['volume']]['name'] for move in plan['moves']])
        self.assertEqual({'before': 2, 'after': 0}, plan['slo_violated'])
        self.assertEqual(
            {refusals.Code.SNAPSHOTS, refusals.Code.MULTIATTACH_IN_USE,
             refusals.Code.ENCRYPTED_IN_USE, refusals.Code.PINNED,
             refusals.Code.NO_TELEMETRY},
            {each['code'] for each in plan['refused']})
        self.assertNotIn('Warning', self.said('plan'))

    def test_its_day_is_known(self):
        self.assertIn('in the last 24 hours', self.said('slo'))
        self.assertIn('2 violated SLOs', self.said('top', '--once'))
