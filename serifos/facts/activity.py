# SPDX-License-Identifier: Apache-2.0
"""What telemetry saw of volumes and pools over a window, frozen."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Protocol

from serifos.facts import names
from serifos.facts import workload as wl


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A volume to be watched: which, by what LV name, and where.

    :param lv_id: what follows ``volume-`` in the name of its LV
    :param pool: ``host@backend#pool``
    """

    volume: str
    lv_id: str
    pool: str

    @property
    def host(self) -> str:
        """Cinder's host, what stands before the ``@``."""
        return names.host(self.pool)


@dataclasses.dataclass(frozen=True, slots=True)
class Activity:
    """What one volume, or all the volumes of a pool, did over a window.

    :param mean: over the window; its ``iops`` and ``latency_us`` are always
        known and its ``iodepth`` is the q of Little's law. Without a single
        request it is all zero, which is idle
    :param seconds: that the readings really cover
    :param intervals: between readings
    :param quiet_s: how long, up to the last reading, no request was seen;
        at most what the readings cover
    """

    mean: wl.Workload
    seconds: float
    intervals: int
    quiet_s: float


@dataclasses.dataclass(frozen=True)
class Observed:
    """What telemetry knows of the places it was asked about.

    :param at: the time of the newest reading used, seconds of the epoch
    :param volumes: volume id → activity
    :param pools: pool name → activity of the volumes asked about there
    :param missing: volume id → why nothing is known, one sentence
    :param problems: pool name → why its host is not, or not wholly, seen
    :param started: pool name → when its host, or the cinder-volume on it,
        last started, seconds of the epoch by our clock; a pool is absent
        where that is not known for certain
    :param doubts: pool name → why the start that its source tells is not
        believed, a clause; such a pool is not in ``started``
    """

    at: float
    volumes: Mapping[str, Activity]
    pools: Mapping[str, Activity]
    missing: Mapping[str, str]
    problems: Mapping[str, str]
    started: Mapping[str, float] = dataclasses.field(default_factory=dict)
    doubts: Mapping[str, str] = dataclasses.field(default_factory=dict)


class Telemetry(Protocol):
    """The port behind which every adapter stands."""

    def observe(self, places: Sequence[Place], window_s: float,
                pools: Collection[str] = ()) -> Observed:
        """What these volumes did in the last ``window_s`` seconds.

        :param pools: to be told of even where none of the volumes is there,
            as far as the source sees hosts rather than volumes
        :raises CloudError: where the source cannot be asked at all
        """
