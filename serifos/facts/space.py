# SPDX-License-Identifier: Apache-2.0
"""Growth of pools by themselves, from earlier used space."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Protocol

from serifos.facts.cluster import Cluster
from serifos.facts import journal
from serifos.facts import times

_DAY_S = 86400.0


@dataclasses.dataclass(frozen=True, slots=True)
class Used:
    """GiB used of pools at one moment.

    :param at: seconds of the epoch
    """

    at: float
    gib: Mapping[str, float]


@dataclasses.dataclass(frozen=True, slots=True)
class Home:
    """Where a volume is, and how large it is."""

    pool: str
    gib: float


class Space(Protocol):
    """The port of what keeps how much was used of pools."""

    def note(self, used: Used) -> None:
        """Keeps it, as far as nothing is kept of that pool and time.

        :raises SerifosError: where it cannot be written
        """

    def earliest(self, begin: float, end: float) -> Sequence[Used]:
        """The first that is kept of each pool from begin to end.

        :raises SerifosError: where it cannot be read
        """


@dataclasses.dataclass(frozen=True, slots=True)
class Moved:
    """A volume that was migrated.

    :param at: when it was known to be over, seconds of the epoch
    :param gib: its size before
    """

    at: float
    source: str
    target: str
    gib: float
    volume: str


class Homes(Protocol):
    """The port of what keeps where volumes are: whoever moves them."""

    def note(self, homes: Mapping[str, Home], at: float,
             before: Sequence[Moved]) -> None:
        """Keeps where all volumes are, and which were elsewhere before.

        :param homes: by the ids of the volumes
        :param before: moves that are known, kept where this is the first time
        :raises SerifosError: where it cannot be written
        """

    def moves(self, begin: float) -> Sequence[Moved]:
        """The moves that were noted since, the oldest first.

        :raises SerifosError: where they cannot be read
        """


def moved(entries: Iterable[journal.Entry]) -> list[Moved]:
    """The migrations of a journal that succeeded."""
    asked: dict[str, float] = {}
    found = []
    for entry in entries:
        facts = entry.facts
        if entry.kind == 'request':
            asked[facts['volume']] = float(facts['size_gib'])
        elif entry.kind == 'outcome' and facts['result'] in journal.MOVED and (
                facts['volume'] in asked):
            found.append(Moved(
                times.parse(entry.at), facts['source'], facts['target'],
                asked[facts['volume']], facts['volume']))
    return found


def homes(cluster: Cluster) -> dict[str, Home]:
    """Where the volumes are, by their ids."""
    return {volume.id: Home(volume.pool, volume.size_gib)
            for volume in cluster.volumes}


def used(cluster: Cluster, moving: Collection[str], at: float) -> Used:
    """What is used of pools, but for those that take part in a migration.

    :param moving: pools of migrations that have no outcome yet
    """
    return Used(at, {
        pool.name: pool.used_gib for pool in cluster.pools
        if pool.used_gib is not None and not pool.copies_gib
        and pool.name not in moving})


def growth(now: Used, before: Iterable[Used], moves: Sequence[Moved],
           least_s: float) -> dict[str, float]:
    """Pool → GiB by which it grew in a day, without the volumes that came.

    :param before: the earliest of each pool
    :param least_s: over which a growth has to be seen
    """
    found = {}
    for then in before:
        if now.at - then.at < max(least_s, 1.0):
            continue
        for pool in {*then.gib} & {*now.gib}:
            came = sum(move.gib * ((move.target == pool)
                                   - (move.source == pool))
                       for move in moves if then.at < move.at <= now.at)
            found[pool] = (now.gib[pool] - then.gib[pool] - came) / (
                now.at - then.at) * _DAY_S
    return found


def grown(cluster: Cluster, by: Mapping[str, float]) -> Cluster:
    """The cluster with the growth of its pools, GiB a day."""
    return dataclasses.replace(cluster, pools=tuple(
        dataclasses.replace(pool, growth_gib_day=by.get(pool.name))
        for pool in cluster.pools))
