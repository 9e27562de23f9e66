# SPDX-License-Identifier: Apache-2.0
"""What pools are in truth: named, fitted to a model, and off by a drift."""

import testtools

from serifos.lab.backtest import pools
from serifos.model.model import Model
from tests.unit.lab.backtest import histories


class DevicesTest(testtools.TestCase):

    def test_a_device_is_fitted_to_a_model(self):
        model = Model.from_json(histories.MODEL)
        found = pools.fitted('mine', model)
        self.assertTrue(pools.mismatch(found, model) < 0.25,
                        pools.mismatch(found, model))
        other = pools.NAMED['SSD1']
        self.assertGreater(pools.mismatch(other, model), 1)

    def test_named_ones_come_first(self):
        models = dict.fromkeys(('FAST', 'mine'),
                               Model.from_json(histories.MODEL))
        found = pools.of_models(models, pools.named(['mine=AGED']))
        self.assertEqual({'FAST': 'FAST', 'mine': 'AGED'}, {
            name: ssd.name for name, ssd in found.items()})

    def test_each_pool_drifts_by_itself(self):
        three = histories.pools(3)
        kinds = {'FAST': pools.NAMED['FAST']}
        first, again, none = (pools.of_pools(three, kinds, drift, 1)
                              for drift in (0.2, 0.2, 0.0))
        self.assertEqual(first, again)
        self.assertEqual((kinds['FAST'],) * 3, none)
        self.assertEqual(3, len({ssd.read_us for ssd in first}))
        self.assertEqual(first[1:],
                         pools.of_pools(three[1:], kinds, 0.2, 1))
