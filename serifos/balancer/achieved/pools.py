# SPDX-License-Identifier: Apache-2.0
"""Holds predictions against what pools show: errors and drift.

Where the errors cannot be written or read the round goes on without.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

from oslo_log import log

from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts import journal
from serifos.facts import pool_errors

LOG = log.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Achieved:
    """What the last hours teach.

    :param is_ours: whether no other host reaches what is kept
    :param writes: whether errors are kept, and not only read
    """

    kept: pool_errors.PoolErrors
    is_ours: bool = True
    writes: bool = True

    def hours(self, now: float) -> pool_errors.Hours:
        """The last day of each pool; none where it cannot be read."""
        try:
            return self.kept.hours(now - pool_errors.PROVES_S, now)
        except errors.SerifosError as exc:
            LOG.warning('The errors of predictions are not known: %s', exc)
            return {}

    def note(self, cluster: Cluster,
             checks: Mapping[str, pool_errors.Check],
             entries: Sequence[journal.Entry], now: float) -> None:
        """Keeps the errors of an observation, but of pools that are copied.

        :param checks: of :func:`.planning.achieved`
        :param entries: of the journal
        """
        if not self.writes:
            return
        copied = {entry.facts[end] for entry in journal.open_moves(entries)
                  for end in ('source', 'target')}
        copied |= {pool.name for pool in cluster.pools if pool.copies_gib}
        devices = {pool.device_key for pool in cluster.pools
                   if pool.name in copied}
        quiet = {pool.name for pool in cluster.pools
                 if pool.device_key not in devices}
        try:
            self.kept.note({name: check for name, check in checks.items()
                            if name in quiet}, now)
        except errors.SerifosError as exc:
            LOG.warning('The errors of predictions are not kept: %s', exc)


def drifted(cluster: Cluster, hours: pool_errors.Hours, now: float) -> Cluster:
    """The cluster with the pools that drift, each of which is warned of."""
    pools = tuple(dataclasses.replace(
        pool, drifting=pool_errors.drifting(hours.get(pool.name, ()), now))
        for pool in cluster.pools)
    for pool in pools:
        if pool.drifting is not None:
            LOG.warning('%s', pool.drift_sentence)
    return dataclasses.replace(cluster, pools=pools)
