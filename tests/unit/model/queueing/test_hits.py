# SPDX-License-Identifier: Apache-2.0
"""p1 from the distributions, of simulated caches whose hits are known."""

import dataclasses

import ddt
import testtools

from serifos.design import alone
from serifos.design import sequential
from serifos.lab.sim import devices
from serifos.lab.sim import modeler
from serifos.model import fit_runs
from serifos.model.queueing import fit
from serifos.model.queueing import hits
from tests.unit.model.queueing.cached import reads
from tests.unit.model.queueing.cached import run
from tests.unit import samples


def told(runs):
    return hits.found(hits.judged(hits.times(runs)))


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

    def test_two_percentage_points_are_no_step(self):
        share = told([run(reads(q, kib), 0.71 if q <= 4 else 0.69,
                          int(q * kib)) for q in (1, 2, 3, 4, 5, 6, 7, 8)
                      for kib in (4, 8)])['random_read'].share
        self.assertIsNone(share.p1_few)
        self.assertAlmostEqual(0.3, share.p1, delta=0.015)

    def test_a_share_that_falls_with_the_clients_is_one(self):
        found = told([run(reads(q, kib), 0.2 if q <= 2 else 0.7, int(q * kib))
                      for q in (1, 2, 4, 6) for kib in (4, 8)])['random_read']
        self.assertIsNone(found.share.p1_few)
        self.assertTrue(0.4 < found.share.p1 < 0.7)

    def test_volumes_share_the_cache(self):
        found = told([run(reads(1, kib) * volumes, 0.7 / volumes, int(kib))
                      for volumes in (1, 2, 3) for kib in (4, 8)])
        its = found['random_read']
        self.assertAlmostEqual(0.7, its.share.volumes, delta=0.03)
        self.assertIn(' / volumes (±', its.words)

    def test_volumes_that_share_nothing_do_not(self):
        found = told([run(reads(1, kib) * volumes, 0.3, int(kib))
                      for volumes in (1, 2, 3) for kib in (4, 8)])
        self.assertIsNone(found['random_read'].share.volumes)


class WhichRunsTest(testtools.TestCase):

    def test_reads_beside_writes_do_not_count(self):
        self.assertEqual({}, told([run(reads(2, 4, 30), 0.5)]))
        self.assertEqual({}, told([run(
            [*reads(2), *reads(2, 4, 100)], 0.5)]))

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


class FitTest(testtools.TestCase):

    def fitted(self, samples):
        runs = fit_runs.runs(samples)
        return fit.fit(runs.loads, runs.y, runs.samples)

    def test_of_what_a_build_measures_for_it_a_fit_has_p1(self):
        plan = alone.AloneFirst(alone.runs(), sequential.Sequential())
        data = modeler.dataset(
            devices.CACHED, modeler.Purpose.CHOSEN, plan.runs, 0)
        # That more volumes have fewer hits each is in the times alone.
        self.assertAlmostEqual(0.7, self.fitted(data.samples)[
            'cached_volumes']['random_read'], delta=0.02)
        # Without distributions nothing tells.
        self.assertEqual(1, self.fitted([
            dataclasses.replace(one, seen=()) for one in data.samples])[
                'p1']['random_read'])
