# SPDX-License-Identifier: Apache-2.0
"""Speed, memory and optimality of the planners, and the scheduler's cost.

    .venv/bin/python tools/bench [--quick] [SECTION ...]

Sections: ``speed`` plans random clusters of three sizes, each in a process
of its own, beside plain-Python transcriptions of the paper's Algorithm 1,
one pass as printed and passes by our rules (less the second choices that
bfd ends with), and fits how the time grows;
``optimum`` holds small plans against the least possible worst latency,
found by HiGHS; ``weigher`` holds SerifosWeigher and SerifosScheduler against
CapacityWeigher in a real Cinder, the newest that ``tools/test cinder``
installed. Without a section it runs them all, in a quarter of an hour.
The models are those of the paper's Table 6, the volumes those of its
Eq. 17-19; their patterns are blurred for ``speed``, since measured ones are
never alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent import futures
import dataclasses
import itertools
import math
import multiprocessing
import pathlib
import random
import resource
import subprocess
import tempfile
import time
from typing import Any

import numpy as np
from scipy import optimize
from scipy import sparse

from serifos.facts import cluster as cl
from serifos.facts import workload as wl
from serifos.files import documents
from serifos.lab.sim import devices
from serifos.lab.sim import modeler
from serifos.model import kinds
from serifos.model import model as mm
from serifos.model import pool_models
from serifos.plan import bfd
from serifos.plan import capacity
from serifos.plan import limits as lm
from serifos.plan import plan as pl
from serifos.plan import relieve
from serifos.plan import score

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / 'etc/serifos/examples/models'
PLANNERS = {'bfd': bfd.plan, 'relieve': relieve.plan}
WRITE_PCT = (5, 30, 50, 70, 95)
BLOCK_KIB = (4, 8, 16, 32, 64, 128, 256)
SIZE_GIB = (30, 60, 90, 120)
SIZES = ((1_000, 50), (10_000, 200), (100_000, 1_000))
ONCE, PLAIN = 'algorithm 1, one pass', 'bfd in plain Python'
MILP_SECONDS = 60


def models() -> tuple[mm.Model, mm.Model]:
    """The paper's two SSDs, as if trained on all that is asked of them.

    Beyond its range a model is planned with by its upper end, which no
    linear programme says.
    """
    wide = {'write_pct': (0, 100), 'block_kib': (0, 1024)}
    return tuple(dataclasses.replace(
        documents.read_model(EXAMPLES / f'intel-{name}.json'), range=wide)
        for name in ('s3500', 's3610'))


def make_cluster(volumes: int, pools: int, seed: int, blur: bool = False,
                 by_capacity: bool = False) -> cl.Cluster:
    """Volumes of Eq. 17-19 on three fifths S3500, two fifths S3610."""
    rng = random.Random(seed)
    gib = 2 * sum(SIZE_GIB) / len(SIZE_GIB) * volumes / pools
    cluster = cl.Cluster(tuple(
        cl.Pool(f'node{i}', 's3500' if i % 5 < 3 else 's3610', gib, gib)
        for i in range(pools)), ())
    made = [cl.Volume(f'{i:06}', rng.choice(cluster.pools).name,
                      rng.choice(SIZE_GIB), workload=wl.Workload(
                          rng.choice(WRITE_PCT) + blur * rng.random(),
                          rng.choice(BLOCK_KIB) + blur * rng.random()))
            for i in range(volumes)]
    if not by_capacity:
        return dataclasses.replace(cluster, volumes=tuple(made))
    for volume in made:
        where = capacity.place(volume, cluster)
        assert where is not None, 'the pools hold twice the volumes'
        cluster = cluster.place(volume, where)
    return cluster


def make_fleet(cluster: cl.Cluster) -> pool_models.Fleet:
    small, large = models()
    return pool_models.Fleet([small if pool.model == 's3500' else large
                              for pool in cluster.pools])


def plan(planner: str, cluster: cl.Cluster, limits: lm.Limits) -> pl.Plan:
    known = make_fleet(cluster)
    return PLANNERS[planner](cluster, known.load, known.latency, limits)


class Host:
    """A pool as the paper's Algorithm 1 keeps it: three sums."""

    def __init__(self, pool: cl.Pool, model: mm.Model) -> None:
        rows = map(model.predictor.row, range(7))
        self.rows = [tuple(row.get(term, 0.0) for term in (
            'intercept_us', 'sum_write_pct', 'sum_block_kib'))
            for row in rows]
        self.free_capacity = pool.free_gib
        self.wklds, self.wr_sum, self.bs_sum = 0, 0.0, 0.0

    def add(self, workload: wl.Workload, sign: int = 1) -> None:
        self.wklds += sign
        self.wr_sum += sign * workload.write_pct
        self.bs_sum += sign * workload.block_kib

    def predict(self) -> float:
        return self.predict_perf(0, 0.0, 0.0) if self.wklds else 0.0

    def predict_perf(self, more: int, write_pct: float,
                     block_kib: float) -> float:
        intercept, wr_co, bs_co = self.rows[min(6, self.wklds + more)]
        return max(0.0, intercept + wr_co * (self.wr_sum + write_pct)
                   + bs_co * (self.bs_sum + block_kib))


def algorithm_1(cluster: cl.Cluster, limits: lm.Limits | None) -> int:
    """The paper's Algorithm 1 in plain Python, a volume lifted off first.

    :param limits: None for one pass that accepts every move, as printed;
        else passes by our rules, until one moves nothing
    :returns: the migrations it schedules
    """
    known = dict(zip(('s3500', 's3610'), models()))
    hosts = [Host(pool, known[pool.model]) for pool in cluster.pools]
    index = {pool.name: i for i, pool in enumerate(cluster.pools)}
    home = {v.id: index[v.pool] for v in cluster.volumes}
    for volume in cluster.volumes:
        hosts[home[volume.id]].add(volume.workload)
    latency = [host.predict() for host in hosts]
    queue = sorted(cluster.volumes,
                   key=lambda v: (-v.workload.block_kib, v.id))
    migrations, moved = 0, True
    while moved:
        moved = False
        for volume in queue:
            current, workload = home[volume.id], volume.workload
            write_pct, block_kib = workload.write_pct, workload.block_kib
            best, best_perf = current, latency[current]
            for i, host in enumerate(hosts):
                if i == current or host.free_capacity < volume.size_gib:
                    continue
                perf = host.predict_perf(1, write_pct, block_kib)
                if perf < best_perf:
                    best, best_perf = i, perf
            if best == current:
                continue
            hosts[current].add(workload, -1)
            then = list(latency)
            then[current], then[best] = hosts[current].predict(), best_perf
            if limits and not limits.accepts(judged(latency), judged(then)):
                hosts[current].add(workload)
                continue
            hosts[best].add(workload)
            hosts[best].free_capacity -= volume.size_gib
            home[volume.id], latency = best, then
            migrations, moved = migrations + 1, limits is not None
    return migrations


def judged(latency_us: list[float]) -> score.Score:
    """The figures of acceptance, in plain Python."""
    mean = sum(latency_us) / len(latency_us)
    return score.Score(max(latency_us), mean, sum(
        (x - mean) ** 2 for x in latency_us) / len(latency_us))


def optimum(cluster: cl.Cluster,
            seconds: float = MILP_SECONDS) -> tuple[float, float]:
    """The least possible worst latency, and a bound that proves it, µs.

    Disaggregated by count: x[v, h, q] is volume v on host h while h holds
    the count q, y[h, q] says that it does. Counts above 5 share the 5+ row,
    so they share a q. T, the worst latency, is the last variable.
    """
    n, known = len(cluster.volumes), dict(zip(('s3500', 's3610'), models()))
    least = np.array([0, 1, 2, 3, 4, 5, 6])
    most = np.array([0, 1, 2, 3, 4, 5, n])
    hosts, classes = len(cluster.pools), len(least)
    x = np.arange(n * hosts * classes).reshape(n, hosts, classes)
    y = x.size + np.arange(hosts * classes).reshape(hosts, classes)
    worst = x.size + y.size
    rows: list[tuple[dict[int, float], float, float]] = []
    for v in range(n):  # every volume lives once
        rows.append(({i: 1.0 for i in x[v].flat}, 1, 1))
    for h, (one, two) in enumerate(itertools.pairwise(cluster.pools)):
        if one.model == two.model:  # of equal hosts the first holds most
            rows.append(({**{i: 1.0 for i in x[:, h].flat},
                          **{i: -1.0 for i in x[:, h + 1].flat}}, 0, np.inf))
    for h, pool in enumerate(cluster.pools):
        predictor = known[pool.model].predictor
        rows.append(({i: 1.0 for i in y[h]}, 1, 1))
        rows.append(({x[v, h, q]: volume.size_gib for q in range(classes)
                      for v, volume in enumerate(cluster.volumes)},
                     -np.inf, pool.total_gib))
        latency = {worst: -1.0}
        for q in range(classes):
            held = {i: 1.0 for i in x[:, h, q]}
            rows.append(({**held, y[h, q]: -float(least[q])}, 0, np.inf))
            rows.append(({**held, y[h, q]: -float(most[q])}, -np.inf, 0))
            row = predictor.row(q) if q else {}
            latency[y[h, q]] = row.get('intercept_us', 0.0)
            for v, volume in enumerate(cluster.volumes):
                latency[x[v, h, q]] = (
                    row.get('sum_write_pct', 0.0) * volume.workload.write_pct
                    + row.get('sum_block_kib', 0.0)
                    * volume.workload.block_kib)
                rows.append(({x[v, h, q]: 1.0, y[h, q]: -1.0}, -np.inf, 0))
        rows.append((latency, -np.inf, 0))
    matrix = sparse.csr_array((
        [value for row, _, _ in rows for value in row.values()],
        ([r for r, (row, _, _) in enumerate(rows) for _ in row],
         [int(i) for row, _, _ in rows for i in row])),
        shape=(len(rows), worst + 1))
    found = optimize.milp(
        np.eye(1, worst + 1, worst)[0],
        constraints=optimize.LinearConstraint(
            matrix, [low for _, low, _ in rows], [top for _, _, top in rows]),
        integrality=np.append(np.ones(worst), 0),
        bounds=optimize.Bounds(0, np.append(np.ones(worst), np.inf)),
        options={'time_limit': seconds, 'mip_rel_gap': 1e-3})
    return found.fun, found.mip_dual_bound


def _timed(work: str, volumes: int, pools: int,
           min_gain: float) -> dict[str, Any]:
    """One case, in a process of its own."""
    cluster = make_cluster(volumes, pools, seed=0, blur=True)
    limits = lm.Limits(min_gain)
    start = time.process_time()
    if work in PLANNERS:
        moves = len(plan(work, cluster, limits).moves)
    else:
        moves = algorithm_1(cluster, None if work == ONCE else limits)
    return {'seconds': time.process_time() - start, 'moves': moves,
            'peak_mib': resource.getrusage(
                resource.RUSAGE_SELF).ru_maxrss / 1024}


def _apart(*arguments: Any) -> dict[str, Any]:
    with futures.ProcessPoolExecutor(
            1, multiprocessing.get_context('spawn')) as one:
        return one.submit(_timed, *arguments).result()


def speed(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield ('volumes  pools  min_gain  planner                seconds  MiB  '
           'moves  plain Python takes')
    growth: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for volumes, pools in SIZES[:2] if quick else SIZES:
        yield _line(volumes, pools, math.nan, ONCE,
                    _apart(ONCE, volumes, pools, 0.0))
        for gain in (0.05, 0.001):
            patient = gain == 0.05 or pools < SIZES[-1][1]  # else minutes
            plain = _apart(PLAIN, volumes, pools, gain) if patient else None
            if plain:
                yield _line(volumes, pools, gain, PLAIN, plain)
            for planner in PLANNERS:
                found = _apart(planner, volumes, pools, gain)
                yield _line(volumes, pools, gain, planner, found,
                            plain if planner == 'bfd' else None)
                growth.setdefault((planner, gain), []).append((
                    math.log(volumes * pools), math.log(found['seconds'])))
    yield ''
    for (planner, gain), points in growth.items():
        exponent = np.polyfit(*zip(*points), 1)[0]
        yield (f'{planner} at min_gain {gain:g}: seconds grow with '
               f'(volumes x pools)^{exponent:.2f}')
    yield ('Seconds of one processor, without the making of the cluster; '
           'MiB: peak of the whole process.')


def _line(volumes: int, pools: int, gain: float, work: str,
          found: dict[str, Any], plain: dict[str, Any] | None = None) -> str:
    ratio = f'{plain["seconds"] / found["seconds"]:.1f} times as long' \
        if plain else ''
    shown = '' if math.isnan(gain) else f'{gain:.3f}'
    return (f'{volumes:7} {pools:6}  {shown:>8}  {work:21} '
            f'{found["seconds"]:8.2f} {found["peak_mib"]:4.0f} '
            f'{found["moves"]:6}  {ratio}').rstrip()


def optimality(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    yield ('volumes  pools  cases  proved to  HiGHS s   '
           'before      bfd  relieve  relieve to the end')
    for volumes, cases in ((16, 3),) if quick else ((16, 10), (30, 3)):
        over, slack, taken = [], [], []
        for seed in range(cases):
            cluster = make_cluster(volumes, 5, seed, by_capacity=True)
            start = time.perf_counter()
            best, bound = optimum(cluster)
            taken.append(time.perf_counter() - start)
            slack.append(best / bound - 1)
            plans = [plan('bfd', cluster, lm.Limits()),
                     plan('relieve', cluster, lm.Limits()),
                     plan('relieve', cluster, lm.Limits(max_moves=10**6))]
            over.append([made / best - 1 for made in (
                plans[0].max_us.before, *(p.max_us.after for p in plans))])
        mean = 100 * np.mean(over, axis=0)
        yield (f'{volumes:7} {5:6} {cases:6} {100 * max(slack):8.2f} % '
               f'{np.mean(taken):8.1f}  {mean[0]:5.1f} %  {mean[1]:5.1f} %  '
               f'{mean[2]:5.1f} % {mean[3]:18.1f} %')
    yield ('Worst latency above the least possible, mean over the cases; '
           'volumes placed by capacity.')


def weigher(quick: bool) -> Iterator[str]:
    """Lines of the section."""
    found = sorted(ROOT.glob('.venv-cinder*/bin/python'))
    if not found:
        yield 'There is no Cinder here; run tools/test cinder first.'
        return
    yield f'In {found[-1].parents[1].name}:'
    with tempfile.TemporaryDirectory() as models:
        fit_all(pathlib.Path(models))
        yield from subprocess.run(
            [found[-1], pathlib.Path(__file__).with_name('in_cinder.py'),
             *['--quick'] * quick, models], check=True,
            stdout=subprocess.PIPE, text=True).stdout.splitlines()


def fit_all(directory: pathlib.Path) -> None:
    """A model of each kind of a simulated device, for up to ten tenants.

    Their range is widened to depths that the runs did not have.
    """
    job, = modeler.jobs(devices.SSD1, modeler.Purpose.TEST,
                        modeler.tests(0, 20, 60), 0, size=1000)
    runs = modeler.measure(job)
    for kind in kinds.names():
        model = modeler.built(kind, devices.SSD1, runs)
        documents.write_model(directory / f'{kind}.json', dataclasses.replace(
            model, name=kind, range={
                **model.range, 'write_pct': (0, 100), 'iodepth': (0, 64),
                'block_kib': (1, 256)}))


SECTIONS = {'speed': speed, 'optimum': optimality, 'weigher': weigher}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('section', nargs='*', metavar='SECTION',
                        help=f'{", ".join(SECTIONS)} (default: all)')
    parser.add_argument('--quick', action='store_true',
                        help='smaller sizes, fewer cases: about a minute')
    options = parser.parse_args(argv)
    unknown = set(options.section) - set(SECTIONS)
    if unknown:
        parser.error(f'there is no section {sorted(unknown)[0]}; there are '
                     f'{", ".join(SECTIONS)}')
    for name in options.section or SECTIONS:
        print(f'== {name}', flush=True)
        for line in SECTIONS[name](options.quick):
            print(line, flush=True)


if __name__ == '__main__':
    main()
