# SPDX-License-Identifier: Apache-2.0
import time

import ddt
import testtools

from serifos.facts import extra_specs

POOL = {'volume_backend_name': 'ssd', 'thin': True, 'max_iops': 5000,
        'drivers': ['a', 'b'], 'nested': {'tier': 'gold'}}


@ddt.ddt
class UnmetTest(testtools.TestCase):

    @ddt.data(
        {}, {'volume_backend_name': 'ssd'},
        {'capabilities:volume_backend_name': 'ssd'},
        {'thin': '<is> True'}, {'max_iops': '>= 5000'},
        {'max_iops': '= 4000'}, {'drivers': 'b'},
        {'volume_backend_name': '<or> hdd <or> ssd'},
        {'volume_backend_name': 's== ssd'},
        {'volume_backend_name': '<in> ss'},
        {'capabilities:nested:tier': 'gold'},
        {'serifos:write_pct': '30'}, {'RESKEY:availability_zones': 'x'})
    def test_met(self, specs):
        self.assertIsNone(extra_specs.unmet(specs, POOL))

    def test_a_long_expression_is_read_once(self):
        # 40 kB and 5,700 values took 10 s, each reading it again.
        began = time.thread_time()
        self.assertIsNotNone(extra_specs.unmet(
            {'a': '<or> x ' * 5700}, {'a': ['z'] * 5700}))
        self.assertLess(time.thread_time() - began, 1)

    @ddt.data(
        {'volume_backend_name': 'hdd'}, {'thin': '<is> False'},
        {'max_iops': '>= 5001'}, {'max_iops': '>= fast'}, {'drivers': 'c'},
        {'volume_backend_name': '<or> hdd'}, {'unheard_of': '1'},
        {'max_iops': '5000'}, {'max_iops': '>='}, {'max_iops': '<in> 5'},
        {'capabilities:nested:tier:deep': 'gold'}, {'thin': ''})
    def test_unmet(self, specs):
        (key, required), = specs.items()
        self.assertEqual(f'{key}={required}',
                         extra_specs.unmet(specs, POOL))

    @ddt.data(10 ** 400, float('nan'), [], {}, None, [[5]], '9' * 5000)
    def test_a_capability_of_any_type_is_no_error(self, found):
        for required in '>= 5', '= 5', '== 5', '<in> x', 's> a', '<is> True':
            extra_specs.unmet({'odd': required}, {'odd': found})
