# SPDX-License-Identifier: Apache-2.0
"""Volumes inferred from capacity that no known volume explains."""

from __future__ import annotations

import collections
import dataclasses

from serifos.facts import workload as wl

WHOLE_GIB = 1e-6
"""Less than this is rounding, not a volume."""

MOST = 32
"""Guesses that are kept in a pool; then the two oldest become one."""

_REMEMBERED, _REMEMBERED_S = 64, 60.0
"""Weighed requests that are remembered, and for how long."""


@dataclasses.dataclass(slots=True, eq=False)
class Guess:
    """Volumes of which only the capacity is known.

    :param count: of them; 0 once they count for none, and but explain it
    """

    pool: str
    gib: float
    at: float
    workload: wl.Workload
    count: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A request that was weighed."""

    size_gib: float
    workload: wl.Workload
    at: float


class _Pool:
    """Guesses, the oldest first, and what they add up to."""

    def __init__(self) -> None:
        self.guesses: list[Guess] = []
        self.gib = 0.0


class Inferred:
    """The guesses of all pools."""

    def __init__(self) -> None:
        self._of: dict[str, _Pool] = {}
        self._asked: collections.deque[Asked] = collections.deque(
            maxlen=_REMEMBERED)

    def ask(self, asked: Asked) -> None:
        self._asked.append(asked)

    def expire(self, now: float) -> None:
        while self._asked and self._asked[0].at < now - _REMEMBERED_S:
            self._asked.popleft()

    def explains(self, pool: str, beyond_gib: float) -> bool:
        """Whether the guesses of a pool are right as they stand."""
        its = self._of.get(pool)
        if its is None:
            return beyond_gib <= WHOLE_GIB
        return abs(max(0.0, beyond_gib) - its.gib) <= WHOLE_GIB

    def explain(self, pool: str, beyond_gib: float, mean_gib: float,
                asked: Asked) -> tuple[list[Guess], list[Guess]]:
        """Makes the guesses of a pool add up to what is beyond.

        :returns: the guesses that went, and those that are new
        """
        its = self._of.setdefault(pool, _Pool())
        gone = self._shrink(its, beyond_gib)
        new = []
        if len(its.guesses) >= MOST:
            first, second = its.guesses[:2]
            new = its.guesses[:2] = [Guess(
                pool, first.gib + second.gib, second.at, second.workload,
                first.count + second.count)]
            gone += [first, second]
        grown = self._grow(pool, beyond_gib - its.gib, mean_gib, asked)
        its.guesses += grown
        self._sum(pool, its)
        return gone, new + grown

    def take(self, pool: str, gib: float) -> Guess | None:
        """Removes the guess of a volume of this size, which is found now."""
        its = self._of.get(pool)
        for one in its.guesses if its else ():
            if one.count <= 1 and abs(one.gib - gib) < WHOLE_GIB:
                its.guesses.remove(one)
                self._sum(pool, its)
                return one
        return None

    def _sum(self, pool: str, its: _Pool) -> None:
        its.gib = sum(one.gib for one in its.guesses)
        if not its.guesses:
            del self._of[pool]

    def _shrink(self, its: _Pool, beyond_gib: float) -> list[Guess]:
        gone = []
        over = its.gib - beyond_gib
        while over > WHOLE_GIB and its.guesses:
            oldest = its.guesses[0]
            if oldest.gib > over + WHOLE_GIB:  # only a part of it went
                oldest.gib -= over
                break
            over -= oldest.gib
            gone.append(its.guesses.pop(0))
        its.gib = sum(one.gib for one in its.guesses)
        return gone

    def _grow(self, pool: str, gap: float, mean_gib: float,
              asked: Asked) -> list[Guess]:
        new = []
        for earlier in list(self._asked) if gap > WHOLE_GIB else ():
            if WHOLE_GIB < earlier.size_gib <= gap + WHOLE_GIB:
                self._asked.remove(earlier)
                new.append(Guess(pool, earlier.size_gib, earlier.at,
                                 earlier.workload))
                gap -= earlier.size_gib
        if gap > WHOLE_GIB:
            size = max(asked.size_gib, mean_gib) or gap
            new.append(Guess(pool, gap, asked.at, asked.workload,
                             max(1, round(gap / size))))
        return new
