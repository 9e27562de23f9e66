# SPDX-License-Identifier: Apache-2.0
"""How wrong are predictions of a move, with and without relative fitness?

``python -m serifos.sim.tenants`` moves tenants between simulated devices:
one to five are on a device, up to four on the other one, and one moves. What
the other device then shows is compared with what a plan expects of it: with
the tenant's requests outstanding as they were, and as the relation of the
two devices says. Medians over the moves of all pairs of devices are printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import itertools

import numpy as np

from serifos import cluster as cl
from serifos.model import common
from serifos.model import elsewhere
from serifos.model import model as mm
from serifos.model import relative
from serifos.sim import device as dev
from serifos.sim import modeler
from serifos.sim import moved
from serifos.sim import samples
from serifos import workload as wl

HEADER = ('tenants', 'moves', 'latency: as before', 'relative fitness',
          'outstanding: as before', 'relative fitness')

_RUN_S = 60.0
_IOS = 3000
_OPEN = 256

Draw = Callable[[np.random.Generator], wl.Workload]


def _tenant(rng: np.random.Generator, iodepth: float,
            think_time_us: float = 0.0) -> wl.Workload:
    return wl.Workload(
        float(rng.integers(0, 101)), float(rng.choice((4, 8, 16, 32, 64))),
        float(iodepth), think_time_us=float(think_time_us))


TENANTS: Mapping[str, Draw] = {
    'closed loop': lambda rng: _tenant(rng, rng.integers(1, 17)),
    'think time': lambda rng: _tenant(
        rng, rng.integers(1, 17), rng.integers(200, 2001)),
    'open loop': lambda rng: _tenant(
        rng, _OPEN, _OPEN * 1e6 / rng.integers(100, 1501)),
}
"""Who moves, and in whose company; an open loop is 256 requesters who
think so long that it makes 100 to 1,500 requests per second."""


def watched(truth: dev.Truth, tenants: Sequence[wl.Workload],
            rng: np.random.Generator) -> list[wl.Workload]:
    """The tenants of a device as telemetry sees them."""
    if not tenants:
        return []
    sample = dev.Device(truth, rng, _IOS, erratic=True).measure(
        tenants, _RUN_S)
    return [wl.Workload(100 * saw['write_iops'] / saw['iops'], w.block_kib,
                        random_pct=w.random_pct, iops=saw['iops'],
                        latency_us=saw['latency_us'])
            for w, saw in zip(sample.workloads, sample.seen)]


def moves(pair: Sequence[dev.Truth], models: Mapping[str, mm.Model],
          known: elsewhere.Relations, draw: Draw, number: int, seed: int
          ) -> Iterator[tuple[float, float, float, float]]:
    """Relative errors of each move, in the order of :data:`HEADER`."""
    for case in range(number):
        rng = np.random.default_rng([seed, case])
        here, there = ([draw(rng) for _ in range(count)] for count in (
            rng.integers(1, 6), rng.integers(0, 5)))
        seen = [watched(truth, tenants, rng)
                for truth, tenants in zip(pair, (here, there))]
        found = watched(pair[1], [here[0], *there], rng)
        truth_us = float(np.mean([one.latency_us for one in found]))
        cluster = cl.Cluster(
            tuple(cl.Pool(truth.name, model=truth.name) for truth in pair),
            tuple(cl.Volume(f'{truth.name}-{i}', truth.name, 1, workload=one)
                  for truth, tenants in zip(pair, seen)
                  for i, one in enumerate(tenants)))
        moving = elsewhere.expected(
            cluster, models, known, wl.ACTIVE_FLOOR).volumes[0].workload
        model = models[pair[1].name]
        ways = (seen[0][0], moving.on(pair[1].name))
        yield (*(abs(model.predict(model.load([way, *seen[1]])) / truth_us
                     - 1) for way in ways),
               *(abs(way.outstanding / found[0].outstanding - 1)
                 for way in ways))


def table(kind: str, number: int, runs: int, seed: int
          ) -> Iterator[tuple[str, int, list[float]]]:
    """A row for each of :data:`TENANTS`.

    :param kind: of the models
    :param number: moves of each pair of devices
    :param runs: by which the devices are related
    """
    models = {
        truth.name: modeler.built(kind, truth, [
            sample for job in modeler.jobs(
                truth, modeler.Purpose.SHORT, modeler.training(
                    modeler.Purpose.SHORT, seed), seed)
            for sample in modeler.measure(job)])
        for truth in samples.TRUTHS}
    datasets = {truth.name: samples.dataset(
        truth, runs, space=moved.COMPANY) for truth in samples.TRUTHS}
    pairs = [*itertools.permutations(samples.TRUTHS, 2)]
    known = {(a.name, b.name): relative.relation(common.joined(
        {one.name: datasets[one.name] for one in (a, b)})) for a, b in pairs}
    for name, draw in TENANTS.items():
        found = [errors for pair in pairs for errors in moves(
            pair, models, known, draw, number, seed)]
        yield name, len(found), np.median(found, axis=0).tolist()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog='python -m serifos.sim.tenants',
        description='Compare predictions of moves with and without relative '
                    'fitness.')
    parser.add_argument('--kind', default='auto',
                        help="of the devices' models (default: auto)")
    parser.add_argument('--moves', type=int, default=40, metavar='N',
                        help='of each pair of devices (default: 40)')
    parser.add_argument('--sampled', type=int, default=400, metavar='N',
                        help='runs by which devices are related')
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args(argv)
    print(' | '.join(HEADER))
    for name, number, found in table(
            args.kind, args.moves, args.sampled, args.seed):
        print(' | '.join((name, str(number), *(f'{e:.1%}' for e in found))))


if __name__ == '__main__':
    main()
