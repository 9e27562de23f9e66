# SPDX-License-Identifier: Apache-2.0
"""Mean latency of simulated devices under given demands, by queues.

The devices are those of :mod:`.sim.ssd`, which simulates their requests one
by one. That takes some ten thousand requests to know one mean, too many for
each pool in each five minutes of a week, so that here the same dies, channels,
buffer, fast area, collections and cache are queues with random arrivals: an
M/G/1 queue for each die, for each channel and for the drain of the buffer
[1]_. Nothing here is fitted, and no kind of model has this form.

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
import types

import numpy as np

from serifos.lab.backtest.rates import Demand
from serifos.lab.backtest.rates import Floats
from serifos.lab.backtest.rates import Ints
from serifos.lab.sim import ssd as ssds

_US = 1e-6


class Costs:
    """The times of each volume's requests, µs, and what they add up to.

    Those whose names end in ``square`` are rates times squares of times, µs,
    by die, channel or buffer.
    """

    def __init__(self, of: dict[str, Floats], demand: Demand,
                 several: Floats) -> None:
        x, kib = demand.random, demand.kib
        reads, writes = demand.reads_s * _US, demand.writes_s * _US
        fixed = x + (1 - x) * of['sequential']
        self.rate = reads + writes
        self._reads, self._writes = reads, writes
        self.hits = x * np.minimum(1.0, of['cache_share'] / several) + (
            1 - x) * of['readahead']
        self.cache_us = of['cache_us']
        self.read_us = of['read_us'] * fixed
        self.write_us = (of['write_us'] * fixed
                         + of['program_us_per_kib'] * kib)
        paged = np.maximum(kib, of['page_kib'])
        collect = np.where(of['gc_us'] > 0,
                           of['gc_us_per_kib'] * paged * x, 0.0)
        dies, channels = of['dies'], of['channels']
        misses = reads * (1 - self.hits)
        self.write_die = writes * self.write_us / dies
        self.die_square = (misses * self.read_us ** 2
                           + writes * self.write_us ** 2) / dies
        self.write_square = writes * self.write_us ** 2 / dies
        self.collect_square = writes * collect * of['gc_us'] / dies
        striped = of['stripe_kib'] > 0
        pieces = np.where(striped, np.minimum(channels, np.ceil(
            kib / np.where(striped, of['stripe_kib'], 1.0))), 1.0)
        # The last of several channels counts: the mean of the greatest of so
        # many waits, as if these were exponential.
        self.lanes = np.where(pieces > 1, np.log(pieces) + 0.5772
                              + 1 / (2 * pieces), 1.0)
        self.bus_read_us = kib / pieces * of['bus_read_us_per_kib']
        self.bus_write_us = kib / pieces * of['bus_write_us_per_kib']
        lane = pieces / channels
        self.bus_square = lane * (reads * self.bus_read_us ** 2
                                  + writes * self.bus_write_us ** 2)
        drain_us = np.where(of['buffer_kib'] > 0,
                            of['drain_us_per_kib'] * paged, 0.0)
        self.drain_square = writes * drain_us ** 2
        self.fold = writes * of['fold_us_per_kib'] * paged
        self.parts = (
            (misses * self.read_us + writes * (self.write_us + collect))
            / dies,
            lane * (reads * self.bus_read_us + writes * self.bus_write_us),
            writes * drain_us)

    def summands(self) -> dict[str, Floats]:
        """Name → what each volume adds to its device."""
        die, bus, drain = self.parts
        misses = self._reads * (1 - self.hits)
        return {
            'die': die, 'bus': bus, 'drain': drain, 'fold': self.fold,
            'write_die': self.write_die, 'die_square': self.die_square,
            'write_square': self.write_square,
            'collect_square': self.collect_square,
            'bus_square': self.bus_square, 'drain_square': self.drain_square,
            'to_die': misses + self._writes,
            'to_bus': self.rate * self.lanes,
            'writing': self._writes * self.write_us,
            'fixed': misses * self.read_us
            + self._reads * (self.hits * self.cache_us + self.bus_read_us)
            + self._writes * self.bus_write_us}

    def latency_us(self, die_us: Floats, bus_us: Floats,
                   slow: Floats) -> Floats:
        """The mean of each volume's requests, by what they wait."""
        bus_us = bus_us * self.lanes
        read = ((1 - self.hits) * (die_us + self.read_us)
                + self.hits * self.cache_us + bus_us + self.bus_read_us)
        write = die_us + self.write_us * slow + bus_us + self.bus_write_us
        return np.divide(
            self._reads * read + self._writes * write, self.rate,
            out=np.zeros_like(self.rate), where=self.rate > 0)


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
        cost = Costs(self._of(pool), demand, np.ones(len(pool)))
        return np.column_stack(cost.parts)

    def answer(self, pool: Ints, demand: Demand) -> Answer:
        """What the devices make of these demands together.

        :param pool: int[n], the device of each
        """
        asks = demand.reads_s + demand.writes_s > 0
        several = np.bincount(pool, asks, self._count)
        cost = Costs(self._of(pool), demand, np.maximum(several[pool], 1.0))
        sums = types.SimpleNamespace(**{
            name: np.bincount(pool, values, self._count)
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

    def _waits(self, sums: types.SimpleNamespace,
               share: Floats) -> _Waits:
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
