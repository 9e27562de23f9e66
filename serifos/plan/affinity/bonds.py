# SPDX-License-Identifier: Apache-2.0
"""Which volumes move together, and which may not meet.

Those that are to share a pool and do are a bundle: they move together or not
at all. One that is to share a pool with others and does not may come to where
any of them is, and go nowhere else: what is broken is mended or left.
Those that are to be kept apart never come to the device of one another. Two
that share a device already may part.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools

import numpy as np
import numpy.typing as npt

from serifos.facts import cluster as cl
from serifos.plan.affinity import labels

Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

_NONE: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Bonds:
    """The bonds of volumes, by their places among them.

    :param bundle: int[volumes], the first volume of its bundle for each;
        itself for one that moves alone
    :param bundles: first volume → all of its bundle, of two or more
    :param kin: volume → those that are to share a pool with it
    :param foes: volume → those that are to be kept apart from it
    """

    bundle: Ints
    bundles: Mapping[int, Ints]
    kin: Mapping[int, Sequence[int]]
    foes: Mapping[int, frozenset[int]]

    @classmethod
    def of(cls, volumes: Sequence[cl.Volume], home: Ints) -> Bonds:
        """The bonds of volumes where they live.

        :param home: int[volumes], the pool of each, -1 for none
        """
        kin = {each: classed for classed in _classes(volumes)
               for each in classed}
        foes: collections.defaultdict[int, set[int]] = (
            collections.defaultdict(set))
        for label, several in _sharing(
                volume.different_pool for volume in volumes).items():
            for each in several:
                others = {*several} - {each}
                if label.startswith(labels.SERVER):
                    others -= {*kin.get(each, _NONE)}  # metadata goes first
                foes[each] |= others
        bundle = np.arange(len(volumes))
        bundles: dict[int, list[int]] = {}
        first: dict[tuple[int, int], int] = {}
        for each in sorted(kin):
            if home[each] >= 0:
                mine = first.setdefault((kin[each][0], int(home[each])), each)
                bundle[each] = mine
                bundles.setdefault(mine, []).append(each)
        return cls(bundle, {mine: np.array(its, np.intp)
                            for mine, its in bundles.items() if len(its) > 1},
                   kin, {each: frozenset(its) for each, its in foes.items()
                         if its})

    def __bool__(self) -> bool:
        return bool(self.kin or self.foes)

    @functools.cached_property
    def bound(self) -> Bools:
        """bool[volumes]: those that may not move as they like."""
        found = np.zeros(len(self.bundle), bool)
        found[[*self.kin, *self.foes]] = True
        return found

    def with_it(self, volume: int) -> Ints:
        """The volumes that move with one, itself too."""
        found = self.bundles.get(int(self.bundle[volume]))
        return np.array([volume], np.intp) if found is None else found

    def contradiction(self, volume: int) -> int | None:
        """One that it is to share a pool with, and to be kept apart from."""
        its = self.kin.get(volume, _NONE)
        return next((other for each in its for other in sorted(
            self.foes.get(each, _NONE)) if other in its), None)

    def expanded(self, volumes: npt.ArrayLike,
                 targets: npt.ArrayLike) -> tuple[Ints, Ints, Ints]:
        """Moves with those of the volumes that go with each.

        :returns: volumes, targets, and of which move each is
        """
        volumes, targets = (np.atleast_1d(np.asarray(each, np.intp))
                            for each in (volumes, targets))
        if not self.bundles:
            return volumes, targets, np.arange(len(volumes))
        its = [self.with_it(volume) for volume in volumes.tolist()]
        row = np.repeat(np.arange(len(volumes)), [len(each) for each in its])
        return (np.concatenate([*its, np.zeros(0, np.intp)]), targets[row],
                row)

    def summed(self, each: npt.NDArray[np.float64]
               ) -> npt.NDArray[np.float64]:
        """float[volumes, ...] of volumes, added up over their bundles."""
        if not self.bundles:
            return each
        found = each.copy()
        for its in self.bundles.values():
            found[its] = each[its].sum(axis=0)
        return found

    def not_with(self, home: Ints, volume: int) -> list[int]:
        """Those elsewhere that it is to share a pool with."""
        mine = self.bundle[volume]
        return [other for other in self.kin.get(volume, _NONE)
                if self.bundle[other] != mine and home[other] >= 0]

    def apart_from(self, home: Ints, volume: int) -> list[int]:
        """Those that its bundle is to be kept apart from, and not in it."""
        mine = self.bundle[volume]
        return [other for each in self.with_it(volume).tolist()
                for other in sorted(self.foes.get(each, _NONE))
                if self.bundle[other] != mine and home[other] >= 0]


def _sharing(said: Iterable[tuple[str, ...]]) -> dict[str, list[int]]:
    """Label → the volumes that have it, where there are several."""
    found: dict[str, list[int]] = {}
    for volume, its in enumerate(said):
        for label in its:
            found.setdefault(label, []).append(volume)
    return {label: its for label, its in found.items() if len(its) > 1}


def _classes(volumes: Sequence[cl.Volume]) -> list[tuple[int, ...]]:
    """Volumes that labels join to be on one pool, in their order."""
    joined: dict[int, list[int]] = {}
    for several in _sharing(v.same_pool for v in volumes).values():
        merged = list(dict.fromkeys(
            other for each in several for other in joined.get(each, [each])))
        joined.update(dict.fromkeys(merged, merged))
    return [tuple(sorted(its)) for its in
            {id(its): its for its in joined.values()}.values()]
