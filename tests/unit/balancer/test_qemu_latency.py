# SPDX-License-Identifier: Apache-2.0
"""Latencies as QEMU sees them, beside those at the device."""

from serifos.balancer import planning
from serifos.files import documents
from serifos.report import cluster_text
from serifos.report import plan_text
from tests.unit.balancer import cloud


class QemuLatencyTest(cloud.Case):

    def setUp(self):
        super().setUp()
        self.set(auto=False)
        self.cinder.workloads = {
            'u': cloud.busy(64, 4000), 'v': cloud.busy(32, 4000)}

    def told(self, qemu_us):
        return self.made(qemu_us=qemu_us)

    def shown(self, plan, seen):
        """A plan for an observation as its reader sees it."""
        models = planning.read_models(
            seen, self.settings.models_dir, self.fail)
        return plan_text.text(planning.outlook(
            plan, planning.state(seen, self.settings.limits, models),
            models), 0.0, 900.0)

    def test_observation_and_plan_show_both(self):
        found = self.told(lambda window_s: {'u': 9500.0, 'gone': 1.0})
        plan = found.round()
        seen = documents.read_cluster(self.settings.cluster_file)
        self.assertEqual(9500.0, seen.volume('u').qemu_latency_us)
        self.assertIsNone(seen.volume('v').qemu_latency_us)
        rows = {line.split()[0]: line.split()
                for line in cluster_text.text(seen).splitlines()
                if line[:1] in ('u', 'v')}
        self.assertEqual(['4', '8', '9.5'], rows['u'][-3:])
        self.assertEqual(['4', '8', '–'], rows['v'][-3:])
        move = plan.moves[0]
        self.assertEqual(('u', 4000.0, 9500.0),
                         (move.volume, move.volume_us, move.qemu_us))
        self.assertIn('4, 9.5', self.shown(plan, seen))

    def test_without_an_exporter_there_is_no_column(self):
        plan = self.balancer.round()
        seen = documents.read_cluster(self.settings.cluster_file)
        self.assertNotIn('QEMU', cluster_text.text(seen)
                         + self.shown(plan, seen))
        self.assertNotIn('qemu_us', plan.moves[0].to_json())
