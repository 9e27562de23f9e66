# SPDX-License-Identifier: Apache-2.0
"""Why a pool is slow, why a volume stays: as documents for programs."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

from serifos.facts import hot_by
from serifos.facts import reason
from serifos.plan.outlook import explaining
from serifos.plan.outlook.outlook import Outlook

SCHEMA = 'serifos-explanation/1'

GOALS = 'pool', 'was_us', 'then_us', 'barred', 'why', 'code'
"""Of a document of a pool that a volume could go to."""

VOLUMES = ('volume', 'name', 'outstanding', 'share', 'busy_us', 'without_us',
           'late', 'why', 'code', 'goes_to', 'best')
"""Of a document of an active volume of a pool."""


def pool(seen: Outlook, name: str, heat: explaining.Heat | None,
         parts: Sequence[explaining.Part]) -> dict[str, Any]:
    """A ``serifos-explanation/1`` document of a pool.

    The parameters are those of :func:`.explanation.pool`.
    """
    its = next(each for each in seen.pools if each.pool.name == name)
    goes = _goes(seen)
    return {
        'schema': SCHEMA, 'explains': 'pool', 'pool': name,
        'window_s': seen.plan.window_s, 'hot_by': seen.hot_by,
        'busy': seen.hot_by == hot_by.BUSY,
        'volumes': its.volumes, 'active': its.active, 'seen_us': its.seen_us,
        'immovable': its.immovable, **{
            when: {**dataclasses.asdict(side), 'broken': side.broken}
            for when, side in (('before', its.before), ('after', its.after))},
        'heat': None if heat is None else dataclasses.asdict(heat),
        'active_volumes': [_part(part, goes) for part in parts]}


def volume(seen: Outlook, part: explaining.Part) -> dict[str, Any]:
    """The same of a volume.

    :param seen: the plan of now
    """
    its = _part(part, _goes(seen))
    del its['best']
    return {
        'schema': SCHEMA, 'explains': 'volume', **its,
        'pool': part.volume.pool, 'window_s': seen.plan.window_s,
        'goals': [*map(_goal, part.goals)]}


def _goes(seen: Outlook) -> dict[str, str]:
    return {move.volume: move.target for move in seen.plan.moves}


def _part(part: explaining.Part, goes: Mapping[str, str]) -> dict[str, Any]:
    return {
        'volume': part.volume.id, 'name': part.volume.name,
        'outstanding': part.outstanding, 'share': part.share,
        'busy_us': part.figure_us, 'without_us': part.without_us,
        'late': part.late, 'why': part.why, 'code': _code(part.why),
        'goes_to': goes.get(part.volume.id),
        'best': _goal(part.goals[0]) if part.goals else None}


def _goal(goal: explaining.Goal) -> dict[str, Any]:
    return {**dataclasses.asdict(goal), 'code': _code(goal.why)}


def _code(why: str | None) -> str | None:
    """Of which kind a reason is; None where nothing speaks against it."""
    return reason.code(why) if why else None
