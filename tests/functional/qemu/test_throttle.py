# SPDX-License-Identifier: Apache-2.0
"""What Cinder's volume_copy_bps_limit does to a copy, on Debian's kernel."""

from tests.functional import machine
from tests.functional.qemu import guest
from tests.functional.qemu.inside import throttle

DISKS = guest.Disk('source', throttle.MIB), guest.Disk('target', throttle.MIB)
LIMIT_MIB_PER_S = throttle.LIMIT / 2 ** 20


@machine.once
def said():
    return guest.run(
        'tests.functional.qemu.inside.throttle', DISKS,
        [f'virtio-blk-pci,serial={disk.name},drive={disk.name}'
         for disk in DISKS], seconds=900).said


class ThrottleTest(machine.MachineTest):

    programs = ('cgcreate', 'cgset', 'cgexec')

    def setUp(self):
        super().setUp()
        lacking = guest.lacking()
        self.need(lacking is None, lacking)

    def saw(self, check):
        found = said()[check]
        self.assertNotIn('raised', found, found.get('raised'))
        self.assertEqual(0, found['saw']['free']['code'])
        self.assertLess(2 * LIMIT_MIB_PER_S,
                        found['saw']['free']['mib_per_s'])
        return found['saw']

    def throttled(self, copy):
        self.assertEqual(0, copy['code'], copy['words'])
        self.assertLess(LIMIT_MIB_PER_S / 4, copy['mib_per_s'])
        self.assertLess(copy['mib_per_s'], LIMIT_MIB_PER_S)

    def test_control_groups_of_version_1_throttle(self):
        self.throttled(self.saw('legacy')['blkio'])

    def test_in_those_of_version_2_the_copy_fails(self):
        copy = self.saw('unified')['blkio']
        self.assertNotEqual(0, copy['code'])
        self.assertEqual('cgroup change of group failed\n', copy['words'])

    def test_where_the_controller_is_called_io(self):
        self.throttled(self.saw('unified')['io'])
