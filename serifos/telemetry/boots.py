# SPDX-License-Identifier: Apache-2.0
"""Boot time of a host, checked against its clock, uptime and counters.

Pure. A boot time is told by the clock of the host, which may be wrong, and
by whoever answers for the host. So it is compared: with that clock, with
ours, with how long the host says it is up from one reading to the next, and
with its counters, which are reset at a boot and at no other time.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import itertools

from serifos.telemetry.counters import fell
from serifos.telemetry.counters import Reading

APART_S = 60.0
"""A host's clock that differs by more from ours is not trusted."""

_REBOOTED_S = 5.0
"""A boot time that differs by more is another boot, not another clock."""

_INEXACT_S = 10.0
"""How inexactly the time between two readings is known."""


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """The boot time of a host, or why it is not known.

    :param at: seconds of the epoch by our clock, which took the readings
    :param doubt: why the reported time is not trusted, a clause
    """

    at: float | None = None
    doubt: str | None = None


def start(readings: Sequence[Reading]) -> Start:
    """The boot time by a host's usable readings, oldest first."""
    if not readings or (readings[-1].started is None
                        and readings[-1].clock is None):
        return Start()
    doubt = _doubt_of(readings[-1]) or next(filter(None, itertools.starmap(
        _doubt_between, itertools.pairwise(readings))), None)
    if doubt is not None:
        return Start(doubt=doubt)
    return Start(readings[-1].at - _uptime_s(readings[-1]))


def went_on(before: Reading, after: Reading) -> bool:
    """Whether the counters of a host went on from one to the other.

    That is so where no boot lies between, and no clock was set, so that
    the time from one to the other is known too.
    """
    if before.uptime_s is not None and after.uptime_s is not None:
        return abs(_late_s(before, after)) <= _INEXACT_S
    if before.started is None or after.started is None:
        return True
    return abs(after.started - before.started) <= _REBOOTED_S


def _doubt_of(reading: Reading) -> str | None:
    if reading.started is None:
        return 'its boot time (node_boot_time_seconds) is not reported'
    if reading.clock is None:
        return ('its clock (node_time_seconds, of the collector time) is not '
                'reported, so that its boot time cannot be checked')
    if reading.started > reading.clock:
        return ('its boot time lies '
                f'{reading.started - reading.clock:.0f} s in the future of '
                'its own clock')
    ahead = reading.clock - reading.at
    if abs(ahead) > APART_S:
        return (f'its clock is {abs(ahead):.0f} s '
                f'{"ahead of" if ahead > 0 else "behind"} ours')
    return None


def _doubt_between(before: Reading, after: Reading) -> str | None:
    """Why two successive readings contradict each other, or None."""
    if before.uptime_s is None or after.uptime_s is None:
        return None
    late_s = _late_s(before, after)
    if late_s < -_INEXACT_S:
        return (f'its uptime grew by {after.uptime_s - before.uptime_s:.0f} s '
                f'in {after.at - before.at:.0f} s')
    lower = {lv_id: fell(counters, after.volumes[lv_id])
             for lv_id, counters in before.volumes.items()
             if lv_id in after.volumes and any(counters.values)}
    if late_s <= _INEXACT_S:
        if lower and all(lower.values()):
            return 'its counters were reset without a reboot'
        return None
    kept = next((lv_id for lv_id, down in lower.items() if not down), None)
    return None if kept is None else (
        f'its boot time changed, but the counters of volume-{kept} '
        'were not reset')


def _late_s(before: Reading, after: Reading) -> float:
    """Elapsed time less the growth of the uptime, s."""
    return (after.at - before.at) - (_uptime_s(after) - _uptime_s(before))


def _uptime_s(reading: Reading) -> float:
    assert reading.uptime_s is not None
    return reading.uptime_s
