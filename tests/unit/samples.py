# SPDX-License-Identifier: Apache-2.0
"""Datasets whose truth the tests know."""

import json

from hypothesis import strategies

from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Header
from serifos.facts.dataset import Sample
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.model.tenant import inputs

HEADER = Header({'model': 'TEST', 'serial': 'S1', 'size_gib': 372.0,
                 'target': '/dev/test'},
                host='node1', kernel='6.1.0', fio='fio-3.33',
                runtime_s=15, created_at='2026-11-20T12:00:00Z')


def load(run):
    return sum(map(Load.of, run), Load())


def workloads(least=1):
    """Workloads of ``least`` to 64 requests outstanding."""
    return strategies.builds(
        Workload, write_pct=strategies.floats(0, 100),
        block_kib=strategies.floats(4, 1024),
        iodepth=strategies.floats(least, 64),
        random_pct=strategies.floats(0, 100))


def cliff(run):
    """µs on a device that no trend has: writes suddenly cost ten times."""
    its = load(run)
    return 90 + 3 * its.sum_q_r + 0.8 * its.sum_q_s_r + (
        8 if its.sum_q_s_w > 2000 else 0.8) * its.sum_q_s_w


def dataset(runs, latency, header=HEADER):
    """A dataset in which each run measures latency(run), µs."""
    return Dataset(header, tuple(
        Sample(tuple(run), float(latency(run)), float(latency(run)))
        for run in runs))


def write(path, dataset):
    """Writes a dataset's file whole; a build waits for the disk each run."""
    path.write_text(''.join(json.dumps(line.to_json()) + '\n' for line in (
        dataset.header, *dataset.samples)))
    return path


_WAIT = {'offset': 2.0, 'kib': 0.9}
_PARTS = {'read_us': _WAIT, 'read_us_per_block': {**_WAIT, 'offset': 1.5},
          'write_us': {'offset': 1.0, 'writes': 0.6}}
APART = {
    'figure': 'all', 'noise': 0.05,
    'trend': {**dict.fromkeys(inputs.TREND, 0.0), 'half_q': 1.0,
              'sharpness': 1.0},
    'members': [{'units': [], 'parts': {
        name: _PARTS.get(name, {'offset': -25.0}) for name in inputs.OWN}}]}
"""Parameters of a tenant model: reads wait for all KiB of a pool, and more
for their own; writes wait for writes."""
