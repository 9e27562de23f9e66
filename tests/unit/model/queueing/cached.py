# SPDX-License-Identifier: Apache-2.0
"""Runs of simulated caches whose hits are known."""

import dataclasses

import numpy as np

from serifos.facts.workload import Workload
from serifos.lab.sim import device
from serifos.lab.sim import devices

CACHE = dataclasses.replace(
    devices.CACHED, dies=64, bus_read_us_per_kib=0.4, cache_us=20.0)


def run(workloads, cached, seed=0):
    """A run of which the cache serves this share of the random reads."""
    return device.SimulatedDevice(
        dataclasses.replace(CACHE, cache_share=cached * len(workloads)),
        np.random.default_rng([seed, len(workloads)]), 3000
        ).measure(workloads, 60)


def reads(clients, kib=4.0, write_pct=0):
    return [Workload(write_pct, kib, clients)]
