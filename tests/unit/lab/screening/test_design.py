# SPDX-License-Identifier: Apache-2.0

import ddt
from hypothesis import given
from hypothesis import strategies
import numpy as np
import testtools

from serifos import errors
from serifos.lab.screening import design as screening
from serifos.lab.screening import effects
from tests.unit.papers import golden


def _names(number):
    return [f'p{i}' for i in range(number)]


def _effect(name, share):
    return effects.Effect(name, share, (0, 1), share, 0.01)


@ddt.ddt
class DesignTest(testtools.TestCase):

    @ddt.data(*screening.SIZES)
    def test_every_column_is_orthogonal_and_balanced(self, size):
        design = screening.plackett_burman(size).astype(int)
        self.assertEqual((size, size - 1), design.shape)
        self.assertEqual({-1, 1}, set(design.ravel()))
        self.assertTrue((design.T @ design == size * np.eye(size - 1)).all())
        self.assertEqual([0] * (size - 1), design.sum(axis=0).tolist())
        self.assertEqual({-1}, set(design[-1]))

    def test_the_paper_prints_ours_of_12_runs(self):
        self.assertEqual(golden.SCREENING['pb12'],
                         screening.plackett_burman(12).tolist())

    def test_20_parameters_take_24_runs_as_in_the_paper(self):
        runs = golden.SCREENING['runs']['fio']
        self.assertEqual(runs['plackett_burman'],
                         screening.smallest(runs['parameters']))
        self.assertEqual(runs['key_full_factorial'], len(
            screening.full_factorial(runs['key_parameters'])))

    @ddt.data((1, 4), (3, 4), (4, 8), (19, 20), (47, 48))
    @ddt.unpack
    def test_smallest(self, parameters, size):
        self.assertEqual(size, screening.smallest(parameters))

    @ddt.data(0, 2, 10, 52, -4, 92)
    def test_no_such_design(self, size):
        exc = self.assertRaises(errors.InputError,
                                screening.plackett_burman, size)
        self.assertIn('a multiple of 4 from 4 to 48', str(exc))

    @ddt.data(0, 48)
    def test_no_design_takes_so_many(self, parameters):
        exc = self.assertRaises(errors.InputError, screening.smallest,
                                parameters)
        self.assertIn('1 to 47', str(exc))

    @ddt.data(8, 12, 20, 28, 36)
    def test_foldover_frees_main_effects_of_pairs(self, size):
        design = screening.foldover(
            screening.plackett_burman(size)).astype(int)
        self.assertEqual(2 * size, len(design))
        pairs = np.einsum('ni,nj->nij', design, design)
        upper = pairs[:, *np.triu_indices(size - 1, 1)]
        self.assertFalse((design.T @ upper).any())

    def test_without_it_they_are_not_free(self):
        design = screening.plackett_burman(12).astype(int)
        self.assertTrue((design.T @ (design[:, 0] * design[:, 1])).any())

    @ddt.data(1, 2, 3, 6)
    def test_a_full_factorial_tells_every_interaction(self, number):
        design, names = screening.with_interactions(
            screening.full_factorial(number), _names(number))
        design = design.astype(int)
        size = 2 ** number
        self.assertEqual((size, size - 1), design.shape)
        self.assertEqual(size - 1, len(set(names)))
        self.assertTrue((design.T @ design == size * np.eye(size - 1)).all())
        self.assertEqual(_names(number), list(names[:number]))


class KeysTest(testtools.TestCase):

    def test_the_fewest_that_explain_half(self):
        ranked = [_effect('a', 0.4), _effect('b', 0.1), _effect('c', 0.1)]
        self.assertEqual(('a', 'b'), screening.keys(ranked))
        self.assertEqual(('a',), screening.keys(ranked, share=0.3))

    def test_never_more_than_six(self):
        ranked = [_effect(name, 0.05) for name in _names(20)]
        self.assertEqual(tuple(_names(6)), screening.keys(ranked))


class EffectsTest(testtools.TestCase):

    @given(strategies.sampled_from(screening.SIZES[1:]),
           strategies.integers(0, 2 ** 31),
           strategies.booleans())
    def test_an_exactly_linear_response_is_recovered(self, size, seed, fold):
        rng = np.random.default_rng(seed)
        design = screening.plackett_burman(size)
        if fold:
            design = screening.foldover(design)
        true = rng.normal(size=size - 2) * 100
        found = effects.analyse(design, _names(size - 2),
                                50 + design[:, :-1] @ true / 2)
        by_name = {e.name: e.effect for e in found.effects}
        for name, effect in zip(_names(size - 2), true):
            self.assertAlmostEqual(effect, by_name[name], places=8)
        self.assertAlmostEqual(1, sum(e.share for e in found.effects))
        ranked = [abs(e.effect) for e in found.effects]
        self.assertEqual(sorted(ranked, reverse=True), ranked)

    def test_one_cause_without_noise(self):
        design = screening.plackett_burman(12)
        found = effects.analyse(design, _names(11), 7 + 2. * design[:, 3])
        first, *others = found.effects
        self.assertEqual(('p3', 4, 1), (first.name, round(first.effect, 9),
                                        round(first.share, 9)))
        self.assertLess(first.p_value, 0.001)
        self.assertEqual({1.0}, {e.p_value for e in others})

    def test_nothing_varies(self):
        found = effects.analyse(screening.plackett_burman(8), _names(7),
                                [3.0] * 8)
        self.assertEqual({(0.0, 0.0, 1.0)}, {
            (e.effect, e.share, e.p_value) for e in found.effects})

    def false_alarms(self, size, rounds, trials=150):
        rng = np.random.default_rng(size)
        design = screening.plackett_burman(size)
        found = [e for _ in range(trials) for e in effects.analyse(
            design, _names(size - 1),
            # what drifts between the rounds is no noise
            rng.normal(size=(size, rounds)) + 5. * np.arange(rounds)
        ).effects]
        outside = [e for e in found if e.interval[0] > 0
                   or e.interval[1] < 0]
        return (np.mean([e.p_value < 0.05 for e in found]),
                len(outside) / len(found))

    def test_of_noise_one_in_20_is_taken_for_an_effect(self):
        for size in (8, 12, 24, 48):
            for rounds in (1, 3):
                for share in self.false_alarms(size, rounds):
                    self.assertTrue(0.03 < share < 0.07,
                                    (size, rounds, share))

    def test_intervals_hold_beside_true_effects(self):
        rng = np.random.default_rng(2)
        design = screening.plackett_burman(24)
        true = np.array([8.0, -6.0, 4.0] + [0.0] * 17)
        held = []
        for _ in range(100):
            found = effects.analyse(
                design, _names(20),
                design[:, :20] @ true / 2 + rng.normal(size=24))
            held += [e.interval[0] <= true[int(e.name[1:])] <= e.interval[1]
                     for e in found.effects]
        self.assertTrue(0.92 < np.mean(held) < 0.99, np.mean(held))

    def test_the_noise_of_a_run(self):
        rng = np.random.default_rng(3)
        design = screening.plackett_burman(48)
        for rounds in (1, 3):
            noise = np.mean([effects.analyse(
                design, _names(47), rng.normal(0, 7, (48, rounds))).noise
                for _ in range(30)])
            self.assertTrue(6 < noise < 8, noise)

    def test_what_is_no_number_is_refused(self):
        exc = self.assertRaises(
            errors.InputError, effects.analyse, screening.plackett_burman(4),
            _names(3), [1, 2, 3, float('nan')])
        self.assertIn('make that run again', str(exc))


@ddt.ddt
class MonotonyTest(testtools.TestCase):

    @ddt.data((1, 2, 3, False), (3, 2, 1, False), (1, 3.5, 3, False),
              (1, 9, 3, True), (1, -9, 3, True), (3, 9, 1, True))
    @ddt.unpack
    def test_a_middle_that_is_not_between_the_ends(self, low, middle, high,
                                                   warned):
        self.assertEqual(warned, effects.not_between(low, middle, high, 1))
