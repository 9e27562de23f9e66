# SPDX-License-Identifier: Apache-2.0
"""Watcher's applier moves a volume of a real Cinder."""

import json
import subprocess

from tests.functional.testbed import case
from tests.testbed import available
from tests.testbed import layout
from tests.testbed import story

PYTHON = layout.ROOT / '.venv-watcher' / 'bin' / 'python'
SECONDS = 900


class WatcherTest(case.TestbedTest):

    def setUp(self):
        super().setUp()
        self.need(PYTHON.exists(), 'no Watcher is installed: run tools/test '
                  'watcher first')
        told = []
        self.detail('story', told)
        self.story = available.AvailableStory(self.testbed, told.append)
        self.balancer = self.story.balancer
        self.balancer.forget()
        self.addCleanup(self.story.end)

    def test_an_audit_is_carried_out(self):
        self.balancer.configure(min_gain=story.MIN_GAIN, max_moves=1)
        self.balancer.assume_models()
        self.story.tenants()
        self.story.observe()
        with self.story.moving([
                {'volume': each} for each in self.story.volumes.values()]):
            process = self.testbed.in_network(
                [PYTHON, '-m', 'tests.testbed.by_watcher',
                 self.balancer.file], text=True, cwd=layout.ROOT,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            out, err = process.communicate(timeout=SECONDS)
        self.detail('Watcher', [out, err])
        self.assertEqual(0, process.returncode)
        found = json.loads(out.splitlines()[-1])
        self.assertEqual(('SUCCEEDED', 'SUCCEEDED'),
                         (found['audit'], found['plan']))
        move, = found['actions']
        self.assertEqual(('SUCCEEDED', 'node3@ssd#ssd'),
                         (move['state'], move['source_pool']))
        self.assertEqual(
            move['destination_pool'],
            self.testbed.host_of(move['resource_id']).pool)
        self.assertEqual(
            [('request', None), ('accepted', None), ('outcome', 'success')],
            [(entry['kind'], entry.get('result'))
             for entry in self.balancer.journal()])
        self.assertEqual(dict.fromkeys(available.TENANTS, True),
                         self.story.intact())
