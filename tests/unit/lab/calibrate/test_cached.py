# SPDX-License-Identifier: Apache-2.0
"""Networks calibrated to runs of simulated caches whose hits are known."""

import dataclasses
import functools

import ddt
import numpy as np
import testtools

from serifos.facts.dataset import Dataset
from serifos.lab.calibrate import calibrate
from serifos.lab.calibrate import scenarios
from tests.unit.model.queueing.cached import reads
from tests.unit.model.queueing.cached import run
from tests.unit import samples

_GIVEN = {'stations': 2.0, 'alpha': 0.05}


def dataset(runs, gib=100.0):
    return Dataset(dataclasses.replace(
        samples.HEADER, device={**samples.HEADER.device, 'size_gib': gib}),
        tuple(runs))


def without(data):
    """The same runs without distributions."""
    return dataclasses.replace(data, data=dataclasses.replace(
        data.data, samples=tuple(dataclasses.replace(sample, seen=())
                                 for sample in data.data.samples)))


@functools.cache
def stepping():
    """70 % hits up to 8 clients, 20 % beyond."""
    return calibrate.runs([dataset(
        run(reads(q, kib), 0.7 if q <= 8 else 0.2, int(q * kib))
        for q in (1, 2, 4, 8, 10, 12, 14, 16) for kib in (4, 8, 16))])


@ddt.ddt
class NetworkTest(testtools.TestCase):

    def test_a_known_share_tells_the_time_of_a_visit(self):
        # A die takes 180 µs, and more with others before it.
        data = calibrate.runs([dataset(
            run(reads(q, kib), 0.7, int(q * kib))
            for q in (1, 2, 4, 8, 16, 32) for kib in (4, 8, 16))])
        found, blind = (its.calibrated(np.arange(18), _GIVEN)
                        for its in (data, without(data)))
        self.assertAlmostEqual(0.3, found['p1']['random_read'], delta=0.015)
        self.assertEqual(1, blind['p1']['random_read'])
        load = data.data.loads[5]
        self.assertAlmostEqual(1, calibrate.predictor(found).predict(load)
                               / calibrate.predictor(blind).predict(load))
        its, others = (sum(each['stations']['media']['random_read'].get(
            term, 0) for term in ('us', 'us_per_client'))
            for each in (found, blind))
        self.assertTrue(160 < its < 240, its)
        self.assertTrue(160 * 0.3 < others < 240 * 0.3, others)

    @ddt.data(0.3, 0.6, 0.9)
    def test_stations_have_the_times_of_the_two_modes(self, cached):
        # 20 µs and 0.4 a KiB of a hit, 180 µs more of a miss; end to end one
        # station would do.
        data = calibrate.runs([dataset(run(reads(q, kib), cached, int(q * kib))
                                       for q in (1, 2) for kib in (
                                           4, 8, 16, 32, 64))])
        network = calibrate.predictor(data.calibrated(np.arange(10), _GIVEN))
        a, b, media_a, media_b = network.of_mix(data.data.loads[1])
        self.assertAlmostEqual(1, (a + b) / (20 + 0.4 * 8), delta=0.15)
        self.assertAlmostEqual(
            1, (media_a + media_b) / (1 - cached) / 180, delta=0.15)

    def test_it_steps_up_with_the_clients(self):
        share = stepping().hits()['random_read'].share
        self.assertEqual(8, share.clients)
        self.assertAlmostEqual(0.3, share.p1_few, delta=0.02)
        self.assertAlmostEqual(0.8, share.p1, delta=0.02)

    def test_a_fit_sees_its_own_runs_alone(self):
        few = np.flatnonzero(stepping().clients <= 8)
        share = stepping().hits(few)['random_read'].share
        self.assertIsNone(share.clients)
        self.assertAlmostEqual(0.3, share.p1, delta=0.02)
        self.assertEqual(8, share.most)

    def test_the_network_has_the_step(self):
        every = np.arange(len(stepping().data.samples))
        found = stepping().calibrated(every, _GIVEN)
        self.assertEqual({'random_read': 8}, found['few_clients'])
        wrong = np.abs(stepping().predictions(found, every)
                       / stepping().data.y - 1)
        self.assertLess(wrong.mean(), 0.04)
        # So have the times alone, which do not tell the shares.
        blind = without(stepping()).calibrated(every, _GIVEN)
        self.assertEqual({'random_read': 8}, blind['few_clients'])
        self.assertNotIn('p1_few', blind)

    def test_of_a_file_set_that_fits_all_are_hits(self):
        # One of 4 GiB in the cache, one of 100 GiB that half fits.
        data = calibrate.runs([
            dataset((run(reads(q), cached, q) for q in range(2, 9)), gib)
            for cached, gib in ((1.0, 4.0), (0.5, 100.0))])
        self.assertEqual([True] * 7, data.cached[:7])
        share = data.hits()['random_read'].share
        self.assertAlmostEqual(0.5, share.p1, delta=0.02)


class CachedTest(testtools.TestCase):

    def test_runs_that_mostly_hit_and_that_mostly_miss_are_apart(self):
        data = stepping()
        known = [(q <= 8, cached) for q, cached in zip(
            data.clients, data.cached) if cached is not None]
        self.assertEqual({(True, True), (False, False)}, set(known))
        y = data.data.y
        row = scenarios.row(data, 'of', 'it', np.arange(len(y)), np.where(
            data.clients <= 8, y * 1.1, y * 1.3), y)
        self.assertEqual(['random_read', 'random_read_cached',
                          'random_read_uncached'], scenarios.columns([row]))
        self.assertAlmostEqual(0.1, row.columns['random_read_cached'])
        self.assertAlmostEqual(0.3, row.columns['random_read_uncached'])
        self.assertEqual({'random_read'}, set(row.mre))

    def test_without_distributions_the_file_set_says_it(self):
        sets = [samples.dataset(
            [reads(q) for q in range(1, 7)], lambda run: 100.0,
            dataset((), gib).header) for gib in (4.0, 100.0)]
        data = calibrate.runs(sets)
        self.assertEqual([None] * 12, data.cached)
        data = dataclasses.replace(data, cached_gib={'random_read': 4.0})
        self.assertEqual([True] * 6 + [False] * 6, data.cached)
