# SPDX-License-Identifier: Apache-2.0
import ddt
import testtools

from serifos.plan import extra_specs

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
