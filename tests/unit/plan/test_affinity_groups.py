# SPDX-License-Identifier: Apache-2.0
"""Bonds, which are kept by groups, are those that pairs of volumes say."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies
import numpy as np
import testtools

from serifos.facts.cluster import Volume
from serifos.facts import labels
from serifos.plan.affinity import Bonds
from serifos.plan.affinity import Ints

PLACES = 4


def drawn(seed: int) -> tuple[list[Volume], Ints]:
    """Volumes with labels in common, and where they live."""
    rng = random.Random(seed)
    likely = rng.choice((0.1, 0.3, 0.6))

    def some(words: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(word for word in words if rng.random() < likely)

    foes = ('d', 'e', f'{labels.SERVER}x', f'{labels.SERVER}y')
    volumes = [Volume(f'v{i}', 'a', 1.0, same_pool=some(('a', 'b', 'c')),
                      different_pool=some(foes))
               for i in range(rng.randrange(9))]
    return volumes, np.array(
        [rng.randrange(-1, PLACES) for _ in volumes], np.intp)


class Pairs:
    """The same, pair by pair."""

    def __init__(self, volumes: list[Volume], home: Ints) -> None:
        every = range(len(volumes))
        self.kin = {i: {i} for i in every}
        for _ in every:
            for i, j in itertools.permutations(every, 2):
                if {*volumes[i].same_pool} & {*volumes[j].same_pool}:
                    self.kin[i] |= self.kin[j]
        self.home = home
        self.foes = {i: {j for j in every if j != i and any(
            not label.startswith(labels.SERVER) or j not in self.kin[i]
            for label in {*volumes[i].different_pool}
            & {*volumes[j].different_pool})} for i in every}

    def bundle(self, i: int) -> list[int]:
        return sorted(j for j in self.kin[i] if self.home[j] == (
            self.home[i]) and self.home[i] >= 0) or [i]

    def contradiction(self, i: int) -> int | None:
        return next((j for each in sorted(self.kin[i])
                     for j in sorted(self.foes[each])
                     if j in self.kin[i]), None)

    def not_with(self, i: int) -> list[int]:
        return [j for j in sorted(self.kin[i])
                if self.home[j] >= 0 and j not in self.bundle(i)]

    def apart_from(self, i: int) -> list[int]:
        """With the first of them in each place in its turn."""
        return [*dict.fromkeys(
            j for each in self.bundle(i) for j in sorted(self.foes[each])
            if j not in self.bundle(i) and self.home[j] >= 0)]


class GroupsTest(testtools.TestCase):

    @settings(max_examples=80, deadline=None)
    @given(strategies.integers(0, 1 << 32))
    def test_they_are_what_pairs_say(self, seed):
        volumes, home = drawn(seed)
        bonds, pairs = Bonds.of(volumes, home), Pairs(volumes, home)
        self.assertEqual(any(map(len, pairs.foes.values())) or any(
            len(its) > 1 for its in pairs.kin.values()), bool(bonds))
        for i in range(len(volumes)):
            self.assertEqual(pairs.bundle(i), bonds.with_it(i).tolist())
            self.assertEqual(pairs.contradiction(i), bonds.contradiction(i))
            self.assertEqual(pairs.not_with(i),
                             bonds.not_with(home, i).tolist())
            self.assertEqual(bool(pairs.foes[i]) or len(pairs.kin[i]) > 1,
                             bool(bonds.bound[i]))
            found = bonds.apart_from(home, i).tolist()
            self.assertEqual({*pairs.apart_from(i)}, {*found})
            for place in range(PLACES):  # whose first is named
                self.assertEqual(
                    next((j for j in pairs.apart_from(i)
                          if home[j] == place), None),
                    next((j for j in found if home[j] == place), None))
