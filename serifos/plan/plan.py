# SPDX-License-Identifier: Apache-2.0
"""A plan: moves, refusals, and what is expected before and after."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from typing import Any

PLAN_SCHEMA = 'serifos-plan/1'


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """One volume to another pool, and what its two pools would then see.

    The latencies of a source without a model are None.
    """

    volume: str
    source: str
    target: str
    size_gib: float
    source_before_us: float | None
    source_after_us: float | None
    target_before_us: float
    target_after_us: float
    reason: str

    def to_json(self) -> dict[str, Any]:
        doc = dataclasses.asdict(self)
        return {'volume': doc.pop('volume'), 'from': doc.pop('source'),
                'to': doc.pop('target'), **doc}

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Move:
        """A move as a ``serifos-plan/1`` document writes it."""
        named = {**doc, 'source': doc['from'], 'target': doc['to']}
        return cls(**{field.name: named[field.name]
                      for field in dataclasses.fields(cls)})


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """A volume that stays, and why."""

    volume: str
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A figure before the plan and after it."""

    before: float
    after: float


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a planner decided; it has no time and no name yet.

    :param truncated: acceptable moves were left: max_moves was reached, or
        they wait for space that the plan itself frees
    :param latency_us: pool name → µs, for the pools that have a model
    """

    planner: str
    moves: tuple[Move, ...]
    refused: tuple[Refusal, ...]
    truncated: bool
    latency_us: Mapping[str, Change]
    max_us: Change
    mean_us: Change
    variance_us2: Change
    slo_misses: Change

    def to_json(self, plan_id: str, created_at: str,
                expires_at: str) -> dict[str, Any]:
        """A ``serifos-plan/1`` document."""
        return {
            'schema': PLAN_SCHEMA, 'id': plan_id, 'created_at': created_at,
            'expires_at': expires_at, 'planner': self.planner,
            'truncated': self.truncated,
            'moves': [move.to_json() for move in self.moves],
            'refused': [dataclasses.asdict(r) for r in self.refused],
            'latency_us': {name: dataclasses.asdict(change)
                           for name, change in self.latency_us.items()},
            'max_us': dataclasses.asdict(self.max_us),
            'mean_us': dataclasses.asdict(self.mean_us),
            'variance_us2': dataclasses.asdict(self.variance_us2),
            'slo_misses': dataclasses.asdict(self.slo_misses)}
