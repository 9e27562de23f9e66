# SPDX-License-Identifier: Apache-2.0
"""Pools of a backtest and their devices, as they are and as they would be.

Behind a pool's model is the simulated device of its name, or one that a person
names, or one whose parameters are fitted so that it does what the model
predicts, as far as it can: dies and channels are no kind of model. Each pool's
own then drifts: each of its times is off by a random factor, so that no model
is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math

import numpy as np

from serifos import errors
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts import fields
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.lab.backtest import queues
from serifos.lab.backtest.rates import Demand
from serifos.lab.backtest.rates import Floats
from serifos.lab.backtest.rates import Ints
from serifos.lab.sim import devices as simulated
from serifos.lab.sim import ssd as ssds
from serifos.model.model import Model

BUSY = 0.25
"""Busy share of a device in the mean, for the default number of pools."""

_FILLED = 0.6
_HOST = 'host{}@sim#sim'
_ADDED = 'added{}@sim#sim'

NAMED = {ssd.name: ssd for ssd in simulated.NAMED}

_FITTED = ('read_us', 'write_us', 'program_us_per_kib',
           'bus_read_us_per_kib', 'bus_write_us_per_kib')
_LEAST, _FIRST, _MOST = np.array([
    (5.0, 100.0, 5000.0), (2.0, 50.0, 5000.0), (1e-4, 1.0, 300.0),
    (0.05, 1.0, 30.0), (0.05, 1.0, 30.0)]).T
_CASES = 60
_LEVELS = (0.1, 0.85)


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


def named(texts: Sequence[str]) -> dict[str, ssds.Ssd]:
    """Model → device, of texts MODEL=DEVICE.

    :raises InputError: where there is no such device
    """
    found = {}
    for text in texts:
        model, _, device = text.partition('=')
        if device not in NAMED:
            raise errors.InputError(
                f'--truth {text} names no simulated device; give MODEL= and '
                f'one of {", ".join(NAMED)}.')
        found[model] = NAMED[device]
    return found


def of_models(models: Mapping[str, Model],
              chosen: Mapping[str, ssds.Ssd]) -> dict[str, ssds.Ssd]:
    """Model → what it is a model of.

    :param chosen: those that a person named
    """
    return {name: chosen.get(name) or NAMED.get(name) or fitted(name, model)
            for name, model in models.items()}


def of_pools(pools: Sequence[Pool], devices: Mapping[str, ssds.Ssd],
             drift: float, seed: int) -> tuple[ssds.Ssd, ...]:
    """Each pool's own device; a pool of the same name always has the same.

    :param drift: the standard deviation of the log of each time
    """
    fields.refuse_outside('--drift', drift, 0.0, 2.0)
    return tuple(_drifted(devices[pool.model or ''], drift,
                          np.random.default_rng([seed, *pool.name.encode()]))
                 for pool in pools)


def _drifted(ssd: ssds.Ssd, by: float, rng: np.random.Generator) -> ssds.Ssd:
    return dataclasses.replace(ssd, **{
        field.name: getattr(ssd, field.name) * float(
            np.exp(rng.normal(0.0, by)))
        for field in dataclasses.fields(ssd) if '_us' in field.name})


def fitted(name: str, model: Model) -> ssds.Ssd:
    """A device that does about what a model predicts.

    By least squares of log latency over random mixes of volumes, each at the
    outstanding I/Os that the device has with them.
    """
    from scipy import optimize  # takes half a second
    mixes = _Mixes.drawn(np.random.default_rng(13), model)

    def wrong(parameters: Floats) -> Floats:
        return mixes.wrong(_device(name, np.exp(parameters)), model)

    found = optimize.least_squares(
        wrong, np.log(_FIRST), bounds=(np.log(_LEAST), np.log(_MOST)),
        diff_step=0.02, max_nfev=40, loss='soft_l1')
    return _device(name, np.exp(found.x))


def mismatch(ssd: ssds.Ssd, model: Model) -> float:
    """The median of how far a device is from a model, a fraction."""
    mixes = _Mixes.drawn(np.random.default_rng(14), model)
    return float(np.expm1(np.median(np.abs(mixes.wrong(ssd, model)))))


def _device(name: str, parameters: Floats) -> ssds.Ssd:
    return ssds.Ssd(name, dies=32, sequential=0.7, noise_cv=0.5, **dict(
        zip(_FITTED, parameters.tolist())))


@dataclasses.dataclass(frozen=True, eq=False)
class _Mixes:
    """Volumes on devices, a device for each mix; float[n] each.

    :param level: float[mixes], how busy the device is
    """

    pool: Ints
    rate: Floats
    writes: Floats
    kib: Floats
    random: Floats
    level: Floats

    @classmethod
    def drawn(cls, rng: np.random.Generator, model: Model) -> _Mixes:
        """Within the range of a model."""
        least, most = model.range.get('count', (1, 5))
        several = rng.integers(max(1, int(least)), max(
            2, min(8, int(most))) + 1, _CASES)
        count = int(several.sum())

        def between(what: str, low: float, high: float) -> tuple[float, float]:
            ends = model.range.get(what, (low, high))
            return max(low, ends[0]), min(high, ends[1])

        kib = between('block_kib', 4.0, 256.0)
        return cls(
            np.repeat(np.arange(_CASES), several),
            np.exp(rng.normal(0, 1, count)),
            rng.uniform(*between('write_pct', 0.0, 100.0), count) / 100,
            np.exp(rng.uniform(*np.log(kib), count)),
            rng.uniform(*between('random_pct', 0.0, 100.0), count) / 100,
            rng.uniform(*_LEVELS, _CASES))

    def wrong(self, ssd: ssds.Ssd, model: Model) -> Floats:
        """float[mixes]: log of the device's latency over the model's."""
        devices = queues.Devices([ssd] * _CASES)

        def demand(rate: Floats) -> Demand:
            return Demand(rate * (1 - self.writes), rate * self.writes,
                          self.kib, self.random)

        busy = devices.answer(self.pool, demand(self.rate)).busy
        rate = self.rate * (self.level / busy)[self.pool]
        answer = devices.answer(self.pool, demand(rate))
        loads = [Load()] * _CASES
        sums = np.bincount(self.pool, answer.latency_us) / np.bincount(
            self.pool)
        for row, q in enumerate(answer.outstanding.tolist()):
            loads[self.pool[row]] += Load.of(Workload(
                100 * float(self.writes[row]), float(self.kib[row]), q,
                100 * float(self.random[row])), floor=0.0)
        predicted = np.array([model.predict(load) for load in loads])
        return np.log(np.maximum(sums, 1.0) / np.maximum(predicted, 1.0))
