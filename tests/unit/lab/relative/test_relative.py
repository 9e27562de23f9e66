# SPDX-License-Identifier: Apache-2.0
"""Relative fitness: what holds by construction, and what the paper prints."""

import dataclasses

import ddt
import hypothesis
from hypothesis import strategies
import numpy as np
import testtools

from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.workload import Workload
from serifos.lab.relative import characteristics
from serifos.lab.relative import common
from serifos.lab.relative import relation
from serifos.lab.relative import relative
from tests.unit.model import pairs
from tests.unit.papers import golden

PAPER = golden.RELATIVE_FITNESS
RUNS = pairs.runs()
A = pairs.device('A', RUNS)


def joined(second=A, first=A):
    return common.joined({'A': first, 'B': second})


class PaperTest(testtools.TestCase):

    def test_table_6_and_table_8_are_means_of_each_other(self):
        names = PAPER['order']
        for technique, rows in PAPER['table_6'].items():
            best = list(PAPER['table_8'][technique])[-1]
            found = [{(technique, best): error}
                     for a, row in zip(names, rows)
                     for b, error in zip(names, row) if a != b]
            self.assertAlmostEqual(
                PAPER['table_8'][technique][best],
                relative.mean(found)[technique, best], delta=0.0051)

    def test_a_factor_is_the_second_device_over_the_first(self):
        table = PAPER['table_5']
        for row, iops, factor in zip(table['raid'], table['disk_iops'],
                                     table['factors']):
            on_raid = dict(zip(table['columns'], row))['iops']
            self.assertAlmostEqual(factor, iops / on_raid, delta=0.011)


@ddt.ddt
class RelativeTest(testtools.TestCase):

    def test_a_device_related_to_itself_has_factor_1(self):
        found = relative.evaluate(joined())
        for one in found:
            for what in common.INPUTS:
                self.assertEqual(0, one.medians['SRF', what], one)
        its = relative.relation(joined())
        self.assertEqual({1.0}, {its.factors[f].tree
                                 for f in relation.FIGURES})
        self.assertEqual(1.0, its.response)

    @hypothesis.settings(max_examples=10, deadline=None)
    @hypothesis.given(strategies.floats(0.05, 20.0))
    def test_one_factor_for_all_is_recovered_whatever_it_is(self, factor):
        busy = [(Workload(*workload.pattern[:4]),)
                for workload, in RUNS]  # nobody thinks: a closed loop
        first = pairs.device('A', busy)
        scaled = pairs.device(
            'B', busy, lambda w: factor * pairs.latency(w))
        devices = joined(scaled, first)
        its = relative.relation(devices)
        workload = Workload(30, 16, iops=2000, latency_us=4000)
        self.assertAlmostEqual(
            factor, its.factor('latency_us', workload), delta=1e-9 * factor)
        self.assertAlmostEqual(
            1 / factor, its.factor('iops', workload), delta=1e-9 / factor)
        self.assertLess(its.factors['latency_us'].error, 1e-9)
        one, = common.likenesses(devices)
        self.assertAlmostEqual(factor, one.factor, delta=1e-9 * factor)

    def test_the_halves_are_never_asked_what_they_know(self):
        rng = np.random.default_rng(0)
        x, y = rng.random((200, 3)), rng.random(200)
        spread = np.abs(relative.crossed(x, y, x, 0) - y).mean()
        self.assertGreater(spread, 0.2)  # noise cannot be told
        known = relative.fitted(x, y).predict(x)
        self.assertLess(np.abs(known - y).mean(), 0.2)

    def test_scaled_beats_absolute_beats_conventional(self):
        slow = pairs.device('B', RUNS, lambda w: 100 + 5 * pairs.latency(w))
        found = relative.evaluate(joined(slow))
        error = relative.mean([
            one.medians for one in found if one.source != one.target])
        self.assertLess(error['SRF', 'WC+SO'], error['ARF', 'WC+SO'])
        self.assertLess(error['ARF', 'WC+SO'], error['CM', 'WC'])

    def test_the_share_of_waiting_is_learned(self):
        slow = pairs.device('B', RUNS, lambda w: 3 * pairs.latency(w))
        its = relative.relation(joined(slow))
        wrong = []
        for sample in A.samples:
            asked, saw = sample.workloads[0], sample.seen[0]
            watched = Workload(
                *asked.pattern[:4], iops=saw['iops'],
                latency_us=saw['latency_us'])
            share = saw['latency_us'] / (
                saw['latency_us'] + asked.think_time_us)
            wrong.append(abs(its.share(watched) - share))
        self.assertLess(np.mean(wrong), 0.1)

    def test_host_figures_are_used_where_all_have_them(self):
        having = {'cpu_pct': 20.0, 'interrupts_per_s': 5.0}
        both = joined(pairs.device('B', RUNS, **having),
                      pairs.device('A', RUNS, **having))
        self.assertIn('cpu_pct', both.figures)
        self.assertIn('interrupts_per_s', both.inputs('WC+SO'))
        one = joined(pairs.device('B', RUNS, **having))
        self.assertNotIn('cpu_pct', one.figures)
        self.assertNotIn('interrupts_per_s', one.inputs('SO'))

    def test_devices_may_share_a_model(self):
        rng = np.random.default_rng(1)

        def again(workload):
            return pairs.latency(workload) * rng.normal(1, 0.03)
        one, = common.likenesses(joined(pairs.device('B', RUNS, again)))
        self.assertTrue(one.alike(0.10))
        self.assertFalse(one.alike(0.01))

    @ddt.data(lambda w: 1.08 * pairs.latency(w),       # no chance in it
              lambda w: pairs.latency(w) * (2 if w.write_pct > 50 else 0.5))
    def test_devices_may_not_share_a_model(self, latency):
        one, = common.likenesses(joined(pairs.device('B', RUNS, latency)))
        self.assertFalse(one.alike(0.10))

    def test_nothing_in_common(self):
        other = pairs.device('B', pairs.runs(seed=9))
        self.assertIn('A and B have 0 runs in common', str(
            self.assertRaises(errors.InputError, joined, other)))

    def test_common_runs_of_another_round(self):
        other = pairs.device('B', RUNS, rounds=(1,), valid_round=2)
        second = pairs.device('B', pairs.runs(seed=9), valid_round=2,
                              rounds=(2,))
        both = Dataset(other.header, other.samples + second.samples)
        words = str(self.assertRaises(errors.InputError, joined, both))
        self.assertIn('60 outside of the rounds that count (1 of A, 2 of B)',
                      words)

    @ddt.data('iops', 'latency_us')
    def test_missing_figures(self, name):
        broken = pairs.device('B', RUNS, **{name: None})
        self.assertIn('B: A run does not have the iops and latency_us', str(
            self.assertRaises(errors.InputError, joined, broken)))

    def test_runs_of_several_workloads_are_one_stream(self):
        shared = [(a[0], b[0]) for a, b in zip(RUNS, RUNS[1:])]
        devices = joined(pairs.device('B', shared),
                         pairs.device('A', shared))
        its = devices.columns[0]
        self.assertEqual({2.0}, set(its['count']))
        np.testing.assert_allclose(1e6 / its['iops'],
                                   its['inter_arrival_us'])
        self.assertTrue((its['block_kib'] <= 64).all())

    def test_the_best_round_and_how_far_rounds_are_apart(self):
        quick, slow = (pairs.device(
            'A', RUNS, lambda w, by=by: by * pairs.latency(w), (number,), 2)
            for number, by in ((1, 1.0), (2, 1.2)))
        both = dataclasses.replace(
            slow, samples=quick.samples + slow.samples)
        for best, its in ((False, slow), (True, quick)):
            found = common.joined({'A': both, 'B': both}, best)
            np.testing.assert_allclose(
                sorted(found.columns[0]['latency_us']),
                sorted(s.latency_us for s in its.samples))
            self.assertAlmostEqual(  # of 1.0 and 1.2
                0.2 / 2 ** 0.5 / 1.1, found.spreads[0]['latency_us'])
        self.assertEqual(({}, {}), joined().spreads)

    def test_other_runs_are_predicted_by_trees_of_all(self):
        trained, tested = (
            common.joined({'A': pairs.device('A', runs), 'B': pairs.device(
                'B', runs, lambda w: 2 * pairs.latency(w))})
            for runs in (RUNS[::2], RUNS[1::2]))
        found = relative.unseen(trained, tested)
        self.assertEqual({('A', 'B'), ('B', 'A')},
                         {(one.source, one.target) for one in found})
        for one in found:
            if one.figure == 'latency_us':
                self.assertLess(one.means['SRF', 'WC+SO'], 1e-9)
                self.assertLess(one.medians['ARF', 'WC+SO'],
                                one.medians['ARF', 'average'])

    def test_figures_that_a_test_lacks_are_left_out(self):
        host = {'cpu_pct': 20.0}
        fits = joined(pairs.device('B', RUNS, **host),
                      pairs.device('A', RUNS, **host))
        found = relative.unseen(fits, joined(pairs.device('B', RUNS)))
        self.assertNotIn('cpu_pct', {one.figure for one in found})
        self.assertEqual(set(joined().figures),
                         {one.figure for one in found})

    def test_a_short_tree_asks_what_matters_most(self):
        devices = joined(pairs.device('B', RUNS, lambda w: (
            3 if w.write_pct > 50 else 1) * pairs.latency(w)))
        tree = relative.pruned(devices, 0, 1, 'latency_us', True, 1)
        (below, one), (above, three) = relative.leaves(tree)
        self.assertEqual('write_pct', tree['input'])
        self.assertTrue(below.startswith('write_pct <= '), below)
        self.assertTrue(above.startswith('write_pct > '), above)
        self.assertAlmostEqual(1, one)
        self.assertAlmostEqual(3, three)

    def test_the_papers_tree_as_its_leaves(self):
        found = [*relative.leaves(PAPER['figure_4'])]
        self.assertEqual([2.6972, 1.1365, 0.7182, 0.5181],
                         [value for _, value in found])
        self.assertEqual('iops > 138 and iops <= 658', found[2][0])

    def test_reads_and_writes_have_sizes_of_their_own(self):
        reader, writer = Workload(0, 4, 8), Workload(100, 64, 8)
        both = Workload(50, 16, 8)
        for run, read, write in (
                ((reader, writer), 4, 64), ((reader,), 4, 0),
                ((writer,), 0, 64), ((both,), 16, 16)):
            sample, = pairs.device('A', [run]).samples
            its = characteristics.of_sample(sample)
            self.assertEqual((read, write),
                             (its['read_kib'], its['write_kib']))
        for iops in np.random.default_rng(0).uniform(1, 1e6, 50):
            sample, = pairs.device('A', [(writer,)], iops=iops,
                                   write_iops=iops).samples
            self.assertEqual(0, characteristics.of_sample(sample)['read_kib'])
        sample, = pairs.device(
            'A', [(reader, both)], lambda w: 100.0).samples
        its = characteristics.of_sample(sample)  # 2 of 3 reads are small
        self.assertAlmostEqual(8, its['read_kib'])
        self.assertEqual(16, its['write_kib'])
        self.assertEqual(25, its['write_pct'])

    def test_behind_a_page_cache_the_device_is_asked(self):
        sample, = pairs.device('A', [RUNS[0]], **pairs.CACHED).samples
        self.assertEqual({
            'inter_arrival_us': 2500, 'write_pct': 75, 'block_kib': 38,
            'write_kib': 8, 'read_kib': 128, 'random_pct': 40, 'count': 1,
            'latency_us': 2000, 'iops': 400, 'bandwidth_kib_s': 15200,
            'outstanding': 0.8}, characteristics.of_sample(sample))
        sample, = pairs.device('A', [RUNS[0]], **{
            **pairs.CACHED, 'device_read_iops': 0.0,
            'device_read_kib_s': 0.0}).samples
        self.assertEqual(0, characteristics.of_sample(sample)['read_kib'])

    def test_tenants_of_a_run_are_told_apart(self):
        big = pairs.device('B', [(Workload(50, 64, 4), run[0])
                                 for run in RUNS],
                           lambda w: pairs.latency(w)
                           * (3 if w.block_kib == 64 else 1))
        same = pairs.device('A', [(run[0], Workload(50, 64, 4))
                                  for run in RUNS])  # in another order
        its = relative.relation(joined(big, same))
        for block_kib, factor in ((64, 3), (4, 1)):
            seen = Workload(50, block_kib, iops=2000, latency_us=4000)
            self.assertAlmostEqual(factor, its.factor('latency_us', seen))
