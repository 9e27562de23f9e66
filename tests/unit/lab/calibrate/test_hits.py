# SPDX-License-Identifier: Apache-2.0
"""p1 from the distributions, of simulated caches whose hits are known."""

import dataclasses
import functools

import ddt
import numpy as np
import testtools

from serifos.facts import dataset as ds
from serifos.facts import workload as wl
from serifos.lab.calibrate import calibrate
from serifos.lab.calibrate import hits
from serifos.lab.calibrate import scenarios
from serifos.lab.sim import device
from serifos.lab.sim import devices
from tests.unit import samples

_CACHE = dataclasses.replace(
    devices.CACHED, dies=64, bus_read_us_per_kib=0.4, cache_us=20.0)
_GIVEN = {'stations': 2.0, 'alpha': 0.05}


def run(workloads, cached, seed=0, ssd=_CACHE):
    """A run of which the cache serves this share of the random reads."""
    return device.SimulatedDevice(
        dataclasses.replace(ssd, cache_share=cached * len(workloads)),
        np.random.default_rng([seed, len(workloads)]), 3000
        ).measure(workloads, 60)


def reads(clients, kib=4.0, write_pct=0):
    return [wl.Workload(write_pct, kib, clients)]


def dataset(runs, gib=100.0):
    return ds.Dataset(dataclasses.replace(
        samples.HEADER, device={**samples.HEADER.device, 'size_gib': gib}),
        tuple(runs))


def told(runs):
    return {label: found for label, found in hits.found(hits.judged(
        hits.times(runs))).items()}


def without(data):
    """The same runs without distributions."""
    return dataclasses.replace(data, samples=tuple(
        dataclasses.replace(sample, seen=()) for sample in data.samples))


@functools.cache
def stepping():
    """70 % hits up to 8 clients, 20 % beyond."""
    return calibrate.runs([dataset(
        run(reads(q, kib), 0.7 if q <= 8 else 0.2, int(q * kib))
        for q in (1, 2, 4, 8, 10, 12, 14, 16) for kib in (4, 8, 16))])


@ddt.ddt
class ShareTest(testtools.TestCase):

    @ddt.data(0.1, 0.3, 0.5168, 0.7, 0.9)
    def test_p1_is_the_share_that_the_cache_does_not_serve(self, cached):
        found = told([run(reads(q, kib), cached, q + int(kib))
                      for q in (1, 2, 4) for kib in (4, 8)])
        its = found['random_read']
        self.assertAlmostEqual(1 - cached, its.share.p1, delta=0.015)
        self.assertIsNone(its.share.p1_few)
        self.assertGreaterEqual(its.told, 4)
        self.assertLess(its.deviation, 0.03)

    def test_without_a_cache_it_is_not_determined(self):
        found = told([run(reads(q, kib), 0.0, q) for q in (1, 2, 8)
                      for kib in (4, 16)])['random_read']
        self.assertIsNone(found.share)
        self.assertEqual('not determined: 0 of 6 distributions tell hits from '
                         'misses', found.words)

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

    def test_it_steps_up_with_the_clients(self):
        share = stepping().hits()['random_read'].share
        self.assertEqual(8, share.clients)
        self.assertAlmostEqual(0.3, share.p1_few, delta=0.02)
        self.assertAlmostEqual(0.8, share.p1, delta=0.02)

    def test_two_percentage_points_are_no_step(self):
        share = told([run(reads(q, kib), 0.71 if q <= 4 else 0.69,
                          int(q * kib)) for q in (1, 2, 3, 4, 5, 6, 7, 8)
                      for kib in (4, 8)])['random_read'].share
        self.assertIsNone(share.p1_few)
        self.assertAlmostEqual(0.3, share.p1, delta=0.015)

    def test_a_fit_sees_its_own_runs_alone(self):
        few = np.flatnonzero(stepping().clients <= 8)
        share = stepping().hits(few)['random_read'].share
        self.assertIsNone(share.clients)
        self.assertAlmostEqual(0.3, share.p1, delta=0.02)
        self.assertEqual(8, share.most)

    def test_the_network_has_the_step(self):
        every = np.arange(len(stepping().samples))
        found = stepping().calibrated(every, _GIVEN)
        self.assertEqual({'random_read': 8}, found['few_clients'])
        wrong = np.abs(stepping().predictions(found, every)
                       / stepping().data.y - 1)
        self.assertLess(wrong.mean(), 0.04)
        # So have the times alone, which do not tell the shares.
        blind = without(stepping()).calibrated(every, _GIVEN)
        self.assertEqual({'random_read': 8}, blind['few_clients'])
        self.assertNotIn('p1_few', blind)

    def test_a_share_that_falls_with_the_clients_is_one(self):
        found = told([run(reads(q, kib), 0.2 if q <= 2 else 0.7, int(q * kib))
                      for q in (1, 2, 4, 6) for kib in (4, 8)])['random_read']
        self.assertIsNone(found.share.p1_few)
        self.assertTrue(0.4 < found.share.p1 < 0.7)


class WhichRunsTest(testtools.TestCase):

    def test_reads_beside_writes_do_not_count(self):
        self.assertEqual({}, told([run(reads(2, 4, 30), 0.5)]))
        self.assertEqual({}, told([run(
            [*reads(2), *reads(2, 4, 100)], 0.5)]))

    def test_of_a_file_set_that_fits_all_are_hits(self):
        # One of 4 GiB in the cache, one of 100 GiB that half fits.
        data = calibrate.runs([
            dataset((run(reads(q), cached, q) for q in range(2, 9)), gib)
            for cached, gib in ((1.0, 4.0), (0.5, 100.0))])
        self.assertEqual([True] * 7, data.cached[:7])
        share = data.hits()['random_read'].share
        self.assertAlmostEqual(0.5, share.p1, delta=0.02)

    def test_of_one_that_it_has_nothing_of_all_are_misses(self):
        runs = [run(reads(4), 0.5), run(reads(2), 0.5), run(reads(3), 0.5),
                run(reads(2), 0.0, 7)]
        self.assertEqual(1.0, hits.judged(hits.times(runs))[-1].misses)

    def test_modes_that_come_with_clients_are_of_waiting(self):
        runs = [run(reads(1), 1.0), run(reads(2), 1.0),
                *(run(reads(q), 0.5) for q in (4, 5, 6))]
        found = told(runs)['random_read']
        self.assertEqual((None, 0, 5), (found.share, found.told, found.all))
        self.assertIsNotNone(told(runs[2:])['random_read'].share)

    def test_runs_without_distributions_tell_nothing(self):
        self.assertEqual({}, told(samples.dataset(
            [reads(q) for q in (1, 2, 4)], lambda run: 100.0).samples))


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
