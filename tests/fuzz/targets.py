# SPDX-License-Identifier: Apache-2.0
"""The parsers of outside text, each as a function of bytes.

Those of our own files are here, those of what others say in
:mod:`tests.fuzz.edges`, :mod:`tests.fuzz.clouds`,
:mod:`tests.fuzz.programs` and :mod:`tests.fuzz.audits`.

A target returns, or raises SerifosError, or what its parser documents;
anything else is a fault. ``corpus/NAME/`` holds a few good inputs of each.
A new parser needs an entry in :data:`TARGETS` and a file there.
"""

from __future__ import annotations

from collections.abc import Callable
import functools
import importlib.util
import json

from serifos.cmd.model import fit as model_fit
from serifos import errors
from serifos.facts.dataset import FIGURES
from serifos.facts import strict_json
from serifos.facts.workload import Load
from serifos.facts.workload import Workload
from serifos.files import documents
from serifos.lab.relative.relation import Relation
from serifos.lab.relative.relation import RELATION_SCHEMA
from serifos.lab.tuning import tuner
from serifos.model.model import Model
from serifos.model import pool_models
from serifos.plan import bfd
from serifos.plan import outlook
from serifos.plan import problem
from serifos.plan import relieve
from serifos.plan import state
from serifos.report import cluster_text
from serifos.report import model_text as judged
from serifos.report import plan_text
from serifos.scheduler import pending
from serifos.scheduler import prediction_cache
from serifos.scheduler import view
from tests.fakes.settings import Limits
from tests.fuzz import arguments
from tests.fuzz import audits
from tests.fuzz import clouds
from tests.fuzz import edges
from tests.fuzz import files
from tests.fuzz import programs

_NEWCOMER = Workload(30, 16)

Target = Callable[[bytes], None]

FINE = (errors.SerifosError,)
"""What a target may raise."""


def _json(data: bytes) -> None:
    try:
        json.dumps(strict_json.loads(data), allow_nan=False).encode()
    except ValueError:
        pass


WORKLOADS = tuple(
    Workload(*pattern) for pattern in (
        (0, 4, 1, 100), (100, 1048576, 1048576, 0), (50, 0.001, 0.05, 50),
        (30, 16, 8, 100, 1e12, 1e12), (30, 0, 8, 100, 0, 0),
        (100, 64, 1024, 0, 2000, 4000)))


@functools.cache
def _loads() -> tuple[Load, ...]:
    alone = [Load.of(w) for w in WORKLOADS]
    return (Load(), *alone, sum(alone, Load()),
            sum(alone * 200, Load()), sum(alone, Load()) - alone[1])


def _finite(value: float) -> None:
    json.dumps([value, value * value], allow_nan=False)


def _model(data: bytes) -> None:
    import numpy as np
    model = documents.read_model(files.file_of(data))
    for load in _loads():
        for found in (model.predict(load), *model.interval(load),
                      model.plan(load)):
            if not found * found < float('inf'):
                raise AssertionError(f'{found} for {load}')
        model.extrapolates(load)
    for workload in WORKLOADS:
        model.outside(workload)
    its = pool_models.Fleet([model])
    with np.errstate(over='ignore', invalid='ignore'):
        many = its.latency(np.zeros(len(WORKLOADS), int),
                           its.loads(WORKLOADS))
    if not np.isfinite(many).all():
        raise AssertionError(f'{many}')
    for cell in model_fit.summary(model).values():
        getattr(cell, 'human_readable', cell.__str__)()
    judged.text(model).encode()
    json.dumps(model.to_json(), allow_nan=False).encode()


def _relation(data: bytes) -> None:
    relation = documents.read_document(
        files.file_of(data), 'relation', RELATION_SCHEMA,
        Relation.from_json)
    for workload in WORKLOADS:
        if workload.iops and workload.latency_us:
            relation.share(workload)
            for figure in relation.factors:
                relation.factor(figure, workload)
    json.dumps(relation.to_json(), allow_nan=False).encode()


def _dataset(data: bytes) -> None:
    dataset = documents.read_dataset(files.file_of(data))
    for sample in dataset.valid():
        for figure in FIGURES:
            sample.figure(figure)
        sum((Load.of(w) for w in sample.tenants), Load())
        json.dumps(sample.to_json(), allow_nan=False).encode()
    json.dumps(dataset.header.to_json(), allow_nan=False).encode()


@functools.cache
def _some_model() -> Model:
    return documents.read_model(files.CORPUS / 'model' / 'outstanding.json')


def _cluster(data: bytes) -> None:
    cluster = documents.read_cluster(files.file_of(data))
    cluster_text.text(cluster).encode()
    json.dumps(cluster.to_json(), allow_nan=False).encode()
    them = pool_models.Fleet([_some_model() if pool.model else None
                              for pool in cluster.pools])
    for planner in bfd.plan, relieve.plan:
        plan = planner(cluster, them, Limits())
        first = state.State.of(problem.Problem.of(
            cluster, them, Limits()))
        plan_text.text(outlook.of(
            plan, first, outlook.carried_out(first, plan), {}, {}), None,
            900.0).encode()
        json.dumps(plan.to_json(), allow_nan=False).encode()


def _pools(data: bytes) -> None:
    pools = documents.read_pools(files.file_of(data))
    json.dumps(pools.to_json(), allow_nan=False).encode()
    model = _some_model()
    seen = view.View(pools, {each.model: model for each in pools.devices})
    known = pending.Pending(3600.0, _NEWCOMER)
    known.renew(pools, 0.0)
    kept = prediction_cache.PredictionCache()
    kept.renew(seen)
    kept.of((_NEWCOMER,), [seen.place(pool.name, pool.model)
                           for pool in pools.pools], known, None, {})


def _plan(data: bytes) -> None:
    plan = documents.read_plan(files.file_of(data))
    json.dumps(plan.to_json(), allow_nan=False).encode()
    plan_text.of_steps(plan.moves, {}).encode()


def _tune(data: bytes) -> None:
    with tuner.opened(files.file_of(data), {'seed': 0}) as journal:
        journal.has('mars', 'latency_us', {'nnodes': 21})


def _workload(data: bytes) -> None:
    load = Load.of(model_fit.workload(files.text(data)))
    json.dumps(load.vector, allow_nan=False)


TARGETS: dict[str, Target] = {
    'strict_json': _json,
    'model': _model,
    'relation': _relation,
    'dataset': _dataset,
    'cluster': _cluster,
    'pools': _pools,
    'plan': _plan,
    'tune': _tune,
    'screening': edges.screening,
    'journal': edges.journal_rows,
    'ring': edges.of_ring,
    'workload': _workload,
    'levels': edges.levels,
    'vectors': edges.vectors,
    'arguments': arguments.arguments,
    'options': edges.options,
    'scheduler_options': edges.scheduler_options,
    'history_csv': edges.history_csv,
    'cinder': edges.cinder,
    'volumes': clouds.volumes,
    'nova': clouds.nova,
    'keystone': clouds.keystone,
    'extra_spec': edges.extra_spec,
    'refusal': edges.refusal,
    'exposition': edges.exposition,
    'prometheus': edges.of_prometheus,
    'gnocchi': edges.of_gnocchi,
    'sentences': edges.sentences,
    'fio': programs.fio,
    'fio_output': programs.kept,
    'lsblk': programs.devices,
    'lvm': programs.volume_group,
    'purge': programs.erasing,
    'findmnt': programs.mount,
    'mountinfo': programs.mounted,
}
"""Name → the parser, in the order in which they are run."""

if importlib.util.find_spec('watcher'):
    TARGETS['watcher'] = audits.audit
