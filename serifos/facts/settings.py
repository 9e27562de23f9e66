# SPDX-License-Identifier: Apache-2.0
"""Settings of balancing in volume types and pools, by operators.

Of a type by extra specs, of a pool by the ``extra_capabilities`` of its
backend. A value that cannot be used is told, and holds the volumes of the
type, or the pool, where they are: it may have been meant to.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from typing import NamedTuple

from serifos.facts import fields
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Type
from serifos.facts import names
from serifos.facts.refusals import Code
from serifos.facts.refusals import Reason

BALANCE = f'{names.PREFIX}balance'
COOL_DOWN = f'{names.PREFIX}cool_down'
MIN_GAIN = f'{names.PREFIX}min_gain'
POOL_BALANCE, POOL_MAX_FILL = 'serifos_balance', 'serifos_max_fill'
POOL_HOT_RATIO = 'serifos_hot_ratio'

_TEN_YEARS_S = 3650 * 86400
_TRUE = frozenset({'1', 't', 'true', 'on', 'y', 'yes'})
_FALSE = frozenset({'0', 'f', 'false', 'off', 'n', 'no'})


class TypeSettings(NamedTuple):
    """Settings of a volume type.

    :param balance: whether its volumes may be moved, None where it says
        nothing
    :param cool_down_s: how long those that were moved stay where they are,
        None for as long as others
    :param slo_us: its SLO
    :param min_gain: the fraction that a move of its volumes has to gain,
        None for what others have to
    :param faults: clauses about values that cannot be used
    """

    name: str | None = None
    balance: bool | None = None
    cool_down_s: float | None = None
    slo_us: float | None = None
    min_gain: float | None = None
    faults: tuple[str, ...] = ()

    @classmethod
    def of(cls, kind: Type) -> TypeSettings:
        specs, faults = kind.extra_specs, list[str]()
        balance = _flag(specs, BALANCE, faults)
        cool_down_s = _number(specs, COOL_DOWN, 0, _TEN_YEARS_S, faults)
        min_gain = _number(specs, MIN_GAIN, 0, 1, faults)
        slo_us = None
        try:
            slo_us = names.slo_us(specs)
        except ValueError as exc:
            faults.append(str(exc))
        return cls(kind.name, balance, cool_down_s, slo_us, min_gain,
                   tuple(faults))

    def why_not(self, balance: bool = True) -> Reason | None:
        """Why its volumes may not be moved, or None.

        :param balance: whether those may of which no type says anything
        """
        for fault in self.faults:
            return Code.TYPE_FAULT.of(name=self.name, fault=fault)
        if self.balance is False:
            return Code.TYPE_LEFT_OUT.of(name=self.name, key=BALANCE)
        if self.balance is None and not balance:
            return Code.TYPE_NOT_OPTED_IN.of(key=BALANCE)
        return None

    def sentences(self) -> Iterator[str]:
        for fault in self.faults:
            yield (f'Of volume type {self.name}, {fault}; its volumes stay '
                   'where they are until that is corrected.')


class PoolSettings(NamedTuple):
    """Settings of a pool, by its capabilities.

    :param balance: whether it takes part in balancing
    :param max_fill: up to which part it may be filled by plans, None for as
        far as others
    :param hot_ratio: how far it is above the mean when it is hot, None for
        as far as others
    """

    balance: bool = True
    max_fill: float | None = None
    hot_ratio: float | None = None
    faults: tuple[str, ...] = ()

    @classmethod
    def of(cls, stats: PoolStats) -> PoolSettings:
        said, faults = stats.capabilities, list[str]()
        balance = _flag(said, POOL_BALANCE, faults)
        max_fill = _number(said, POOL_MAX_FILL, 0.01, 1, faults)
        hot_ratio = _number(said, POOL_HOT_RATIO, 0, 100, faults)
        return cls(balance is not False and not faults, max_fill, hot_ratio,
                   tuple(faults))

    def sentences(self, pool: str) -> Iterator[str]:
        for fault in self.faults:
            yield (f'Of pool {pool}, {fault}; it takes no part in balancing '
                   'until that is corrected.')


def faults(inventory: Inventory) -> Iterator[str]:
    """Faults in the settings of types and pools, a sentence each."""
    for kind in inventory.types:
        yield from TypeSettings.of(kind).sentences()
    for stats in inventory.pools:
        yield from PoolSettings.of(stats).sentences(stats.name)


def _flag(said: Mapping[str, object], key: str,
          faults: list[str]) -> bool | None:
    value = said.get(key)
    word = str(value).removeprefix('<is>').strip().lower()
    if value is not None and word not in _TRUE | _FALSE:
        faults.append(f'{key} {fields.shown(value)} is neither true nor '
                      'false')
    return None if value is None else word in _TRUE


def _number(said: Mapping[str, object], key: str, least: float, most: float,
            faults: list[str]) -> float | None:
    value = said.get(key)
    found = fields.finite(value)
    if value is not None and (found is None or not least <= found <= most):
        faults.append(f'{key} {fields.shown(value)} is not a number from '
                      f'{least:g} to {most:g}')
        return None
    return found
