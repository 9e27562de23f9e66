# SPDX-License-Identifier: Apache-2.0
"""Writes down what is used of pools, and tells how fast they fill.

A volume that comes from another pool is no growth, whoever moved it.

Where that cannot be written or read the round goes on, and no pool counts as
filling up.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

from oslo_log import log

from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts import journal
from serifos.facts import space
from serifos.plan.limits import Limits
from serifos.plan.search import filling

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Growth:
    """The growth of pools over the last time.

    :param horizon_s: over which it is taken; at least half of it
    """

    kept: space.Space
    homes: space.Homes
    horizon_s: float

    def told(self, cluster: Cluster, entries: Sequence[journal.Entry],
             now: float) -> Cluster:
        """The cluster with the growth of its pools; what is used is kept.

        :param entries: of the journal
        """
        moving = {entry.facts[end] for entry in journal.open_moves(entries)
                  for end in ('source', 'target')}
        used = space.used(cluster, moving, now)
        try:
            self.kept.note(used)
            self.homes.note(space.homes(cluster), now, space.moved(entries))
            before = self.kept.earliest(now - self.horizon_s, now)
            moves = self.homes.moves(now - self.horizon_s)
        except errors.SerifosError as exc:
            LOG.warning('It is not known how fast pools fill up: %s', exc)
            return cluster
        return space.grown(cluster, space.growth(
            used, before, moves, self.horizon_s / 2))


def warn(cluster: Cluster, limits: Limits) -> None:
    """Names the pools that fill up in the log."""
    for pool in cluster.pools:
        why = filling.why(pool, limits)
        if why is not None:
            LOG.warning('%s: %.3g GiB a day.', why, pool.growth_gib_day)
