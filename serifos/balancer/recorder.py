# SPDX-License-Identifier: Apache-2.0
"""Records of each round: loads, used space, errors of predictions.

Where a record cannot be written or read the round goes on without.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np
from oslo_log import log

from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import History
from serifos.facts.activity import KeptHistory
from serifos.facts.cluster import Cluster
from serifos.facts.history import Series
from serifos.facts.inventory import Inventory
from serifos.facts import journal
from serifos.facts import pool_errors
from serifos.facts import space
from serifos.facts import times
from serifos.facts.workload import Workload
from serifos.plan import eligibility
from serifos.plan.limits import Limits
from serifos.plan.search import filling

LOG = log.getLogger(__name__)

_UNSEEN = (0.0,) * 9

_SET_BACK_S = 300
"""By which a clock may be behind without being called so."""


@dataclasses.dataclass(frozen=True)
class Recorder:
    """Keeps a history of what a source only knows for minutes.

    In whole minutes, a little behind the present, so that all hosts have been
    read by then.

    :param source: its readings; None where it only has means
    :param behind_s: until which all hosts have been read
    :param most_s: that are written at once
    """

    store: KeptHistory
    source: History | None = None
    behind_s: float = 0.0
    most_s: int = 1800

    @property
    def is_ours(self) -> bool:
        """Whether no other host reaches what is written."""
        return self.store.is_local

    def record(self, inventory: Inventory,
               places: Sequence[activity.MeasuredVolume],
               observed: activity.Observed) -> None:
        """Writes what is known up to this observation, in one transaction.

        :param places: of the inventory; copies of migrations are left out
        """
        try:
            self._record([
                place for place in places if not eligibility.hidden(
                    inventory.record_by_id[place.volume])], observed)
        except errors.SerifosError as exc:
            LOG.warning('The history of this round is not kept: %s', exc)

    def _record(self, places: Sequence[activity.MeasuredVolume],
                observed: activity.Observed) -> None:
        step_s = self.store.step_s
        end = int((observed.at - self.behind_s) // step_s) * step_s
        if end <= 0:
            return
        until = self.store.until()
        begin = max(until, end - self.most_s)
        if until > end + _SET_BACK_S:
            LOG.warning('The history goes until %s, which lies in the '
                        'future: the clock here was ahead, or is behind '
                        'now. It goes on from now.', times.text(until))
            begin = end - _SET_BACK_S
        if begin >= end:
            return
        source = self.source or Means(observed)
        added = self.store.add(
            source.read(places, begin, end, step_s), until)
        LOG.debug('The history of %d volumes goes until %s%s.', len(places),
                  times.text(end), '' if added else ', by another balancer')


@dataclasses.dataclass(frozen=True)
class Growth:
    """The growth of pools over the last time.

    A volume that comes from another pool is no growth, whoever moved it.
    Where the growth is not known no pool counts as filling up.

    :param horizon_s: over which it is taken; at least half of it
    """

    kept: space.Space
    homes: space.Homes
    horizon_s: float

    def added(self, cluster: Cluster, entries: Sequence[journal.Entry],
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


@dataclasses.dataclass(frozen=True)
class Accuracy:
    """How far predictions of pools were off in the last hours.

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

        :param checks: of :func:`.planning.model_checks`
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


@dataclasses.dataclass(frozen=True)
class Means:
    """The port :class:`.activity.History` over one observation."""

    observed: activity.Observed

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """As far as the observation goes."""
        found = Series.empty([place.volume for place in places], begin,
                             end, step_s)
        seen = self.observed.volumes
        since, until, *rates = np.array([
            self._of(seen[volume]) if volume in seen else _UNSEEN
            for volume in found.volumes], float).reshape(-1, 9).T
        for slot, begins in enumerate(found.begins):
            seconds = np.clip(
                np.minimum(until, min(begins + step_s, end))
                - np.maximum(since, max(begins, begin)), 0, None)
            found.sums[:, slot] = seconds * rates
        return found

    def _of(self, one: activity.Activity) -> tuple[float, ...]:
        """From when, until when, and the figures of each second."""
        return (self.observed.at - one.seconds, self.observed.at, 1.0,
                *_rates(one.mean))


def _rates(mean: Workload) -> tuple[float, ...]:
    """In the order of the kernel's counters."""
    write = mean.write_pct / 100
    iops, size = mean.iops or 0.0, mean.block_kib * 1024
    return (iops * (1 - write), iops * write, iops * (1 - write) * size,
            iops * write * size, mean.outstanding * (1 - write),
            mean.outstanding * write)
