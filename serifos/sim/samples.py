# SPDX-License-Identifier: Apache-2.0
"""What would ``build --sampled`` measure on the simulated devices?

``python -m serifos.sim.samples DIRECTORY`` writes a dataset of each, for
what compares the datasets of several devices, such as ``relate``.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import pathlib

from serifos.design import design
from serifos.design import sampled
from serifos.model import dataset as ds
from serifos.sim import device as dev
from serifos.sim import modeler
from serifos.sim import truths
from serifos import store

TRUTHS = (truths.SSD1, truths.SSD2, truths.AGED, truths.FAST)

_RUN_S = 10.0


def dataset(truth: dev.Truth, number: int, seed: int = 0,
            chance: int = 0,
            space: design.Space = sampled.PAPER) -> ds.Dataset:
    """The random runs of a seed, measured on a simulated device.

    :param chance: seed of what differs from unit to unit, and run to run
    """
    job, = modeler.jobs(truth, modeler.Purpose.TEST,
                        sampled.runs(number, space, seed), chance,
                        size=number)
    return ds.Dataset(ds.Header({'model': truth.name}, runtime_s=_RUN_S),
                      tuple(modeler.measure(job)))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog='python -m serifos.sim.samples',
        description='Write random runs of the simulated devices.')
    parser.add_argument('directory', type=pathlib.Path)
    parser.add_argument('--sampled', type=int, default=400, metavar='N')
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--chance', type=int, default=0,
                        help='another one is another unit of each device')
    args = parser.parse_args(argv)
    for truth in TRUTHS:
        found = dataset(truth, args.sampled, args.seed, args.chance)
        path = args.directory / f'{truth.name}.jsonl'
        store.begin_dataset(path, found.header)
        for sample in found.samples:
            store.append_sample(path, sample)
        print(path)


if __name__ == '__main__':
    main()
