# SPDX-License-Identifier: Apache-2.0
"""Pools where a new volume may live by its metadata.

``serifos:same_pool`` and ``serifos:different_pool`` name groups, and ids of
volumes, of its project. Those that were observed count, and those that the
driver has placed since.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any
from typing import NamedTuple

from serifos.facts import labels
from serifos.facts import names
from serifos.facts import pools
from serifos.scheduler.request import CREATE
from serifos.scheduler.request import Request


class Wish(NamedTuple):
    """What the metadata of a new volume asks for."""

    project: str | None
    same: labels.Asked
    different: labels.Asked

    @classmethod
    def of(cls, request: Request) -> Wish | None:
        """None where it asks for nothing, or is no new volume."""
        said = request.metadata
        if request.operation != CREATE or not (
                names.SAME_POOL in said or names.DIFFERENT_POOL in said):
            return None
        same, different = (
            labels.Asked.of(said, key, request.project_id)
            for key in (names.SAME_POOL, names.DIFFERENT_POOL))
        return cls(request.project_id, same, different) if any(
            same + different) else None


Placed = Iterable[tuple[str, str, Wish]]
"""Volume, pool and wish of what was placed since the observation."""


Find = Callable[[str], Any]
"""Volume → what the observation says of it, None where it says nothing."""


def barred(wish: Wish, candidates: Iterable[str], known: pools.Pools,
           find: Find, placed: Placed,
           but: str | None = None) -> list[str | None]:
    """Why each pool is not one where the volume is to live; None if it is.

    :param but: the id of the volume itself, which a backend that failed may
        have had already
    """
    placed = [each for each in placed if each[0] != but]

    def device(pool: str) -> str:
        return known.home.get(pool, pool)

    homes = dict(_found(
        wish.same, wish.project, known.same_pool, find, [
            (volume, pool, its.project, its.same)
            for volume, pool, its in placed], but))
    foes = {device(pool): volume for pool, volume in _found(
        wish.different, wish.project, known.different_pool, find, [
            (volume, pool, its.project, its.different)
            for volume, pool, its in placed], but)}

    def why(pool: str) -> str | None:
        if homes and pool not in homes:
            home, volume = next(iter(homes.items()))
            return f'{pool}: it lacks volume {volume}, on {home}'
        foe = foes.get(device(pool))
        return foe and f'{pool}: volume {foe} is on its device'

    return [why(pool) for pool in candidates]


def _found(asked: labels.Asked, project: str | None,
           labelled: pools.Labelled, find: Find,
           placed: Iterable[tuple[str, str, str | None, labels.Asked]],
           but: str | None) -> Iterator[tuple[str, str]]:
    """Pool and id of the volumes that are asked for."""
    for label in asked.groups:
        for pool, volume in labelled.get(label, ()):
            if volume != but:
                yield pool, volume
    for name in asked.ids:
        known = None if name == but else find(name)
        if known is not None and known.project_id == project:
            yield known.pool, name
    for name, pool, its, said in placed:
        if its == project and (name in asked.ids
                               or {*asked.groups} & {*said.groups}):
            yield pool, name
