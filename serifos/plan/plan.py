# SPDX-License-Identifier: Apache-2.0
"""A plan: moves, refusals, and predicted latencies before and after."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import enum
from typing import Any

from serifos.facts import fields
from serifos.facts import refusals
from serifos.facts.refusals import Reason
from serifos.facts import times

PLAN_SCHEMA = 'serifos-plan/1'


class Cause(enum.StrEnum):
    """The causes of moves, as plans write them.

    :param sentence: with the names of its figures in braces
    """

    sentence: str

    def __new__(cls, code: str, sentence: str) -> Cause:
        found = str.__new__(cls, code)
        found._value_, found.sentence = code, sentence
        return found

    def of(self, **figures: object) -> Reason:
        """The reason of a move, with the figures that its sentence names."""
        return Reason(self.sentence.format(**figures), self)

    HOT = 'hot', '{worse} of both pools {change}'
    HOT_WITH_OTHERS = 'hot_with_others', 'source {change}, of several'
    FASTEST = 'fastest', 'least predicted latency'
    SLO_RESTORED = 'slo_restored', 'restores the SLO'
    SLO_EASED = 'slo_eased', 'reduces the SLO violation'
    FORECAST_AVOIDED = 'forecast_avoided', 'avoids a forecast SLO violation'
    FORECAST_REDUCED = 'forecast_reduced', 'reduces a forecast SLO violation'
    SPACE = 'space', '{pool} is full{when}'
    EVACUATED = 'evacuated', '{pool} is evacuated{unknown}'
    UNDONE = 'undone', 'back to {pool}'


FOR_SLO = frozenset({Cause.SLO_RESTORED, Cause.SLO_EASED,
                     Cause.FORECAST_AVOIDED, Cause.FORECAST_REDUCED})
"""Causes of moves made for an SLO that is violated, or predicted to be."""

_OPTIONAL = ('copy_s', 'source_during_us', 'target_during_us', 'volume_us',
             'qemu_us')
"""Fields that a plan has only where they are known."""


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """One volume to another pool, and the latencies predicted for both.

    The latencies of a source without a model are None.

    :param reason: a sentence, with its :class:`Cause`
    :param copy_s: how long its copy takes, estimated, and the two latencies
        meanwhile; None where that is not known
    :param volume_us: its latency at the device, as measured, where
        ``qemu_us`` is known: the one that QEMU sees
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
    copy_s: float | None = None
    source_during_us: float | None = None
    target_during_us: float | None = None
    volume_us: float | None = None
    qemu_us: float | None = None

    @classmethod
    def names(cls) -> list[str]:
        """Of the values of :meth:`to_json`, in their order."""
        found = [{'source': 'from', 'target': 'to'}.get(field.name, field.name)
                 for field in dataclasses.fields(cls)]
        found.insert(found.index('reason'), 'cause')
        return found

    @property
    def cause(self) -> str | None:
        """The code of its reason; None where the plan says none."""
        return refusals.code(self.reason)

    @property
    def for_slo(self) -> bool:
        """Whether it is made for a violated SLO, hot pool or not."""
        return self.cause in FOR_SLO

    def to_json(self) -> dict[str, Any]:
        doc = fields.document(self)
        return {'volume': doc.pop('volume'), 'from': doc.pop('source'),
                'to': doc.pop('target'), 'cause': self.cause, **{
                    name: value for name, value in doc.items()
                    if value is not None or name not in _OPTIONAL}}

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Move:
        """A move as a ``serifos-plan/1`` document writes it."""
        named = {**doc, 'source': doc['from'], 'target': doc['to'],
                 'reason': Reason.read(doc['reason'], doc.get('cause'))}
        return cls(**{field.name: named[field.name]
                      for field in dataclasses.fields(cls)
                      if field.name in named})


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """A volume that is not moved, and why.

    :param reason: a sentence, with its code where that is known
    """

    volume: str
    reason: str

    @property
    def code(self) -> str | None:
        """Of which kind the reason is; None where that is not known."""
        return refusals.code(self.reason)

    def to_json(self) -> dict[str, Any]:
        doc = {'volume': self.volume, 'reason': self.reason}
        return doc if self.code is None else {**doc, 'code': self.code}

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Refusal:
        """A refusal as a ``serifos-plan/1`` document writes it."""
        return cls(doc['volume'], Reason.read(
            doc['reason'], doc.get('code')))


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A figure before the plan and after it."""

    before: float
    after: float

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Change:
        """A change as a ``serifos-plan/1`` document writes it."""
        return cls(doc['before'], doc['after'])


@dataclasses.dataclass(frozen=True)
class Listed:
    """A stored plan as a list has it, with as much as that shows.

    :param created_at: seconds of the epoch
    :param expires_at: seconds of the epoch
    :param move_count: how many moves it has
    :param size_gib: that they copy
    :param max_us: latency of the slowest pool, µs
    """

    id: str
    created_at: float
    expires_at: float
    planner: str
    move_count: int
    size_gib: float
    max_us: Change


@dataclasses.dataclass(frozen=True)
class Plan:
    """The result of a planner.

    :param truncated: acceptable moves are left: max_moves was reached, or
        they need space that the plan itself frees
    :param latency_us: pool name → µs, for the pools that have a model
    :param slo_misses: volumes predicted to exceed the SLO of their type, by
        what is measured of them where that is known
    :param slo_violated: volumes that are measured to see more, and those of
        them that are predicted to do so afterwards
    :param hot_pools: pools whose planning figure is over hot_ratio
    :param unexplained: names of pools that do not fit their models
    :param notes: sentences about pools, such as those that drift
    :param window_s: of the past by which it was planned; 0 for the present
    :param id: empty until the plan is issued
    :param created_at: seconds of the epoch
    :param expires_at: seconds of the epoch
    """

    planner: str
    moves: tuple[Move, ...]
    refused: tuple[Refusal, ...]
    truncated: bool
    latency_us: Mapping[str, Change]
    max_us: Change
    mean_us: Change
    variance_us2: Change
    slo_misses: Change = Change(0, 0)
    slo_violated: Change = Change(0, 0)
    hot_pools: Change = Change(0, 0)
    unexplained: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    window_s: float = 0.0
    id: str = ''
    created_at: float = 0.0
    expires_at: float = 0.0

    def issued(self, plan_id: str, now: float, ttl_s: float) -> Plan:
        """This plan with an id, valid for ``ttl_s``; in whole seconds."""
        return dataclasses.replace(self, id=plan_id, created_at=now // 1,
                                   expires_at=(now + ttl_s) // 1)

    @property
    def move_count(self) -> int:
        return len(self.moves)

    @property
    def size_gib(self) -> float:
        """GiB that its moves copy."""
        return sum(move.size_gib for move in self.moves)

    @property
    def steps(self) -> list[tuple[str, str, str]]:
        """Volume, source and target of each move."""
        return [(move.volume, move.source, move.target)
                for move in self.moves]

    def to_json(self) -> dict[str, Any]:
        """A ``serifos-plan/1`` document."""
        doc = fields.document(self)
        doc.update((name, fields.document(value)) for name, value
                   in doc.items() if isinstance(value, Change))
        return {'schema': PLAN_SCHEMA, 'id': doc.pop('id'),
                'created_at': times.text(doc.pop('created_at')),
                'expires_at': times.text(doc.pop('expires_at')), **doc,
                'moves': [move.to_json() for move in self.moves],
                'refused': [each.to_json() for each in self.refused],
                'latency_us': {name: fields.document(change) for name, change
                               in self.latency_us.items()},
                'unexplained': list(self.unexplained),
                'notes': list(self.notes)}

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Plan:
        """A validated ``serifos-plan/1`` document as a Plan.

        :raises ValueError: where a time in it is invalid
        """
        said = {field.name: doc[field.name] for field
                in dataclasses.fields(cls) if field.name in doc}
        changes = {name: Change.from_json(said[name]) for name in (
            'max_us', 'mean_us', 'variance_us2', 'slo_misses',
            'slo_violated', 'hot_pools')
            if name in said}
        return cls(**{
            **said, **changes, 'notes': tuple(doc.get('notes', ())),
            'unexplained': tuple(doc.get('unexplained', ())),
            'moves': tuple(map(Move.from_json, doc['moves'])),
            'refused': tuple(map(Refusal.from_json, doc['refused'])),
            'latency_us': {name: Change.from_json(change)
                           for name, change in doc['latency_us'].items()},
            'created_at': fields.Field(doc)['created_at'].moment(),
            'expires_at': fields.Field(doc)['expires_at'].moment()})
