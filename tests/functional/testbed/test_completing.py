# SPDX-License-Identifier: Apache-2.0
"""Recovery of a migration whose host died while Cinder completed it."""

from tests.functional.testbed import case
from tests.testbed import balancer
from tests.testbed import completing
from tests.testbed import marks
from tests.testbed import network

SOURCE, TARGET = 1, 2
RECOVERED_S = 300


class CompletingTest(case.TestbedTest):
    """The target has renamed the copy, and no record is swapped."""

    def setUp(self):
        super().setUp()
        self.balancer = balancer.Balancer(self.testbed)
        self.balancer.models.mkdir(exist_ok=True)
        self.balancer.forget()
        self.balancer.configure()
        self.volume = self.volume(
            'completing', host=self.testbed.host(SOURCE))
        marks.write(self.testbed, self.volume)
        self.lv = f'volume-{self.volume}'

    def lvs(self, number):
        return self.testbed.guest(number).call(
            'lvs --noheadings -o lv_name ssd').split()

    def whole(self, number):
        return self.testbed.guest(number).call(
            f'md5sum < /dev/ssd/{self.lv}', 300)

    def recovered(self):
        """What recover says once no call of Cinder's can be under way."""
        code, out, err = self.balancer.run('recover', self.volume, '--yes')
        if code:
            self.assertIn('may still run', out, err)
        return out if code == 0 else ''

    def test_the_source_dies_when_the_copy_has_its_name(self):
        before = self.whole(SOURCE)
        completing.Completing(self.testbed, SOURCE, TARGET).power_fails(
            self.volume)
        found = self.testbed.api.volume(self.volume)
        self.assertEqual(('maintenance', 'completing'), (
            found['status'], found['migration_status']))
        copy, = self.testbed.copies()
        for number in SOURCE, TARGET:
            self.assertIn(self.lv, self.lvs(number))
        self.assertNotIn(f'volume-{copy["id"]}', self.lvs(TARGET))

        said = network.wait_for('it is recovered', self.recovered,
                                RECOVERED_S, every=5)
        self.addCleanup(self.testbed.on, TARGET,
                        f'lvremove -y -q ssd/{self.lv}')
        self.assertIn(f'run on node{TARGET}: lvrename ssd {self.lv} '
                      f'volume-{copy["id"]}', said)
        self.assertEqual([], self.testbed.copies())
        found = self.testbed.wait_available(self.volume)
        self.assertIsNone(found['migration_status'])
        self.assertEqual(SOURCE, self.testbed.host_of(self.volume).number)
        self.assertEqual(before, self.whole(SOURCE))
        # Nor is the copy touched that no record names.
        self.assertIn(self.lv, self.lvs(TARGET))
