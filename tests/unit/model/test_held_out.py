# SPDX-License-Identifier: Apache-2.0
"""Which runs the intervals of a model file are taken from."""

import functools

import ddt
import testtools

from serifos.facts.workload import Workload
from serifos.model import fit
from tests.unit.model.tenant import test_tenant

_LIGHT = [(Workload(w, s, q),) for w in (0, 30, 100) for s in (4, 32)
          for q in (1, 3)]
_BUSY = [(Workload(w, 16, 16), Workload(70, s, 8))
         for w in (0, 50) for s in (8, 64, 128)]


@functools.cache
def _quality(runs):
    return fit.fit(test_tenant.dataset(runs), 'tenant', settings={
        'members': 1, 'units': 2}).quality


@ddt.ddt
class DeviationsTest(testtools.TestCase):

    @ddt.data((_LIGHT, _BUSY[:1] * 5), (_LIGHT[:4], _BUSY))
    @ddt.unpack
    def test_a_few_runs_have_no_interval_of_their_own(self, light, busy):
        quality = _quality((*light, *busy))
        self.assertNotIn('light_deviations', quality)
        self.assertNotIn('light_tenant_deviations', quality)
        for name in ('deviations', 'tenant_deviations'):
            low, high = quality[name]
            self.assertLess(low, high)

    @ddt.data('deviations', 'tenant_deviations')
    def test_those_of_five_light_and_five_busy_runs(self, name):
        quality = _quality((*_BUSY[:5], *(
            (Workload(0, s, 1),) for s in (4, 8, 16, 32, 64))))
        (low, high), (least, most) = quality[name], quality[f'light_{name}']
        self.assertLessEqual(least, low)
        self.assertGreaterEqual(most, high)
