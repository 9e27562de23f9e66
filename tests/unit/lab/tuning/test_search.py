# SPDX-License-Identifier: Apache-2.0
"""The parameter search on surfaces whose optimum the tests know."""

import ddt
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import testtools

from serifos import errors
from serifos.lab.tuning import search
from serifos.model import kinds
from tests.unit.papers import golden

WHOLE = kinds.Parameter('minsplit', 20, 2, 400)
SHARE = kinds.Parameter('cp', 0.01, 0, 0.999, whole=False)


def bowl(*centre):
    """A convex surface of least value 1 at the centre."""
    def value(point):
        return 1 + sum((x - c) ** 2 for x, c in zip(point.values(), centre))
    return value


class Asked:
    """An evaluation that remembers what it was asked."""

    def __init__(self, surface):
        self.surface = surface
        self.calls = []

    def __call__(self, points):
        self.calls.append(points)
        return [self.surface(point) for point in points]

    @property
    def points(self):
        return [tuple(p.values()) for call in self.calls for p in call]


@strategies.composite
def boxes(draw):
    """One to three parameters of any range, and the centre of a bowl."""
    parameters, centre = [], []
    for i in range(draw(strategies.integers(1, 3))):
        whole = draw(strategies.booleans())
        least = float(draw(strategies.integers(0, 20)))
        width = draw(strategies.sampled_from([0.5, 1, 7, 40, 300]))
        greatest = least + (max(1, int(width)) if whole else width)
        parameters.append(kinds.Parameter(
            f'p{i}', draw(strategies.floats(least, greatest)), least, greatest,
            whole))
        centre.append(draw(strategies.floats(least, greatest)))
    return parameters, centre


@ddt.ddt
class SearchTest(testtools.TestCase):

    @settings(max_examples=25, deadline=None)
    @given(boxes(), strategies.integers(1, 4), strategies.integers(1, 3))
    def test_it_stays_in_the_box_and_asks_nothing_twice(
            self, box, splits, explorations):
        parameters, centre = box
        asked = Asked(bowl(*centre))
        trace = search.search(parameters, asked, search.SearchOptions(
            splits, explorations, 5))
        self.assertEqual(len(set(asked.points)), len(asked.points))
        for point in asked.points:
            for one, value in zip(parameters, point):
                self.assertEqual(one.valid(value), value)
        self.assertEqual(set(asked.points), set(trace.rmse))
        self.assertEqual(sorted(trace.lowest, reverse=True),
                         list(trace.lowest))
        self.assertEqual(min(trace.rmse.values()), trace.rmse[trace.best])
        self.assertLessEqual(trace.rmse[trace.best],
                             trace.rmse[trace.standard])

    @settings(max_examples=20, deadline=None)
    @given(boxes())
    def test_it_finds_the_optimum_of_a_convex_surface(self, box):
        parameters, centre = box
        trace = search.search(parameters, Asked(bowl(*centre)),
                              search.SearchOptions(2, 2, 40))
        for one, found, best in zip(parameters, trace.best, centre):
            self.assertAlmostEqual(
                found, best,
                delta=0.5 if one.whole else 1e-3 * one.greatest)

    def test_a_small_box_of_whole_numbers_is_explored_until_it_ends(self):
        one = kinds.Parameter('ninstances', 0, 0, 9)
        asked = Asked(bowl(7))
        trace = search.search([one], asked, search.SearchOptions(4, 5, 1000))
        self.assertEqual((7,), trace.best)
        self.assertLess(len(trace.steps), 5)
        self.assertLessEqual(len(asked.points), 10)

    def test_the_paper_search_of_two_parameters(self):
        # 6 x 6 corners in the first iteration, at most n times 32 new ones
        # in each other (the complexity in section 5).
        trace = search.search([WHOLE, SHARE], Asked(bowl(2, 3e-7)))
        sizes = [len(step.evaluated) for step in trace.steps]
        self.assertEqual([2, 35], sizes[:2])
        self.assertEqual(11, len(sizes))
        self.assertLessEqual(max(sizes[2:]), 5 * 32)
        self.assertEqual(2, trace.best[0])
        self.assertAlmostEqual(3e-7, trace.best[1], delta=1e-6)

    def test_the_first_iterations_of_figure_7(self):
        # k = 3, n = 2 on one parameter: quarters, then around the two best.
        one = kinds.Parameter('x', 16, 0, 16, whole=False)
        trace = search.search(
            [one], Asked(bowl(5)), search.SearchOptions(3, 2, 2))
        self.assertEqual([((),), ((0.0,),), ((4.0,), (8.0,))],
                         [step.pivots or ((),) for step in trace.steps])
        self.assertEqual([(16.0,), (0.0,)], [*trace.steps[0].evaluated])
        self.assertEqual([(4.0,), (8.0,), (12.0,)],
                         [*trace.steps[1].evaluated])
        self.assertEqual([(2.0,), (6.0,), (10.0,)],
                         [*trace.steps[2].evaluated])

    def test_what_cannot_be_fitted_is_never_chosen(self):
        def surface(point):
            return float('nan') if point['minsplit'] < 100 else 5.0
        trace = search.search([WHOLE], Asked(surface),
                              search.SearchOptions(iterations=3))
        self.assertGreaterEqual(trace.best[0], 100)
        self.assertEqual(0, trace.gain)

    def test_the_standard_is_kept_where_nothing_is_better(self):
        def surface(point):
            return 1.0 if point['minsplit'] == 20 else 2.0
        trace = search.search([WHOLE], Asked(surface),
                              search.SearchOptions(iterations=1))
        self.assertEqual((20,), trace.best)
        self.assertEqual({'minsplit': 20}, trace.settings(trace.best))

    def test_the_gain_is_against_the_standard(self):
        trace = search.search([WHOLE], Asked(lambda p: p['minsplit']),
                              search.SearchOptions(iterations=2))
        self.assertAlmostEqual(1 - 2 / 20, trace.gain)

    def test_it_stops_where_little_is_gained(self):
        box = [SHARE], Asked(lambda p: 1 + p['cp'])
        self.assertEqual(4, len(search.search(
            *box, search.SearchOptions(least_gain=0.01, iterations=50)).steps))

    def test_a_cut_search_asks_only_for_what_it_lacks(self):
        first = Asked(bowl(30, 0.2))
        whole = search.search([WHOLE, SHARE], first,
                              search.SearchOptions(iterations=3))
        kept = dict(zip(first.points[:50], map(whole.rmse.get,
                                               first.points[:50])))
        again = []

        def evaluate(points):
            for point in points:
                key = tuple(point.values())
                if key not in kept:
                    again.append(key)
                    kept[key] = first.surface(point)
                yield kept[key]
        self.assertEqual(whole, search.search(
            [WHOLE, SHARE], evaluate, search.SearchOptions(iterations=3)))
        self.assertEqual(first.points[50:], again)

    @ddt.data({'splits': 0}, {'splits': 21}, {'explorations': 0},
              {'iterations': 0}, {'iterations': 1001}, {'least_gain': 1},
              {'least_gain': float('nan')}, {'least_gain': -0.1})
    def test_absurd_options(self, options):
        self.assertRaises(errors.InputError, search.SearchOptions, **options)

    def test_nothing_to_search(self):
        self.assertRaises(errors.InputError, search.search, [], Asked(bowl()))


@ddt.ddt
class PaperTest(testtools.TestCase):
    """Table 2 and section 5 of the paper."""

    def test_the_search_is_configured_as_the_paper_does(self):
        self.assertEqual(
            {**golden.REGRESSION['search'], 'least_gain': 0},
            vars(search.SearchOptions()))

    @ddt.data(*golden.REGRESSION['parameters'])
    def test_standards_and_used_ranges(self, kind):
        if kind not in kinds.names():
            self.skipTest(f'{kind} is none of our kinds')
        ours = {one.name: one for one in kinds.of(kind).settings}
        table = golden.REGRESSION['parameters'][kind]
        self.assertLessEqual(set(table), set(ours))
        for name, (standard, least, greatest) in table.items():
            one = ours[name]
            self.assertEqual((least, greatest), (one.least, one.greatest))
            if standard is not None:  # nprune has nnodes'
                self.assertEqual(standard, one.standard)
