# SPDX-License-Identifier: Apache-2.0
"""When did a host last start, as far as its readings can be believed?

Pure. A boot time is told by the clock of the host, which may be wrong, and
by whoever answers for the host. So it is compared: with that clock, with
ours, with how long the host says it is up from one reading to the next, and
with its counters, which begin anew at a boot and at no other time.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
import itertools

from serifos.telemetry import counters as cn

APART_S = 60.0
"""A host's clock that differs by more from ours is not believed."""

_REBOOTED_S = 5.0
"""A boot time that differs by more is another boot, not another clock."""

_INEXACT_S = 10.0
"""By how much the time between two readings is known no better."""


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """When a host started, or why that is not known.

    :param at: seconds of the epoch by our clock, which took the readings
    :param doubt: why what is told is not believed, a clause
    """

    at: float | None = None
    doubt: str | None = None


def start(readings: Sequence[cn.Reading]) -> Start:
    """What usable readings of a host, oldest first, tell of its start."""
    if not readings or (readings[-1].started is None
                        and readings[-1].clock is None):
        return Start()
    doubt = _doubt_of(readings[-1]) or next(filter(None, itertools.starmap(
        _doubt_between, itertools.pairwise(readings))), None)
    if doubt is not None:
        return Start(doubt=doubt)
    return Start(readings[-1].at - _uptime_s(readings[-1]))


def went_on(before: cn.Reading, after: cn.Reading) -> bool:
    """Whether the counters of a host went on from one to the other.

    That is so where no boot lies between, and no clock was set, so that
    the time from one to the other is known too.
    """
    if before.uptime_s is not None and after.uptime_s is not None:
        return abs(_late_s(before, after)) <= _INEXACT_S
    if before.started is None or after.started is None:
        return True
    return abs(after.started - before.started) <= _REBOOTED_S


def _doubt_of(reading: cn.Reading) -> str | None:
    if reading.started is None:
        return 'its boot time (node_boot_time_seconds) is not told'
    if reading.clock is None:
        return ('its clock (node_time_seconds, of the collector time) is not '
                'told, so that its boot time cannot be compared with it')
    if reading.started > reading.clock:
        return ('its boot time lies '
                f'{reading.started - reading.clock:.0f} s in the future of '
                'its own clock')
    ahead = reading.clock - reading.at
    if abs(ahead) > APART_S:
        return (f'its clock is {abs(ahead):.0f} s '
                f'{"ahead of" if ahead > 0 else "behind"} ours')
    return None


def _doubt_between(before: cn.Reading, after: cn.Reading) -> str | None:
    """What two readings, one upon the other, say against each other."""
    if before.uptime_s is None or after.uptime_s is None:
        return None
    late_s = _late_s(before, after)
    if late_s < -_INEXACT_S:
        return (f'it was up {after.uptime_s - before.uptime_s:.0f} s longer '
                f'{after.at - before.at:.0f} s later')
    fell = {lv_id: cn.fell(counters, after.volumes[lv_id])
            for lv_id, counters in before.volumes.items()
            if lv_id in after.volumes and any(counters.values)}
    if late_s <= _INEXACT_S:
        if fell and all(fell.values()):
            return 'its counters began anew without a new boot'
        return None
    kept = next((lv_id for lv_id, down in fell.items() if not down), None)
    return None if kept is None else (
        f'its boot time is another than before, but the counters of '
        f'volume-{kept} did not begin anew')


def _late_s(before: cn.Reading, after: cn.Reading) -> float:
    """By how much less it was up than time has passed: that of a boot."""
    return (after.at - before.at) - (_uptime_s(after) - _uptime_s(before))


def _uptime_s(reading: cn.Reading) -> float:
    assert reading.uptime_s is not None
    return reading.uptime_s
