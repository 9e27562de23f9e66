# SPDX-License-Identifier: Apache-2.0
"""The load of a volume in each part of a day, from its history.

Pools are judged by what their volumes do together. Days lie upon one another,
so that a history of several shows what is usual at an hour.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.facts.cluster import Cluster
from serifos.facts.history import Series
from serifos.facts.workload import Workload
from serifos.plan.loads.slots import Floats
from serifos.plan.loads.slots import Slots

Bools = npt.NDArray[np.bool_]

_RATES, _QUEUED = 5, 4
_DAY_S = 86400.0


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """How the history of volumes becomes their load.

    :param slots: in how many parts a day is planned
    :param busy: whether pools are compared by how busy they are
    """

    slots: int = 24
    busy: bool = False

    @property
    def step_s(self) -> int:
        """Seconds of the slots of a history that this needs."""
        return 300 if self.slots > 24 else 3600

    def of(self, history: Series) -> Slots:
        """The loads of volumes with such a history.

        A part of a day that was not seen is as the mean of the others.
        """
        values, its = _rates(history), folded(history, self.slots)
        usual = _mean(values, history.seconds.T)
        usual[_untold(values).any(1), _QUEUED] = np.nan
        its = np.where(np.isnan(its), usual[:, None], its)
        return Slots(history.volumes, _patterns(its), self.busy)


def folded(history: Series, slots: int) -> Floats:
    """The mean of each part of a day: float[volumes, slots, rates].

    NaN for a part of which nothing is known; the requests
    outstanding, too, for one with requests of which that is not.
    """
    values, seconds = _rates(history), history.seconds.T
    middle = history.begin + history.step_s * (np.arange(history.count) + 0.5)
    part = (middle % _DAY_S / _DAY_S * slots).astype(np.intp)
    found = np.full((len(history.volumes), slots, _RATES), np.nan)
    for slot in np.unique(part):
        its = values[:, part == slot]
        found[:, slot] = _mean(its, seconds[:, part == slot])
        found[_untold(its).any(1), slot, _QUEUED] = np.nan
    return found


def planned(cluster: Cluster, slots: Slots) -> Cluster:
    """The cluster with volumes that do what they do in the mean over slots.

    A volume of which nothing is known at present stays so.
    """
    usual = dict(zip(slots.volumes, _usual(slots.patterns)))
    return dataclasses.replace(cluster, volumes=tuple(
        v if v.workload is None or usual.get(v.id) is None
        else dataclasses.replace(v, workload=usual[v.id])
        for v in cluster.volumes))


def _rates(history: Series) -> Floats:
    """float[volumes, slots, rates]: reads, writes, KiB, requests, outstanding.

    The fourth are requests at a random offset, which no counter tells: all.
    NaN where a slot was not seen, or a figure is not measured.
    """
    return np.stack([
        history.read_iops, history.write_iops,
        history.read_kib_s + history.write_kib_s, history.iops,
        history.outstanding], axis=-1).astype(float).transpose(1, 0, 2)


def _untold(values: Floats) -> Bools:
    """bool[volumes, slots]: requests were seen, and not how long they took.

    A mean over other slots, in which a volume was idle, would be none.
    """
    return np.isnan(values[..., _QUEUED]) & (values[..., :2] > 0).any(-1)


def _mean(values: Floats, weights: Floats) -> Floats:
    """float[volumes, rates]: the mean over known slots, NaN where none is.

    :param weights: float[volumes, slots], the seconds that were seen
    """
    known = ~np.isnan(values)
    total = np.einsum('vsc,vs->vc', known, weights)
    return np.einsum('vsc,vs->vc', np.where(known, values, 0.0), weights) / (
        np.where(total > 0, total, np.nan))


def _patterns(values: Floats) -> Floats:
    """Access patterns of rates: float[..., 5], as of :class:`.slots.Slots`."""
    reads, writes, kib, random, queued = np.moveaxis(values, -1, 0)
    rate = reads + writes
    some = np.where(rate > 0, rate, 1.0)
    return np.stack([100 * writes / some, kib / some,
                     np.where(rate > 0, queued, 0 * queued),
                     100 * random / some, rate], axis=-1)


def _usual(patterns: Floats) -> list[Workload | None]:
    """One workload of each volume's slots, by outstanding I/Os."""
    queued = patterns[..., 2]
    total = np.nansum(queued, axis=1)
    mix = np.nansum(patterns * queued[..., None], axis=1) / np.where(
        total, total, 1.0)[:, None]
    number = np.maximum(1, (~np.isnan(queued)).sum(1))
    unknown = np.isnan(queued).all(1)
    return [None if gone else Workload(write, kib, q, random)
            for gone, q, (write, kib, _, random) in zip(
                unknown.tolist(), (total / number).tolist(),
                mix[:, :4].tolist())]
