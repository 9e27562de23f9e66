# SPDX-License-Identifier: Apache-2.0
"""cinder-scheduler before serifos-balancer has looked at the cloud."""

from tests.functional.testbed import case
from tests.testbed import balancer
from tests.testbed import cinder


class UnobservedTest(case.TestbedTest):

    def test_without_an_observation_cinder_goes_on(self):
        its = balancer.Balancer(self.testbed)
        its.forget()
        self.addCleanup(self.testbed.restart_scheduler)
        for config in (cinder.DRIVER, cinder.FILTER):
            self.testbed.restart_scheduler(config)
            before = len(self.testbed.scheduler_log())
            for name in 'ab':
                self.volume(name)
            said = self.testbed.scheduler_log()[before:]
            self.assertEqual(1, said.count('Serifos has no opinion'), config)
            self.assertIn('pools.json', said)

        # What is missing is told, and once it is there, that all is well.
        its.configure()
        its.assume_models()
        self.testbed.restart_scheduler(cinder.DRIVER)
        status, found = its.checked()
        self.assertEqual(2, status, found)
        self.assertIn('no observation yet', found.pop('Observation')[1])
        self.assertEqual({'Telemetry'}, {
            name for name, (result, _) in found.items() if result}, found)
        status, _, err = its.run('observe')
        self.assertEqual(0, status, err)
        status, found = its.checked()
        self.assertEqual(0, status, found)
