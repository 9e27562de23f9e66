# SPDX-License-Identifier: Apache-2.0
"""How well do queueing networks describe the simulated devices?

``python -m serifos.sim.networks`` calibrates one on the short design of
each device and prints its error, in percent and beside that of kind
``outstanding``: on the paper's test vectors, on runs of any queue depth, on
the calibrated runs held out, and beyond those in clients and in volumes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serifos.design import design
from serifos.design import optimal
from serifos.model import dataset as ds
from serifos.model import model as mm
from serifos.model import quality
from serifos.model import queueing_calibrate as qc
from serifos.model import queueing_scenarios as qs
from serifos.sim import device as dev
from serifos.sim import modeler
from serifos.sim import truths
from serifos import workload as wl

TRUTHS = (truths.SSD1, truths.SSD2, truths.AGED, truths.FAST,
          *truths.FEATURED)

_GIVEN = {'stations': 2.0, 'alpha': 0.05}
_NAMES = ('test vectors', 'any depth', 'one station', 'interpolation',
          'extrapolation clients', 'extrapolation 2 x volumes',
          'extrapolation 3 x volumes')


def row(truth: dev.Truth, seed: int = 0) -> dict[str, tuple[float, float]]:
    """Test → (error of kind queueing, of outstanding), fractions."""
    train = _measured(truth, modeler.Purpose.SHORT, modeler.training(
        modeler.Purpose.SHORT, seed), seed)
    vectors = _measured(truth, modeler.Purpose.TEST,
                        modeler.tests(seed, 10, 50), seed)
    depths = _measured(truth, modeler.Purpose.CASE, any_depth(100, seed),
                       seed)
    runs = qc.runs([ds.Dataset(ds.Header({}), tuple(train))])
    network, single = (qc.model(
        runs, ds.Header({'model': truth.name}), truth.name, 'latency_us',
        {**_GIVEN, 'stations': number}) for number in (2.0, 1.0))
    beside = modeler.built('outstanding', truth, train)
    found = {name: (error(network, samples), error(beside, samples))
             for name, samples in (('test vectors', vectors),
                                   ('any depth', depths))}
    found['one station'] = (error(single, depths), found['any depth'][1])
    return {**found, **{one.name: (one.mean, one.outstanding)
                        for one in qs.scenarios(runs, _GIVEN, seed)}}


def any_depth(number: int, seed: int) -> list[design.Run]:
    """Random runs of the values that the short design spans."""
    rng, space = np.random.default_rng([seed, 2]), optimal.WIDE
    return [tuple(wl.Workload(*(float(rng.choice(values)) for values in (
        space.write_pcts, space.block_kibs, space.iodepths)))
        for _ in range(rng.choice(space.counts))) for _ in range(number)]


def error(model: mm.Model, samples: Sequence[ds.Sample]) -> float:
    """The mean relative error of a model on runs it never saw."""
    return quality.mre(
        np.array([sample.latency_us for sample in samples]),
        np.array([model.predict(model.load(sample.workloads))
                  for sample in samples]))


def _measured(truth: dev.Truth, purpose: modeler.Purpose,
              runs: Sequence[design.Run], seed: int) -> list[ds.Sample]:
    return [sample for job in modeler.jobs(truth, purpose, runs, seed)
            for sample in modeler.measure(job)]


def main() -> None:
    print(f'{"":11}', *(f'{name:>27}' for name in _NAMES), sep='')
    for truth in TRUTHS:
        found = row(truth)
        print(f'{truth.name:11}', *(
            f'{100 * ours:19.1f} ({100 * others:4.1f})' if name in found
            else f'{"-":>27}' for name in _NAMES
            for ours, others in [found.get(name, (0.0, 0.0))]), sep='')


if __name__ == '__main__':
    main()
