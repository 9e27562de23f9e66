# SPDX-License-Identifier: Apache-2.0
"""What simulated devices do under given demands: mean values, all at once.

The devices are those of :mod:`.sim.ssd`, whose requests :mod:`.sim.events`
simulates one by one. That takes some ten thousand requests to know one mean,
too many for each pool in each five minutes of a week, so that here the same
dies, channels, buffer, fast area, collections and cache are queues with
random arrivals: an M/G/1 queue for each die, for each channel and for the
drain of the buffer [1]_. Nothing here is fitted, and no kind of model has
this form.

A demand is a rate, whatever the latency (an open load), until the volumes of
a device would have more than ``most`` requests outstanding each in the mean:
beyond that all of them are served the same share of what they ask for, as
closed loads are. What is not served is lost, not made up for later.

.. [1] Kleinrock: Queueing Systems, Volume 1. Wiley, 1975. Section 5.6, the
   mean wait of Pollaczek and Khinchin.
"""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses

import numpy as np

from serifos.lab.backtest.simulated import costs
from serifos.lab.backtest.simulated.demand import Demand
from serifos.lab.backtest.simulated.demand import Floats
from serifos.lab.backtest.simulated.demand import Ints
from serifos.lab.sim import ssd as ssds

MOST_OUTSTANDING = 32.0
"""Requests that a volume keeps outstanding on a saturated device."""

_HALVINGS = 24
_FULL = 0.9999


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """What devices make of demands.

    :param served: float[pools], the share of the demands that is served
    :param busy: float[pools], of the device's busiest part, if all of it
        were served; over 1 where it cannot be
    :param latency_us: float[n], the mean of each volume's requests; 0
        without a demand
    :param outstanding: float[n]
    """

    served: Floats
    busy: Floats
    latency_us: Floats
    outstanding: Floats


class Devices:
    """Devices of pools, as arrays of their parameters.

    :param most: requests outstanding of a volume on a saturated device
    """

    def __init__(self, devices: Sequence[ssds.Ssd],
                 most: float = MOST_OUTSTANDING) -> None:
        self._most, self._count = most, len(devices)
        self._all = {
            field.name: np.array([getattr(ssd, field.name)
                                  for ssd in devices], float)
            for field in dataclasses.fields(ssds.Ssd)[1:]}

    def __len__(self) -> int:
        return self._count

    def busy(self, pool: Ints, demand: Demand) -> Floats:
        """float[n, parts]: the share of each part's time that each takes.

        The sum over a device's volumes is how busy its dies, its channels
        and its buffer's drain are; a fast area that is full adds to it, and
        is not in here.
        """
        cost = costs.Costs(self._of(pool), demand, np.ones(len(pool)))
        return np.column_stack(cost.parts)

    def answer(self, pool: Ints, demand: Demand) -> Answer:
        """What the devices make of these demands together.

        :param pool: int[n], the device of each
        """
        asks = demand.reads_s + demand.writes_s > 0
        several = np.bincount(pool, asks, self._count)
        cost = costs.Costs(self._of(pool), demand,
                           np.maximum(several[pool], 1.0))
        sums = costs.Sums({name: np.bincount(pool, values, self._count)
                           for name, values in cost.summands().items()})
        share = np.ones(self._count)
        found = self._waits(sums, share)
        busy, most = found.busy, self._most * several
        over = found.outstanding > most
        if over.any():
            low, high = np.zeros(self._count), share
            for _ in range(_HALVINGS):
                share = np.where(over, (low + high) / 2, 1.0)
                fine = self._waits(sums, share).outstanding <= most
                low, high = (np.where(fine, share, low),
                             np.where(fine, high, share))
            share = np.where(over, low, 1.0)
            found = self._waits(sums, share)
        latency = cost.latency_us(found.die_us[pool], found.bus_us[pool],
                                  found.slow[pool])
        return Answer(share, busy, np.where(asks, latency, 0.0),
                      latency * cost.rate * share[pool])

    def _of(self, pool: Ints) -> dict[str, Floats]:
        return {name: values[pool] for name, values in self._all.items()}

    def _waits(self, sums: costs.Sums, share: Floats) -> _Waits:
        """What requests wait for where such shares are served."""
        its = self._all
        folding = sums.fold * share
        slow = 1 + (its['direct'] - 1) * np.where(
            its['fast_kib'] > 0,
            np.maximum(0.0, 1 - 1 / np.maximum(folding, 1e-9)), 0.0)
        dies = (sums.die + sums.write_die * (slow - 1)) * share
        buses, drains = sums.bus * share, sums.drain * share
        die_us = _wait(dies, share * ((1 + its['noise_cv'] ** 2) * (
            sums.die_square + sums.write_square * (slow ** 2 - 1))
            + sums.collect_square))
        # Full, the buffer holds the channel, so that all requests wait.
        room = its['buffer_kib'] * its['drain_us_per_kib'] * (drains < 1)
        bus_us = _wait(buses, share * sums.bus_square) + np.maximum(
            0.0, _wait(drains, share * sums.drain_square) - room)
        busy = np.maximum(np.maximum(dies, buses), drains)
        outstanding = share * (
            sums.fixed + sums.to_die * die_us + sums.to_bus * bus_us
            + sums.writing * slow)
        return _Waits(die_us, bus_us, slow, busy,
                      np.where(busy < 1, outstanding, np.inf))


@dataclasses.dataclass(frozen=True, eq=False)
class _Waits:
    """Of each device: waits, how slow writes on a die are, and the sums."""

    die_us: Floats
    bus_us: Floats
    slow: Floats
    busy: Floats
    outstanding: Floats


def _wait(busy: Floats, square: Floats) -> Floats:
    """The mean wait in an M/G/1 queue, µs.

    :param square: rate of arrivals times the mean square of a service, µs
    """
    return square / (2 * (1 - np.minimum(busy, _FULL)))
