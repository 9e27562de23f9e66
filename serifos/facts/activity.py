# SPDX-License-Identifier: Apache-2.0
"""Activity of volumes and pools, and the ports that report it."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import NamedTuple
from typing import Protocol
from typing import TYPE_CHECKING

from serifos.facts.caps import Caps
from serifos.facts import names
from serifos.facts.workload import Workload

if TYPE_CHECKING:  # numpy, which cinder-scheduler has not
    from serifos.facts.history import Series


class Disk(NamedTuple):
    """A disk of a host, as udev names it; the serial number may be empty."""

    model: str
    serial: str = ''


@dataclasses.dataclass(frozen=True, slots=True)
class MeasuredVolume:
    """A volume to be measured, with its logical volume and pool.

    :param lv_id: what follows ``volume-`` in the name of its LV
    :param pool: ``host@backend#pool``
    :param caps: of its QoS, at which requests wait before they come to a
        device; None for none
    :param since: the time, seconds of the epoch, before which its logical
        volume was written as a copy, by whoever migrated it
    """

    volume: str
    lv_id: str
    pool: str
    since: float = 0.0
    caps: Caps | None = None

    @property
    def host(self) -> str:
        """Cinder's host, what stands before the ``@``."""
        return names.host(self.pool)


@dataclasses.dataclass(frozen=True, slots=True)
class Activity:
    """The activity of a volume, or of all volumes of a pool, over a window.

    :param mean: over the window; its ``iops`` and ``latency_us`` are always
        known and its ``iodepth`` is the q of Little's law. Without a single
        request it is all zero, which is idle
    :param seconds: the time that the readings cover
    :param intervals: between readings
    :param quiet_s: how long, up to the last reading, no request was seen;
        at most what the readings cover
    :param unwritten_s: the same of requests that wrote
    """

    mean: Workload
    seconds: float
    intervals: int
    quiet_s: float
    unwritten_s: float


@dataclasses.dataclass(frozen=True)
class Observed:
    """The measurements of telemetry.

    :param at: the time of the newest reading used, seconds of the epoch
    :param volumes: volume id → activity
    :param pools: pool name → activity of the volumes asked about there
    :param missing: volume id → why nothing is known, one sentence
    :param problems: pool name → why its host is not, or only partly, seen
    :param started: pool name → when its host, or the cinder-volume on it,
        last started, seconds of the epoch by our clock; a pool is absent
        where that is not known for certain
    :param doubts: pool name → why the start that its source reports is not
        plausible, a clause; such a pool is not in ``started``
    :param in_qemu: whether latencies are those that QEMU sees
    """

    at: float
    volumes: Mapping[str, Activity]
    pools: Mapping[str, Activity]
    missing: Mapping[str, str]
    problems: Mapping[str, str]
    started: Mapping[str, float] = dataclasses.field(default_factory=dict)
    doubts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    in_qemu: bool = False


class History(Protocol):
    """The port of whatever knows the past of volumes."""

    def read(self, places: Sequence[MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """What these volumes did from begin to end, seconds of the epoch.

        In the memory of the result and what is bounded besides; whoever
        wants less reads some volumes after another.

        :param places: where they are now; their history goes with them
        :param step_s: of the slots; those that begin or end touch are whole
        :raises InputError: where it does not know slots of that length
        :raises CloudError: where a server does not answer
        """


class KeptHistory(History, Protocol):
    """The port of the history that serifos keeps itself.

    It knows volumes by their ids, wherever they are.
    """

    @property
    def step_s(self) -> int:
        """Length of the shortest slots, s."""

    @property
    def is_local(self) -> bool:
        """Whether no other host reaches it."""

    def until(self) -> int:
        """Until when it is written, seconds of the epoch; 0 if new.

        :raises SerifosError: where it cannot be read
        """

    def add(self, series: Series, after: int) -> bool:
        """Adds what all volumes did since; those not in it are gone.

        :param series: in the shortest slots
        :param after: what :meth:`until` returned
        :returns: whether it was added, and not by another process just now
        :raises SerifosError: where it cannot be written
        """


class Readings(History, Protocol):
    """What a source has to read itself, every interval."""

    def scrape(self) -> Mapping[str, str]:
        """Take one reading of every host: host → its fault.

        :raises InputError: where readings cannot be kept
        """

    def gather(self, window_s: float,
               progress: Callable[[float, float], object]) -> None:
        """Take readings until they cover a window; this lasts minutes.

        :param progress: is called with (seconds held, seconds wanted)
            before each wait
        :raises InputError: where readings cannot be kept
        """


class Telemetry(Protocol):
    """The port that every telemetry source implements.

    A source inherits from it, and sets what it has besides ``observe``.

    :ivar readings: of a source that has to take them itself, else None;
        InputError where it cannot
    :ivar history: of a source that keeps days itself; with None serifos
        keeps them
    :ivar settled_s: after which a slot of those days no longer changes
    """

    readings: Readings | None = None
    history: History | None = None
    settled_s: float = 900.0

    def observe(self, places: Sequence[MeasuredVolume], window_s: float,
                pools: Collection[str] = ()) -> Observed:
        """The activity of these volumes in the last ``window_s`` seconds.

        :param pools: to be reported even without any of these volumes, as
            far as the source sees hosts rather than volumes
        :raises CloudError: where the source cannot be reached
        """

    def disks(self, hosts: Collection[str]
              ) -> Mapping[str, tuple[Disk, ...]] | None:
        """Host → its disks; None of a source that does not see them.

        :raises CloudError: where the source cannot be reached
        """
        return None
