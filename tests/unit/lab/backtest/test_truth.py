# SPDX-License-Identifier: Apache-2.0
"""What pools are in truth: named, fitted to a model, and off by a drift."""

import testtools

from serifos.lab.backtest import truth
from serifos.model.model import Model
from tests.unit.lab.backtest import histories


class DevicesTest(testtools.TestCase):

    def test_a_device_is_fitted_to_a_model(self):
        model = Model.from_json(histories.MODEL)
        found = truth.fitted('mine', model)
        self.assertTrue(truth.mismatch(found, model) < 0.25,
                        truth.mismatch(found, model))
        other = truth.NAMED['SSD1']
        self.assertGreater(truth.mismatch(other, model), 1)

    def test_named_ones_come_first(self):
        models = dict.fromkeys(('FAST', 'mine'),
                               Model.from_json(histories.MODEL))
        found = truth.of_models(models, truth.named(['mine=AGED']))
        self.assertEqual({'FAST': 'FAST', 'mine': 'AGED'}, {
            name: ssd.name for name, ssd in found.items()})

    def test_each_pool_drifts_by_itself(self):
        pools = histories.pools(3)
        kinds = {'FAST': truth.NAMED['FAST']}
        first, again, none = (truth.of_pools(pools, kinds, drift, 1)
                              for drift in (0.2, 0.2, 0.0))
        self.assertEqual(first, again)
        self.assertEqual((kinds['FAST'],) * 3, none)
        self.assertEqual(3, len({ssd.read_us for ssd in first}))
        self.assertEqual(first[1:],
                         truth.of_pools(pools[1:], kinds, 0.2, 1))
