# SPDX-License-Identifier: Apache-2.0
"""Datasets whose truth the tests know."""

import json

from serifos.facts import dataset as ds
from serifos.facts import workload as wl

HEADER = ds.Header({'model': 'TEST', 'serial': 'S1', 'size_gib': 372.0,
                    'target': '/dev/test'},
                   host='node1', kernel='6.1.0', fio='fio-3.33',
                   runtime_s=15, created_at='2026-11-20T12:00:00Z')


def load(run):
    return sum(map(wl.Load.of, run), wl.Load())


def dataset(runs, latency, header=HEADER):
    """A dataset in which each run measures latency(run), µs."""
    return ds.Dataset(header, tuple(
        ds.Sample(tuple(run), float(latency(run)), float(latency(run)))
        for run in runs))


def write(path, dataset):
    """Writes a dataset's file whole; a build waits for the disk each run."""
    path.write_text(''.join(json.dumps(line.to_json()) + '\n' for line in (
        dataset.header, *dataset.samples)))
    return path
