# SPDX-License-Identifier: Apache-2.0
"""Pools of a backtest, and what if some were added, removed or replaced."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math

from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts import fields

BUSY = 0.25
"""Busy share of a device in the mean, for the default number of pools."""

_FILLED = 0.6
_HOST = 'host{}@sim#sim'
_ADDED = 'added{}@sim#sim'


@dataclasses.dataclass(frozen=True)
class Fleet:
    """The pools that a history is replayed on.

    :param home: volume → its pool, of those whose place is given
    """

    pools: tuple[Pool, ...]
    home: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def pool(self, name: str) -> Pool:
        """:raises InputError: where there is none of this name"""
        found = next((pool for pool in self.pools if pool.name == name), None)
        if found is None:
            known = ', '.join(pool.name for pool in self.pools[:5])
            more = ', ...' * (len(self.pools) > 5)
            raise errors.InputError(
                f'There is no pool {name}; there are {known}{more}.')
        return found


def made(models: Sequence[str], size_gib: Sequence[float], busy: float,
         number: int | None = None, pool_gib: float | None = None) -> Fleet:
    """Equal pools, of these models in turn.

    :param busy: by how many devices all volumes could be served, in the mean
        over time and models, if these were never idle
    :param size_gib: of the volumes, for which there is to be room
    :param pool_gib: None for so much that 60 % are allocated
    :raises InputError: where the number or the size is absurd
    """
    if number is None:
        number = max(2, len(models), math.ceil(busy / BUSY))
    fields.refuse_outside('--pools', number, 1, 10_000)
    gib = pool_gib if pool_gib is not None else max(
        math.ceil(sum(size_gib) / _FILLED / number),
        2 * max(size_gib, default=1.0))
    fields.refuse_outside('--pool-gib', gib, 1.0, 1e9, 'GiB')
    return Fleet(tuple(_pool(_HOST.format(i + 1), models[i % len(models)],
                             gib) for i in range(number)))


def of_cluster(found: Cluster, models: Sequence[str]) -> Fleet:
    """The pools of an observation that have a model here, and who lives there.

    :raises InputError: where there are none
    """
    pools = tuple(dataclasses.replace(
        _pool(pool.name, pool.model or '', pool.total_gib),
        zone=pool.zone, backend_name=pool.backend_name)
        for pool in found.pools if pool.model in models)
    if not pools:
        raise errors.InputError(
            'No pool of the cluster has a model in the directory --models.')
    names = {pool.name for pool in pools}
    return Fleet(pools, {volume.id: volume.pool for volume in found.volumes
                         if volume.pool in names})


def changed(fleet: Fleet, models: Sequence[str], *,
            add: Sequence[str] = (), remove: Sequence[str] = (),
            other: Sequence[str] = ()) -> Fleet:
    """The pools as they would be.

    What lived on a pool that is removed is placed anew.

    :param add: MODEL, or MODEL=GIB, of a pool to be added
    :param remove: names of pools
    :param other: MODEL=POOL, for a pool with another model
    :raises InputError: where one cannot be applied
    """
    pools, home = fleet.pools, dict(fleet.home)
    for text in other:
        model, _, name = text.partition('=')
        _known(model, models, '--model')
        was = fleet.pool(name)
        pools = tuple(dataclasses.replace(pool, model=model)
                      if pool.name == was.name else pool for pool in pools)
    for name in remove:
        was = fleet.pool(name)
        pools = tuple(pool for pool in pools if pool.name != was.name)
        home = {volume: pool for volume, pool in home.items()
                if pool != was.name}
    for number, text in enumerate(add, 1):
        model, given, gib = text.partition('=')
        _known(model, models, '--add-pool')
        like = next((pool for pool in (*fleet.pools,)
                     if pool.model == model), fleet.pools[0])
        pools += (dataclasses.replace(
            like, name=_ADDED.format(number), model=model,
            **_sized(_gib(gib) if given else like.total_gib)),)
    if not pools:
        raise errors.InputError('No pool is left; remove fewer.')
    return Fleet(pools, home)


def _pool(name: str, model: str, gib: float) -> Pool:
    return Pool(name, model=model, backend_name='sim', **_sized(gib))


def _sized(gib: float) -> dict[str, float]:
    return {'total_gib': gib, 'free_gib': gib}


def _gib(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    fields.refuse_outside('size in --add-pool', value, 1.0, 1e9, 'GiB')
    return value


def _known(model: str, models: Sequence[str], option: str) -> None:
    if model not in models:
        raise errors.InputError(
            f'{option} names a model {model}, which --models does not have; '
            f'it has {", ".join(models)}.')
