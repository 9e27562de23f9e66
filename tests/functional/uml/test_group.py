# SPDX-License-Identifier: Apache-2.0
"""Builds in a volume group that has tenants: what they hold stays."""

import json

from tests.functional import machine
from tests.functional.uml import guest

DISKS_MIB = 256, 256
TENANTS = {name: {'marks': 32, 'zeros': 0, 'else': 0}
           for name in ('tenant', 'tagged', 'serifos-scratch-7')}
SCRATCH = 'serifos-scratch'


@machine.once
def said():
    """One boot serves all tests."""
    return guest.run('tests.functional.uml.inside.group', DISKS_MIB,
                     seconds=1800)


class VolumeGroupTest(machine.MachineTest):

    def setUp(self):
        super().setUp()
        lacking = guest.lacking()
        self.need(lacking is None, lacking)

    def saw(self, check, scratch=()):
        found = said()[check]
        self.assertNotIn('raised', found, found.get('raised'))
        found = found['saw']
        self.assertEqual(TENANTS, found['tenants'])
        self.assertEqual(list(scratch), sorted(found['scratch']),
                         found.get('words'))
        return found

    def test_set_up(self):
        self.saw('group_set_up')

    def test_refused(self):
        found = self.saw('group_refusals')
        self.assertIn('is a logical volume', found['volume'])
        self.assertIn('is held by dm-', found['physical volume'])
        for case, words in (('wrong word', 'nothing was touched'),
                            ('too big', 'do not fit')):
            self.assertEqual(3, found[case]['code'])
            self.assertIn(words, found[case]['words'])

    def test_what_a_killed_build_left_the_next_one_removes(self):
        self.assertEqual(-9, self.saw(
            'group_killed', (f'{SCRATCH}-0', f'{SCRATCH}-1'))['code'])
        self.assertEqual(0, self.saw('group_measured')['code'])

    def test_measured_on_tagged_volumes_of_our_own(self):
        found = self.saw('group_measured')
        self.assertEqual(0, found['code'], found['words'])
        self.assertIn([f'{SCRATCH}-0', SCRATCH], found['seen'])
        self.assertEqual({SCRATCH}, {tags for _, tags in found['seen']})
        header, *runs = map(json.loads, found['dataset'].splitlines())
        self.assertEqual('guest', header['device']['target'])
        self.assertEqual(6, len(runs))
        self.assertTrue(all(run['latency_us'] > 0 for run in runs))
        self.assertTrue(found['model'])

    def test_interrupted(self):
        found = self.saw('group_interrupted')
        self.assertEqual(130, found['code'], found['words'])
        self.assertIn('the same command resumes', found['words'])

    def test_somebody_elses_volume_of_our_name_stays(self):
        found = self.saw('group_with_a_volume_of_our_name',
                         (f'{SCRATCH}-1',))
        self.assertEqual(4, found['code'])
        self.assertIn('already exists', found['words'])
