# SPDX-License-Identifier: Apache-2.0
"""The port of telemetry sources."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Protocol

from serifos.facts.activity import Disk
from serifos.facts.activity import MeasuredVolume
from serifos.facts.activity import Observed
from serifos.facts.history import History


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

    :ivar readings: of a source that has to take them itself, else None
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
