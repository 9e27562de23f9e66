# SPDX-License-Identifier: Apache-2.0

import contextlib
import io
import pathlib

import fixtures
import testtools

from serifos.sim import samples
from serifos import store


class SamplesTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        self.directory = pathlib.Path(
            self.useFixture(fixtures.TempDir()).path)

    def test_all_devices_make_the_same_runs(self):
        with contextlib.redirect_stdout(io.StringIO()):
            samples.main([str(self.directory), '--sampled', '2'])
        found = [store.read_dataset(self.directory / f'{truth.name}.jsonl')
                 for truth in samples.TRUTHS]
        self.assertEqual(1, len({tuple(s.key for s in one.samples)
                                 for one in found}))
        self.assertEqual(len(found), len({one.samples[0].latency_us
                                          for one in found}))

    def test_another_unit_sees_the_same_runs_otherwise(self):
        truth = samples.TRUTHS[0]
        one, again, other = (samples.dataset(truth, 1, chance=chance)
                             for chance in (0, 0, 1))
        self.assertEqual(one, again)
        self.assertEqual(one.samples[0].key, other.samples[0].key)
        self.assertNotEqual(one.samples[0].latency_us,
                            other.samples[0].latency_us)
