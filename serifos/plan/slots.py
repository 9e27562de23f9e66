# SPDX-License-Identifier: Apache-2.0
"""Loads slot by slot of the day, and one figure of all slots.

Where latency grows faster than the load, volumes that are busy at different
hours share a pool better than two that are busy together. So a Load is kept
for each slot; Loads of a slot add, a pool is predicted for each slot, and its
figures are the means of what is predicted.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.facts import caps
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Volume
from serifos.facts.history import Series
from serifos.facts import hot_by
from serifos.facts import workload
from serifos.facts.workload import Workload
from serifos.plan import predictions

Floats = predictions.Floats
Ints = predictions.Ints
Bools = npt.NDArray[np.bool_]

AT_ONCE = 1 << 13
"""Loads that are predicted for at once, to bound what that takes."""

WIDE = 1 << 25
"""Numbers, 256 MiB, beyond which Loads of slots are kept as float32.

On the grid of :mod:`.workload` their sums, which are float64, stay exact.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Slots:
    """Activity of volumes in slots of time.

    :param volumes: their ids
    :param patterns: float[volumes, slots, 5]: write_pct, block_kib,
        outstanding I/Os, random_pct and requests per second; NaN for a slot
        of which nothing is known
    :param busy: whether pools are compared by how busy they are
    """

    volumes: tuple[str, ...]
    patterns: Floats
    busy: bool = False

    @property
    def known(self) -> bool:
        """Whether anything is known of any volume."""
        return not np.isnan(self.patterns[..., 2]).all()

    def loads(self, models: predictions.Predictions, volumes: Sequence[str],
              present: Floats) -> npt.NDArray[np.floating]:
        """The Loads of volumes: float[volumes, slots, features].

        :param present: float[volumes, features], which stand for the slots
            of which nothing is known
        """
        place = {volume: i for i, volume in enumerate(self.volumes)}
        row = np.array([place.get(v, -1) for v in volumes], np.intp)
        shape = len(row), self.patterns.shape[1], present.shape[1]
        found = np.empty(shape, np.float32 if shape[1] > 1 and np.prod(
            shape) > WIDE else np.float64)
        for piece in pieces(*shape[:2]):
            some = row[piece] >= 0
            its = np.full((len(some), *self.patterns.shape[1:]), np.nan)
            its[some] = self.patterns[row[piece][some]]
            unknown = np.isnan(its[:, :, 2])
            its[unknown] = 0.0
            found[piece] = np.where(
                unknown[:, :, None], present[piece][:, None],
                models.patterns(its.reshape(-1, its.shape[2])).reshape(
                    *its.shape[:2], -1))
        return found


def pieces(number: int, slots: int) -> Iterator[slice]:
    """Rows 0 to ``number`` in pieces of at most :data:`AT_ONCE` Loads."""
    step = max(1, AT_ONCE // max(1, slots))
    return (slice(first, first + step) for first in range(0, number, step))


@dataclasses.dataclass(frozen=True, eq=False)
class OverSlots:
    """Predictions for Loads of slots, reduced to one figure.

    As of :class:`.predictions.Predictions`, with one axis more.
    """

    models: predictions.Predictions

    def one(self, figures: Floats) -> Floats:
        """float[n] of float[n, slots]; the order of slots is no matter."""
        if figures.shape[1] == 1:
            return figures[:, 0]
        ordered = np.sort(figures, axis=1)
        least = ordered[:, 0]
        return least + (ordered - least[:, None]).mean(axis=1)

    def latency(self, pools: Ints, loads: Floats) -> Floats:
        """The latency for planning of pools: µs[n].

        :param loads: float[n, slots, features]
        """
        slots, found = loads.shape[1], np.empty(loads.shape[:2])
        for piece in pieces(len(loads), slots):
            found[piece] = self.models.latency(
                np.repeat(pools[piece], slots), _flat(loads[piece])
            ).reshape(-1, slots)
        return self.one(found)

    def mean(self, pools: Ints, loads: Floats) -> Floats:
        """The latency that is expected of pools: µs[n].

        Never the upper end of an interval, as :meth:`latency` is beyond the
        training range.

        :param loads: float[n, slots, features]
        """
        slots, found = loads.shape[1], np.empty(loads.shape[:2])
        for piece in pieces(len(loads), slots):
            asked = np.repeat(pools[piece], slots), _flat(loads[piece])
            found[piece] = (self.models.latency(*asked) / self.models.above(
                *asked)).reshape(-1, slots)
        return self.one(found)

    def tenants(self, pools: Ints, loads: Floats, which: Ints,
                own: Floats) -> Floats:
        """What tenants see in the mean: µs[m], 0 in slots of no Load.

        :param loads: float[n, slots, features]
        :param own: float[m, slots, features], or of one row for all
        """
        slots = loads.shape[1]
        row = (which[:, None] * slots + np.arange(slots)).ravel()
        flat = _flat(loads)
        found = self.models.tenants(
            np.repeat(pools, slots), flat, row,
            _flat(np.broadcast_to(own, (len(which), *loads.shape[1:]))))
        found[flat[row, 0] == 0] = 0.0
        return self.one(found.reshape(-1, slots))

    def figure(self, pools: Ints, loads: Floats, own: Floats) -> Floats:
        """What pools under Loads are compared by: µs[n].

        :param loads: float[n, slots, features]
        :param own: likewise, of the tenants that count
        """
        slots, flat = loads.shape[1], _flat(loads)
        found = self.models.figure(
            np.repeat(pools, slots), flat, _flat(own))
        if self.models.hot_by != hot_by.BUSY:
            found[flat[:, 0] == 0] = 0.0
        return self.one(found.reshape(-1, slots))


def present(volumes: Sequence[Volume]) -> list[workload.Workload | None]:
    """What each volume does; unknown, what its type does in the mean.

    None for a type of which nothing is known.
    """
    seen = [volume.workload for volume in volumes]
    if all(seen):
        return seen
    known: dict[str | None, list[workload.Workload]] = {}
    for volume in volumes:
        if volume.workload is not None:
            known.setdefault(volume.volume_type, []).append(volume.workload)
    typical = {name: workload.mean(several) for name, several in known.items()}
    return [found or caps.allowed(volume.caps, typical.get(volume.volume_type))
            for found, volume in zip(seen, volumes)]


def _flat(loads: Floats) -> Floats:
    return loads.reshape(-1, loads.shape[-1])


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
