# SPDX-License-Identifier: Apache-2.0
"""Copies of volumes, and the wiping of what they leave, as load of pools.

A copy reads its source and writes its target, 128 KiB at a time in order; a
volume that is wiped is written with zeros. Both are as much slower as these
devices fall behind.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator
import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.lab.backtest.simulated.demand import Demand
from serifos.lab.backtest.simulated.demand import Floats
from serifos.lab.backtest.simulated.demand import Ints
from serifos.plan.limits import Copying

_MIB = 1024.0
_KIB = 128.0
_NOTHING_S = 1e-4  # of a copy, which is within the rounding of times
_LEAST = 1e-3  # of its rate, on whatever device


@dataclasses.dataclass(frozen=True)
class Migrations:
    """How migrations go, as a person says it.

    :param wiping: whether what a volume leaves is wiped
    :param attached: the share of volumes that are in use
    :param failing: the share of migrations that fail
    :param seed: by which these are drawn
    """

    wiping: bool = True
    attached: float = 1.0
    failing: float = 0.0
    seed: int = 0

    def how(self, volumes: int, copying: Copying) -> How:
        """The same of each volume.

        :param copying: how long copies take as the balancer assumes; wiping
            is limited as the copies by Cinder are
        """
        rng = np.random.default_rng(self.seed)
        attached = rng.random(volumes) < self.attached
        by_cinder, by_nova = (_MIB / each for each in copying.s_per_gib)
        return How(attached, np.where(attached, by_nova, by_cinder),
                   by_cinder if self.wiping else None, self.failing, rng)


@dataclasses.dataclass(frozen=True, eq=False)
class How:
    """How migrations go on devices that keep up.

    :param attached: bool[volumes], whether each is in use
    :param mib_s: float[volumes], how fast each is copied
    :param wiping_mib_s: how fast what is left is wiped, None where it is not
    :param failing: the share of copies that fail
    :param rng: by which it is drawn which do
    """

    attached: npt.NDArray[np.bool_]
    mib_s: Floats
    wiping_mib_s: float | None = None
    failing: float = 0.0
    rng: np.random.Generator = dataclasses.field(
        default_factory=np.random.default_rng)

    def fails_at(self) -> float | None:
        """The part of the next copy after which it fails, None for never."""
        chance, part = self.rng.random(2).tolist()
        return part if chance < self.failing else None


@dataclasses.dataclass
class Transfer:
    """A volume that is copied or wiped.

    :param source: the pool that is read, None for wiping
    :param target: the pool that is written
    :param began: seconds of the epoch
    :param left_mib: until it is over
    :param full_mib_s: how fast on devices that keep up
    :param fails: whether it ends before all is copied
    :param mib_s: how fast now
    """

    source: int | None
    target: int
    began: float
    left_mib: float
    full_mib_s: float
    fails: bool = False
    mib_s: float = 0.0

    @property
    def left_s(self) -> float:
        return self.left_mib / self.mib_s

    @property
    def over(self) -> bool:
        return self.left_mib <= _NOTHING_S * self.mib_s

    def slow(self, served: Floats) -> None:
        """As much as its devices fall behind.

        :param served: float[pools], the share of the demands
        """
        ends = [self.target] + [self.source] * (self.source is not None)
        self.mib_s = self.full_mib_s * max(_LEAST, float(served[ends].min()))


def demands(transfers: Collection[Transfer]) -> tuple[Ints, Demand]:
    """What these ask for: the pools, and the demand on each."""
    rows = [*_rows(transfers)]
    pool, reads, writes = np.array(rows).reshape(-1, 3).T
    return pool.astype(np.intp), Demand(
        reads, writes, np.full(len(rows), _KIB), np.zeros(len(rows)))


def _rows(transfers: Collection[Transfer]
          ) -> Iterator[tuple[float, float, float]]:
    """Pool, requests per second that read, and that write."""
    for each in transfers:
        rate = each.full_mib_s * 1024 / _KIB
        if each.source is not None:
            yield each.source, rate, 0.0
        yield each.target, 0.0, rate
