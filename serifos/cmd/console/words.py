# SPDX-License-Identifier: Apache-2.0
"""Rounds and copies in flight as words."""

from __future__ import annotations

from serifos.balancer.standing.status import InFlight
from serifos.balancer.standing.status import Status
from serifos.plan import copying


def round_(seen: Status) -> str:
    """When the last round was, and when the next one is."""
    if seen.observed_s is None or seen.next_s is None:
        return 'none: there is no observation'
    ago = f'{_duration(seen.observed_s)} ago'
    if seen.late:
        return (f'{ago}; the next one is late by {_duration(-seen.next_s)}: '
                'does serifos-balancer run?')
    return f'{ago}; the next in {_duration(seen.next_s)}'


def left(each: InFlight) -> object:
    """Minutes until a copy is made, or by how many it is over."""
    if each.left_s is None:
        return None
    return each.left_s / 60 if each.left_s >= 0 else (
        f'{-each.left_s / 60:.2g} over')


def _duration(seconds: float) -> str:
    return copying.duration(round(max(0.0, seconds)))
