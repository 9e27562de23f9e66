# SPDX-License-Identifier: Apache-2.0
"""The testbed itself, and the way from no configuration to a plan."""

import json

from tests.functional.testbed import case
from tests.testbed import balancer
from tests.testbed import cinder
from tests.testbed import load


class TestbedTest(case.TestbedTest):

    def test_every_host_is_a_kernel_with_one_backend(self):
        self.assertEqual(
            ['node1@ssd', 'node2@ssd', 'node3@ssd'],
            self.testbed.status()['backends'])
        boots = {self.testbed.on(
            host.name, 'cat /proc/sys/kernel/random/boot_id')
            for host in self.testbed.hosts}
        self.assertEqual(3, len(boots))
        self.assertEqual(
            {'node1', 'node2', 'node3'},
            {pool['serifos_model']
             for pool in self.testbed.api.pools().values()})

    def test_latency_is_outstanding_bytes_over_bandwidth(self):
        volume = self.volume('fifo', host=self.testbed.host(3))
        loads = load.Loads(self.testbed)
        loads.start(volume, load.Job(0, block_kib=64, iodepth=8))
        self.addCleanup(loads.stop_all)
        found = loads.measure(15)[volume]
        expected = 8 * 64 * 1024 / self.testbed.host(3).read_mbs
        # A machine that does other things, too, is slower, never faster.
        self.assertLess(expected * 0.9, found.latency_us)
        self.assertLess(found.latency_us, expected * 4)

    def test_an_empty_configuration_leads_to_a_first_plan(self):
        self.testbed.restart_scheduler()
        ours = balancer.Balancer(self.testbed)
        ours.assume_models()
        ours.forget()
        self.addCleanup(ours.forget)
        self.addCleanup(self.testbed.restart_scheduler)
        ours.file.write_text(f'[serifos]\nstate_dir = {ours.state}\n'
                             f'models_dir = {ours.models}\n')
        ran = [verb for _ in range(3) for verb in self.follow(ours)]
        self.assertEqual(['observe', 'plan'], ran)
        code, out, err = ours.run('plan', '-f', 'json')
        self.assertEqual((0, 3), (code, len(
            json.loads(out)['latency_us'])), err)

    def follow(self, ours):
        """Does what serifos-status prints; yields the verbs that it runs."""
        scheduler = self.testbed.layout.control / 'scheduler.conf'
        process = ours.start('--cinder-conf', scheduler, 'upgrade', 'check',
                             program='status')
        out, err = process.communicate(timeout=300)
        self.detail('status', [out, err])
        for block in out.partition('What is missing')[2].split('\n\n')[1:]:
            head, *lines = block.strip().splitlines()
            where = head.removeprefix('# ').partition(',')[0]
            if where == str(scheduler):
                self.assertIn('scheduler_driver = ', block)
                self.testbed.restart_scheduler(cinder.DRIVER)
            elif where == str(ours.file):
                text = '\n'.join(lines) + '\n'
                for host in self.testbed.hosts:
                    text = text.replace(f'http://{host.name}:9100/metrics',
                                        host.exporter)
                if '[cinder]' in text:  # there is no Keystone here
                    url, project = self.testbed.endpoint
                    text = (f'[cinder]\nnoauth_endpoint = {url}\n'
                            f'noauth_project_id = {project}\n')
                ours.file.write_text(ours.file.read_text() + text)
            else:
                self.assertIn('in a shell of root', head)
                for line in lines:
                    program, *words = line.split()
                    self.assertEqual('serifos-balancer', program)
                    code, _, err = ours.run(*words)
                    self.assertEqual(0, code, err)
                    yield words[0]
