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
from serifos.facts.cluster import Volume
from serifos.facts import hot_by
from serifos.facts import workload
from serifos.plan import predictions

Floats = predictions.Floats
Ints = predictions.Ints

AT_ONCE = 1 << 16
"""Loads that are predicted for at once, to bound what that takes."""

WIDE = 1 << 25
"""Numbers, 256 MiB, beyond which Loads of slots are kept as float32.

On the grid of :mod:`.workload` their sums, which are float64, stay exact.
"""


@dataclasses.dataclass(frozen=True, eq=False)
class Slots:
    """What volumes did in slots of time.

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
