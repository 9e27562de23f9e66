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
from serifos.facts import cluster as cl
from serifos.facts import journal as jn
from serifos.facts import space as sp
from serifos.plan import limits as lm
from serifos.plan.space import filling

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Growth:
    """The growth of pools over the last time.

    :param horizon_s: over which it is taken; at least half of it
    """

    kept: sp.Space
    homes: sp.Homes
    horizon_s: float

    def told(self, cluster: cl.Cluster, entries: Sequence[jn.Entry],
             now: float) -> cl.Cluster:
        """The cluster with the growth of its pools; what is used is kept.

        :param entries: of the journal
        """
        moving = {entry.facts[end] for entry in jn.open_moves(entries)
                  for end in ('source', 'target')}
        used = sp.used(cluster, moving, now)
        try:
            self.kept.note(used)
            self.homes.note(sp.homes(cluster), now, sp.moved(entries))
            before = self.kept.earliest(now - self.horizon_s, now)
            moves = self.homes.moves(now - self.horizon_s)
        except errors.SerifosError as exc:
            LOG.warning('It is not known how fast pools fill up: %s', exc)
            return cluster
        return sp.grown(cluster, sp.growth(
            used, before, moves, self.horizon_s / 2))


def warn(cluster: cl.Cluster, limits: lm.Limits) -> None:
    """Names the pools that fill up in the log."""
    for pool in cluster.pools:
        why = filling.why(pool, limits)
        if why is not None:
            LOG.warning('%s: %.3g GiB a day.', why, pool.growth_gib_day)
