# SPDX-License-Identifier: Apache-2.0
"""Devices whose relation the tests know."""

import numpy as np

from serifos.facts import dataset
from serifos.facts.workload import Workload


def runs(number=60, seed=0):
    """Random runs of one workload."""
    rng = np.random.default_rng(seed)
    return [(Workload(float(rng.integers(0, 101)),
                      float(rng.choice([4, 16, 64])),
                      float(rng.integers(1, 17)),
                      float(rng.integers(0, 101)),
                      think_time_us=float(rng.integers(0, 1001))),)
            for _ in range(number)]


CACHED = {'device_read_iops': 100.0, 'device_write_iops': 300.0,
          'device_read_kib_s': 12800.0, 'device_write_kib_s': 2400.0,
          'device_random_pct': 40.0, 'device_latency_us': 2000.0}
"""What a device sees of a run that passes the page cache."""


def latency(workload):
    """Of a plain device, µs."""
    return (50 + 3 * workload.block_kib * workload.iodepth
            + workload.write_pct * workload.block_kib / 10)


def device(name, its_runs, law=latency, rounds=(1,), valid_round=1,
           **beside):
    """A dataset in which requesters think after each request."""
    def sample(run, number):
        each = [float(law(w)) for w in run]
        return dataset.Sample(
            tuple(run), float(np.mean(each)), round=number, seen=tuple(
                {'latency_us': us,
                 'iops': 1e6 * w.iodepth / (us + w.think_time_us), **beside}
                for w, us in zip(run, each)))
    return dataset.Dataset(
        dataset.Header({'model': name}, runtime_s=36.0,
                       valid_round=valid_round),
        tuple(sample(run, number) for number in rounds for run in its_runs))
