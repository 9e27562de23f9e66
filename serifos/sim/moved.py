# SPDX-License-Identifier: Apache-2.0
"""What does a relation tell of tenants that move to another device?

``python -m serifos.sim.moved`` relates the simulated devices, lets it
foretell the IOPS of tenants, one to five of them together, that it never
saw, and prints how wrong it is: median relative errors over tenants, in the
mean over all pairs of devices.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import itertools
import statistics

import numpy as np

from serifos.design import design
from serifos.design import sampled
from serifos.model import common
from serifos.model import relation as rl
from serifos.model import relative
from serifos.sim import samples
from serifos import workload as wl

COMPANY = dataclasses.replace(sampled.PAPER, counts=(1, 2, 3, 4, 5))
TENANTS: Mapping[str, design.Space] = {
    'thinking': COMPANY,
    'closed': dataclasses.replace(COMPANY, think_times_us=(0,))}

HEADER = ('related by runs of', 'tenants', 'IOPS: closed loop', 'no change',
          'share of waiting', 'trees', 'latency: trees')

Step = tuple[wl.Workload, wl.Workload]
"""A tenant as it was observed on the first device, and on the second."""


def steps(devices: common.Devices) -> list[Step]:
    """The tenants of the runs of two devices."""
    here, there = ([wl.Workload(
        write_pct, block_kib, wl.DEFAULT_IODEPTH, random_pct, iops, latency)
        for write_pct, block_kib, random_pct, iops, latency in zip(*(
            its[name] for name in ('write_pct', 'block_kib', 'random_pct',
                                   'iops', 'latency_us')))]
        for its in devices.tenants)
    return [*zip(here, there)]


def errors(relation: rl.Relation, moved: list[Step]) -> list[float]:
    """Median relative errors, in the order of :data:`HEADER`.

    The first three are told the latency's factor, as models of both pools
    would tell it.
    """
    rows = []
    for here, there in moved:
        factor = there.latency_us / here.latency_us
        alone = relation.expect(here)
        rows.append((*(abs(iops / there.iops - 1) for iops in (
            here.iops / factor, here.iops,
            relation.expect(here, factor).workload.iops,
            alone.workload.iops)),
            abs(alone.workload.latency_us / there.latency_us - 1)))
    return np.median(rows, axis=0).tolist()


def table(number: int = 400, tests: int = 100
          ) -> Iterator[tuple[str, str, list[float]]]:
    """A row for each way to relate devices and kind of tenants.

    :param number: runs by which the devices are related
    :param tests: runs that the relation never saw, on other units
    """
    moved = {name: {truth.name: samples.dataset(truth, tests, 1, 1, space)
                    for truth in samples.TRUTHS}
             for name, space in TENANTS.items()}
    for label, space in (('one', sampled.PAPER), ('one to five', COMPANY)):
        known = {truth.name: samples.dataset(truth, number, space=space)
                 for truth in samples.TRUTHS}
        pairs = [*itertools.permutations(known, 2)]
        relations = {pair: relative.relation(common.joined(
            {name: known[name] for name in pair})) for pair in pairs}
        for name, datasets in moved.items():
            found = [errors(relations[pair], steps(common.joined(
                {device: datasets[device] for device in pair})))
                for pair in pairs]
            yield label, name, [statistics.fmean(column)
                                for column in zip(*found)]


def main() -> None:
    print(' | '.join(HEADER))
    for label, name, found in table():
        print(' | '.join((label, name, *(f'{e:.1%}' for e in found))))


if __name__ == '__main__':
    main()
