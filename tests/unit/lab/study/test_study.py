# SPDX-License-Identifier: Apache-2.0
"""The studies of section 4 of the Serifos paper."""

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import tempfile

import ddt
import numpy as np
import statsmodels.api
import testtools

from serifos.design import full
from serifos import errors
from serifos.facts.dataset import Condition
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.lab.study import runs
from serifos.lab.study import study
from serifos.lab.study import study_command
from serifos.model.linear import ols
from tests.unit.cmd import command
from tests.unit.papers import golden
from tests.unit import samples

PAPER = golden.SERIFOS


def made(latency, space, number=200, noise_us=0.0):
    """A dataset; a constant keeps what the paper's models say above zero."""
    rng = np.random.default_rng(5)
    return samples.dataset(
        runs.short(space, number, 3),
        lambda run: 5000 + latency(run) + noise_us * rng.normal())


@ddt.ddt
class EffectsTest(testtools.TestCase):

    @ddt.data(('SSD1', 0.3, 9), ('SSD2', 0.0, 6))
    @ddt.unpack
    def test_of_table_4(self, device, random_ms, block_ms):
        """Section 4.2: X changes latency by 0.3 ms, S by 9 (SSD1)."""
        table = PAPER['table4_linear'][device]
        found = study.models(made(
            lambda run: table['INTCP'] + table['W'] * run[0].write_pct
            + table['X'] * run[0].random_pct + table['S'] * run[0].block_kib,
            full.STUDY, noise_us=1e-3))
        self.assertEqual(['polynomial', 'linear', 'without X'],
                         [model.name for model in found])
        effects = found[1].effects_us
        self.assertEqual(random_ms, round(effects['X'] / 1000, 1))
        self.assertEqual(block_ms, round(effects['S'] / 1000))
        self.assertNotIn('X', found[2].anova.coefficients)
        self.assertAlmostEqual(table['S'], found[2].anova.coefficients['S'],
                               delta=0.02 * table['S'])

    @ddt.data('SSD1', 'SSD2')
    def test_of_table_5_the_sums_may_be_used(self, device):
        """Eq. 8 and 9: a sum's coefficient lies between the separate."""
        table = PAPER['table5_two_workloads'][device]
        separate, sums = study.models(made(
            lambda run: table['INTCP'] + sum(
                table[f'W{i}'] * w.write_pct + table[f'S{i}'] * w.block_kib
                for i, w in enumerate(run, 1)),
            runs.TOGETHER, noise_us=800))
        for term in ('S1', 'S2'):
            self.assertAlmostEqual(table[term],
                                   separate.anova.coefficients[term], delta=3)
        self.assertGreater(sums.separate_p, 0.05)
        self.assertGreater(sums.anova.adj_r2, 0.9)

    def test_sums_may_not_stand_for_what_differs(self):
        _, sums = study.models(made(
            lambda run: 500 + 20 * run[0].block_kib + 30 * run[1].block_kib,
            runs.TOGETHER, noise_us=100))
        self.assertLess(sums.separate_p, 0.001)

    def test_the_f_test_by_its_formula(self):
        """On Brownlee's stack losses, which nobody made for this."""
        data = statsmodels.api.datasets.stackloss.load_pandas()
        y = np.array(data.endog, float)
        separate = {name: np.array(values, float)
                    for name, values in data.exog.items()}
        sums = {'all': np.sum([*separate.values()], axis=0)}
        p = ols.separate_p(y, sums, separate)

        def left(its):
            x = np.column_stack([np.ones(len(y)), *its.values()])
            return float(np.sum(
                (y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2))
        less, greater, freedom = left(sums), left(separate), len(y) - 4
        f = (less - greater) / 2 / (greater / freedom)
        # The tail of F with 2 degrees of freedom has a closed form.
        self.assertAlmostEqual((1 + 2 * f / freedom) ** (-freedom / 2), p, 10)

    def test_too_few_runs_of_two(self):
        five = samples.dataset(runs.short(runs.TOGETHER, 40, 0)[:5],
                               lambda run: 100.0 + run[0].block_kib)
        exc = self.assertRaises(errors.InputError, study.models, five)
        self.assertIn('measure', str(exc))


@ddt.ddt
class RunsTest(testtools.TestCase):

    def test_few_runs_tell_as_much_as_many(self):
        """D-optimal: each term is known better than by random runs."""
        space = full.STUDY
        few = runs.short(space, 40, 0)
        self.assertEqual((40, 40), (len(few), len(set(few))))
        rng = np.random.default_rng(1)
        drawn = [(space.patterns[i],)
                 for i in rng.choice(space.size, 40, replace=False)]

        def determinant(its):
            x = np.array([
                [1, *f, *(a * b for i, a in enumerate(f) for b in f[i:])]
                for f in ((w.write_pct / 100, w.random_pct / 100,
                           w.block_kib / 256) for w, in its)])
            return np.linalg.slogdet(x.T @ x)[1]
        self.assertGreater(determinant(few), determinant(drawn) + 3)

    def test_pairs_of_the_paper(self):
        every = list(runs.every(runs.TOGETHER))
        self.assertEqual(PAPER['two_workload_cartesian_product'],
                         len(set(every)))
        self.assertEqual(runs.number(runs.TOGETHER, 2), len(every))

    def test_conditions_are_spread_over_the_runs(self):
        """Of each, and of each with each other factor, enough are made."""
        conditions = [Condition(size, name) for size in (1.0, 4.0, 8.0)
                      for name in ('bfq', 'none')]
        found = runs.pairs([full.STUDY], None, None, 0, conditions)
        self.assertEqual(80, len(found))
        self.assertEqual(80, len(set(found)))
        counted = collections.Counter(one for _, one in found)
        self.assertEqual(set(conditions), set(counted))
        for end in (conditions[0], conditions[1], *conditions[4:]):
            self.assertGreaterEqual(counted[end], 8)

    def test_random_runs_have_random_conditions(self):
        conditions = [Condition(1.0), Condition(2.0)]
        found = runs.pairs([full.STUDY], None, 60, 0, conditions)
        self.assertEqual(set(conditions), {one for _, one in found})
        self.assertEqual([run for run, _ in found],
                         runs.some([full.STUDY], None, 60, 0))

    def test_every_run_under_every_condition_in_no_order(self):
        space = dataclasses.replace(full.STUDY, write_pcts=(0, 50, 100),
                                    random_pcts=(0, 100))
        conditions = [Condition(1.0), Condition(2.0)]
        found = runs.all_pairs([space], conditions, 0)
        self.assertEqual(2 * space.size, len(set(found)))
        half = collections.Counter(
            one for _, one in found[:len(found) // 2])
        self.assertGreater(min(half[one] for one in conditions), 5)

    @ddt.data(5, 5000)
    def test_a_number_that_is_no_study(self, number):
        self.assertRaises(errors.InputError, runs.short, full.STUDY,
                          number, 0)


@ddt.ddt
class CommandTest(testtools.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name) / 'x.jsonl'

    def test_of_a_dataset(self):
        rng = np.random.default_rng(0)
        both = [*runs.short(full.STUDY, 40, 0),
                *runs.short(runs.TOGETHER, 40, 0)]
        samples.write(self.path, samples.dataset(
            both, lambda run: 500 + 20 * sum(w.block_kib for w in run)
            + rng.normal(0, 50)))
        code, out, err = command.model('study', str(self.path))
        self.assertEqual(0, code, err)
        self.assertNotIn('None', out)
        self.assertIn('the sums may stand for them', err)
        _, out, _ = command.model('study', str(self.path), '-f', 'value')
        self.assertNotIn('None', out)
        self.assertRegex(out, r'(?m)^linear adj. R² [0-9.]+ – – –$')
        code, out, err = command.model('study', str(self.path), '-f', 'json')
        rows = json.loads(out)
        self.assertEqual(
            ['polynomial', 'linear', 'without X', '2 separate', '2 sums'],
            list(dict.fromkeys(row['model'] for row in rows)))
        effect = next(row for row in rows if (row['model'], row['term']) == (
            'linear', 'S'))
        # Blocks of 4 to 256 KiB.
        self.assertAlmostEqual(252 * abs(effect['coefficient']) / 1000,
                               effect['effect_ms'], 6)

    def conditioned(self, schedulers=('bfq', 'none'), random_pcts=(0, 100)):
        """120 runs of 100 µs a GiB of file set and of 300 by the second."""
        space = dataclasses.replace(full.STUDY, random_pcts=random_pcts)
        rng = np.random.default_rng(0)
        found = runs.pairs([space], 120, None, 0, [
            Condition(size, name) for size in (1.0, 3.0, 5.0)
            for name in schedulers])
        return Dataset(samples.HEADER, tuple(
            Sample(run, 500 + 100 * one.file_set_gib + rng.normal(0, 20)
                   + 300 * (one.scheduler == schedulers[-1]),
                   condition=one) for run, one in found))

    def rows(self, dataset, model):
        samples.write(self.path, dataset)
        code, out, err = command.model('study', str(self.path), '-f', 'json')
        self.assertEqual(0, code, err)
        return {row['term']: row for row in json.loads(out)
                if row['model'] == model}, err

    def test_the_effects_of_file_set_and_scheduler(self):
        rows, err = self.rows(self.conditioned(), 'linear')
        self.assertIn('E: 1 by the I/O scheduler none, 0 by bfq.', err)
        self.assertEqual({'adj. R²', 'INTCP', *'WXSFE'}, set(rows))
        self.assertAlmostEqual(100, rows['F']['coefficient'], delta=5)
        self.assertAlmostEqual(0.4, rows['F']['effect_ms'], delta=0.02)
        self.assertAlmostEqual(300, rows['E']['coefficient'], delta=10)
        self.assertEqual(('yes', 'yes', 'no'), tuple(
            rows[term]['significant'] for term in 'FEW'))
        rows, _ = self.rows(self.conditioned(), 'polynomial')
        self.assertLessEqual({'F^2', 'W:F', 'F:E'}, set(rows))
        self.assertTrue({'E^2', 'X^2'}.isdisjoint(rows))

    def test_what_is_not_varied_has_no_term(self):
        rows, err = self.rows(self.conditioned(('none',)), 'without X')
        self.assertEqual({'adj. R²', 'INTCP', *'WSF'}, set(rows))
        self.assertIn('F: file set, GiB.', err)

    def test_three_schedulers_are_no_factor(self):
        two = self.conditioned()
        samples.write(self.path, dataclasses.replace(two, samples=(
            *two.samples, dataclasses.replace(
                two.samples[0], condition=Condition(1.0, 'kyber')))))
        code, _, err = command.model('study', str(self.path))
        self.assertEqual(2, code)
        self.assertIn('by 3 I/O schedulers (bfq, kyber, none)', err)

    @ddt.data(
        (2, ('--schedulers', 'bfq,none,kyber'), 'takes one or two'),
        (2, ('--schedulers', 'b f'), 'is not a list of I/O schedulers'),
        (2, ('--file-set-gibs', '1,x'), 'is not a list of sizes'),
        (2, ('--file-set-gibs', ','), 'is not a list of sizes'),
        (2, ('--file-set-gibs', '0,1'), '--file-set-gibs of 0'),
        (2, ('--file-set-gibs', '1,2', '--runs', '10'), '--runs'))
    @ddt.unpack
    def test_conditions_that_cannot_be(self, expected, arguments, sentence):
        code, _, err = command.model('study', f'file:{self.path}.scratch',
                                     *arguments)
        self.assertEqual(expected, code, err)
        self.assertIn(sentence, err)

    def test_random_runs_may_be_many(self):
        code, out, err = command.model(
            'design', '--study', '--sampled', '1500', '-f', 'json')
        self.assertEqual(0, code, err)
        self.assertEqual(1500, json.loads(out)[-1]['sets'])

    @ddt.data(
        (('--runs', '20', '--full'), '--full and --runs contradict'),
        (('--runs', '3'), '--runs'),
        (('--iodepths', '4,8'), '--iodepths has more than one value'),
        (('--counts', '2', '--random-pcts', '0,100'), '--random-pcts has'),
        (('--write-pcts', '50'), '--write-pcts needs at least 3'),
        (('--full', '--counts', '3'), 'leave out --full'),
        (('--sampled', '3'), '--sampled of 3'),
        (('--file-set-gibs', '1,5', '--size-gib', '1'),
         'leave --size-gib out'))
    @ddt.unpack
    def test_refused(self, arguments, sentence):
        code, _, err = command.model('study', f'file:{self.path}.scratch',
                                     *arguments)
        self.assertEqual(2, code, err)
        self.assertIn(sentence, err)
        self.assertEqual([], list(self.path.parent.iterdir()))

    def test_a_directory_stands_for_a_scratch_file_in_it(self):
        directory = self.path.parent / 'My Disk'
        directory.mkdir()
        for given, name in ((None, 'my-disk'), ('x', 'x')):
            args = argparse.Namespace(target=str(directory), name=given)
            study_command.name_scratch_file(args)
            self.assertEqual((f'file:{directory}/serifos-study.bin', name),
                             (args.target, args.name))
        for target in ('/dev/null', 'file:/tmp', 'vg0'):
            args = argparse.Namespace(target=target, name=None)
            study_command.name_scratch_file(args)
            self.assertEqual((target, None), (args.target, args.name))

    def test_what_is_not_there_may_be_a_directory_too(self):
        target = str(self.path.parent / 'none')
        code, _, err = command.model('study', target)
        self.assertEqual(3, code, err)
        self.assertIn('There is neither a file, directory nor device '
                      f'{target}; name', err)
        self.assertEqual(1, err.count('\n'), err)

    @ddt.data(('--runs', '20'), ('--seed', '3'), ('--keep',),
              ('--name', 'x'), ('--size-gib', '1'), ('--output', 'y.jsonl'))
    def test_options_of_a_measurement_that_was_made(self, given):
        code, _, err = command.model('study', str(self.path), *given)
        self.assertEqual(2, code)
        self.assertIn(f'leave out {given[0]};', err)

    def test_no_name_is_no_directory(self):
        code, _, err = command.model('study', '')
        self.assertEqual((2, 1), (code, len(err.splitlines())), err)
        self.assertIn("'' cannot be the name of a volume group", err)

    def test_another_file_is_no_volume_group(self):
        page = self.path.parent / 'page.html'
        page.write_text('<html></html>')
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(page.parent)
        code, _, err = command.model('study', 'page.html')
        self.assertEqual((3, 1), (code, len(err.splitlines())), err)
        self.assertIn('page.html is a file and no volume group', err)
