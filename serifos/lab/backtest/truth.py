# SPDX-License-Identifier: Apache-2.0
"""Devices of a backtest's pools.

A simulated device of a model's name, or one that a person names, or one whose
parameters are fitted so that it does what the model predicts, as far as it
can: dies and channels are no kind of model. Each pool's own then drifts: each
of its times is off by a random factor, so that no model is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np

from serifos import errors
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

NAMED = {ssd.name: ssd for ssd in simulated.NAMED}

_FITTED = ('read_us', 'write_us', 'program_us_per_kib',
           'bus_read_us_per_kib', 'bus_write_us_per_kib')
_LEAST, _FIRST, _MOST = np.array([
    (5.0, 100.0, 5000.0), (2.0, 50.0, 5000.0), (1e-4, 1.0, 300.0),
    (0.05, 1.0, 30.0), (0.05, 1.0, 30.0)]).T
_CASES = 60
_LEVELS = (0.1, 0.85)


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
