# SPDX-License-Identifier: Apache-2.0
"""What requests take of a simulated device, before they wait for others."""

from __future__ import annotations

import numpy as np

from serifos.lab.backtest.simulated.demand import Demand
from serifos.lab.backtest.simulated.demand import Floats

_US = 1e-6


class Sums:
    """The summands of :class:`Costs`, added up over each device's volumes."""

    def __init__(self, sums: dict[str, Floats]) -> None:
        self.__dict__.update(sums)


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
