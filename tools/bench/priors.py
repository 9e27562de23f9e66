# SPDX-License-Identifier: Apache-2.0
"""Priors of devices with few runs: makes them, and judges what they bring.

    .venv/bin/python tools/bench/priors.py fit DATASET ...
    .venv/bin/python tools/bench/priors.py judge DATASET ...
    .venv/bin/python tools/bench/priors.py live

``fit`` writes a model of each dataset's device to ``serifos/model/priors``.
``judge`` leaves out each device in turn: the error on its other runs of a
model of kind tenant that is fitted to few of them, with a prior of the other
devices and without one. Datasets with one serial number are of one device.
``live`` fits to half an hour of pools in use, as ``serifos-model learn`` does,
on simulated devices that no prior knows, and predicts the same pools after
volumes have come and gone. Datasets of simulated devices: ``serifos-sim
dataset SSD1 SSD1.jsonl --sampled 250 --chance 1 --counts 1,2,3,4,6,8,10``, and
so for the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import json
import pathlib

import numpy as np

from serifos.design import design
from serifos.facts.dataset import Sample
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.lab.sim import devices
from serifos.lab.sim import modeler
from serifos.model import fit
from serifos.model import fit_runs
from serifos.model import held_out
from serifos.model import kinds
from serifos.model.model import Model
from serifos.model import prior
from serifos.model import quality

_KIND, _SETTINGS = 'tenant', {'members': 2}
_MOST_RUNS, _MOST_TESTS = 150, 250
_RUNS, _SEEDS = (0, 3, 5, 10, 20, 40), (0, 1)
_DEVICES = 8
_PRIORS = pathlib.Path(prior.__file__).parent / 'priors'


def _devices(paths: Iterable[str]) -> Mapping[str, list[Sample]]:
    """Name of a device, from its first file → its runs."""
    name: dict[str, str] = {}
    found: dict[str, list[Sample]] = {}
    for path in map(pathlib.Path, paths):
        dataset = documents.read_dataset(path, cached=True)
        serial = str(dataset.header.device['serial'])
        if serial == 'simulated':
            serial = path.stem
        found.setdefault(name.setdefault(serial, path.stem), []).extend(
            dataset.valid())
    return found


def _some(samples: Sequence[Sample], most: int) -> list[Sample]:
    order = np.random.default_rng(0).permutation(len(samples))
    return [samples[i] for i in sorted(order[:most])]


def _fitted(data: fit_runs.Runs, library: Sequence[kinds.TenantPredictor]
            ) -> kinds.Predictor:
    return kinds.predictor(_KIND, held_out.parameters(
        _KIND, dataclasses.replace(data, devices=library), _SETTINGS))


def _model(name: str, samples: Sequence[Sample]) -> Model:
    data = dataclasses.replace(fit_runs.runs(_some(samples, _MOST_RUNS)),
                               devices=())
    return Model(name, _KIND, held_out.parameters(_KIND, data, _SETTINGS),
                 fit.ranges(data.samples, data.counts), {},
                 dataset={'runs': len(data.y)}, settings=_SETTINGS)


def _split(data: fit_runs.Runs, runs: int, seed: int
           ) -> tuple[fit_runs.Runs, fit_runs.Runs]:
    """So many different runs, and others."""
    keys = sorted(set(data.keys))
    np.random.default_rng(seed).shuffle(keys)
    few = set(keys[:runs])
    fitted = [i for i, key in enumerate(data.keys) if key in few]
    others = [i for i, key in enumerate(data.keys) if key not in few]
    return data.some(fitted), data.some(others[:_MOST_TESTS])


def _errors(its: kinds.Predictor, data: fit_runs.Runs) -> tuple[float, float]:
    """Of pools and of tenants, fractions."""
    tenants = data.tenants
    return (quality.mre(data.y, its.many(data.vectors)),
            quality.mre(tenants.y, held_out.tenants_of(
                its, data.vectors[tenants.run], tenants.own)))


def _judged(measured: Mapping[str, Sequence[Sample]]) -> Iterator[str]:
    models = {name: _model(name, samples).telling
              for name, samples in measured.items()}
    found: dict[tuple[int, str], list[np.ndarray]] = {}
    yield ('device               runs: error of pools/of tenants, %, with a '
           'prior; without one')
    for name, samples in measured.items():
        data = fit_runs.runs(samples)
        others = [its for other, its in models.items() if other != name]
        said = []
        for runs in _RUNS:
            parts = [part for part in (_split(data, runs, seed)
                                       for seed in _SEEDS[:runs + 1])
                     if len(part[1].y) > 4]
            for which, library in ('with', others), ('without', ()):
                if not parts or not (runs or library):
                    continue
                its = 100 * np.mean([_errors(_fitted(few, library), rest)
                                     for few, rest in parts], axis=0)
                found.setdefault((runs, which), []).append(its)
                said.append(f'{runs}: ' * (which == 'with')
                            + f'{its[0]:.0f}/{its[1]:.0f}')
        yield f'{name:20} {" ".join(said)}'
    for (runs, which), its in found.items():
        pools, tenants = np.median(its, axis=0)
        yield (f'the median device, {runs} runs, {which} a prior: '
               f'{pools:.1f}/{tenants:.1f}')


def _volumes(rng: np.random.Generator, number: int) -> list[Workload]:
    return [Workload(float(rng.choice((0, 5, 30, 50, 70, 95, 100))),
                     float(rng.choice((4, 8, 16, 32, 64, 128))),
                     float(2 ** rng.uniform(0, 4))) for _ in range(number)]


def _minute(rng: np.random.Generator, volumes: Sequence[Workload]
            ) -> design.Run:
    """What volumes do in a minute: more or less than usual, some think."""
    return design.Run(tuple(dataclasses.replace(
        each, iodepth=max(1, round(each.iodepth * 2 ** rng.normal(0, 0.7))),
        think_time_us=float(rng.choice((0, 0, 200, 1000))))
        for each in volumes))


def _live() -> Iterator[str]:
    yield ('device: error of pools/of tenants, %, from half an hour of one '
           'pool, without a prior; of four pools, without one')
    for seed in range(_DEVICES):
        rng = np.random.default_rng(seed)
        ssd, said = devices.drawn(rng), []
        for pools in 1, 4:
            seen, later = [], []
            for _ in range(pools):
                its, new = _volumes(rng, 5), _volumes(rng, 3)
                seen += [_minute(rng, its) for _ in range(30)]
                later += [_minute(rng, others) for others in (
                    [*its[1:], new[0]], [*its, *new]) for _ in range(10)]
            few, rest = (fit_runs.runs(modeler.dataset(
                ssd, purpose, runs, seed).valid()) for purpose, runs in (
                    (modeler.Purpose.SHORT, seen),
                    (modeler.Purpose.TEST, later)))
            for library in prior.library(), ():
                pool, tenant = _errors(_fitted(few, library), rest)
                said.append(f'{100 * pool:.0f}/{100 * tenant:.0f}')
        yield f'{ssd.name} {" ".join(said)}'


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('what', choices=('fit', 'judge', 'live'))
    parser.add_argument('dataset', nargs='*', metavar='DATASET')
    options = parser.parse_args()
    measured = _devices(options.dataset)
    for line in {'fit': lambda: (), 'judge': lambda: _judged(measured),
                 'live': _live}[options.what]():
        print(line, flush=True)
    for name, samples in measured.items() if options.what == 'fit' else ():
        documents.write_json(_PRIORS / f'{name}.json',
                             _model(name, samples).to_json(), json.dumps)


if __name__ == '__main__':
    main()
