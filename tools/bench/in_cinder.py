# SPDX-License-Identifier: Apache-2.0
"""What SerifosWeigher and SerifosScheduler add to a request.

    .venv-cinder29/bin/python tools/bench/in_cinder.py [--quick] \
        [--only NAME] MODELS

Section ``weigher`` of tools/bench runs this inside a virtual environment
with Cinder; MODELS is a directory with a model of each kind. All is
processor time over that of CapacityWeigher in the same process, through
Cinder's own weight handler with real host states; a driver's is what it
does beside the weighers. Medians count; each pool holds eight active
volumes in cluster.json, and each request is placed, so the next one finds
one more volume on its way.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import itertools
import logging
import os
import pathlib
import statistics
import sys
import tempfile
import time
from typing import Any
import warnings

warnings.simplefilter('ignore')

from cinder import objects  # noqa: E402
from oslo_config import cfg  # noqa: E402

objects.register_all()

from cinder.scheduler import filter_scheduler  # noqa: E402,F401
from cinder.scheduler import host_manager  # noqa: E402
from cinder.scheduler import weights  # noqa: E402
from cinder.scheduler.weights import capacity  # noqa: E402

from serifos.facts import cluster  # noqa: E402
from serifos.facts import workload  # noqa: E402
from serifos.facts.workload import Workload  # noqa: E402
from serifos.files import documents  # noqa: E402
from serifos.model import pool_sums  # noqa: E402
from serifos.scheduler import driver  # noqa: E402
from serifos.scheduler import judge  # noqa: E402
from serifos.scheduler import metrics  # noqa: E402
from serifos.scheduler.request import Request  # noqa: E402
from serifos.scheduler import weigher  # noqa: E402

SIZES, VOLUMES, PENDING = (10, 100, 1000, 10000), 8, 10000
KINDS = ('consolidation', 'outstanding', 'queueing', 'tenant', 'lrm', 'mars',
         'cart', 'm5', 'cubist')
LARGE = ('consolidation', 'tenant')
HINTS = ('none', 'seen', 'unseen')
HANDLER = weights.OrderedHostWeightHandler('cinder.scheduler.weights')
PATTERNS = itertools.cycle(itertools.product(
    range(0, 101, 5), (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128),
    (1, 2, 4, 8, 16)))

Run = Callable[[dict[str, Any]], Any]


def state(number: int, model: str) -> host_manager.PoolState:
    made = host_manager.PoolState(
        f'node{number}@ssd', None, {'serifos_model': model}, 'ssd')
    made.total_capacity_gb = 10000
    made.free_capacity_gb = 9000 - number % 100
    made.allocated_capacity_gb = 10 * VOLUMES
    made.provisioned_capacity_gb = made.allocated_capacity_gb
    return made


def volume(pool: int, number: int, host: str) -> cluster.Volume:
    return cluster.Volume(
        f'{pool:06}-{number:04}-4abc-8def-0123456789ab', host, 10,
        volume_type='gold', workload=Workload(
            (7 * pool + 11 * number) % 101, 4 << (pool + number) % 6,
            1 + (3 * pool + number) % 8))


class Cloud:
    """Pools and volumes, their file, and one process of cinder-scheduler."""

    def __init__(self, directory: pathlib.Path, models: pathlib.Path,
                 model: str, pools: int, volumes: int = VOLUMES) -> None:
        self.path = directory / f'{model}-{pools}-{volumes}'
        self.path.mkdir(exist_ok=True)
        self.models, _ = documents.latency_models(models, [model])
        self.states = [state(i, model) for i in range(pools)]
        self.cluster = cluster.Cluster(
            tuple(cluster.Pool(each.host, model) for each in self.states),
            tuple(volume(i, k, each.host)
                  for i, each in enumerate(self.states)
                  for k in range(volumes)))
        self.write()
        judge.forget()
        cfg.CONF.set_override('state_dir', str(self.path), group='serifos')
        cfg.CONF.set_override('models_dir', str(models), group='serifos')
        self.number = 0

    def write(self) -> None:
        """What serifos-balancer observes."""
        documents.write_pools(self.path / 'pools.json', pool_sums.of(
            self.cluster, self.models, workload.ACTIVE_FLOOR, {}))

    def ask(self, hints: dict[str, str]) -> list[Any]:
        serifos = judge.shared(cfg.CONF)
        return serifos.judge(serifos.observe(
            [Request.of(asked(0, hints))], self.states))

    def place(self, properties: dict[str, Any], where: Any) -> None:
        serifos = judge.shared(cfg.CONF)
        placement = serifos.observe([Request.of(properties)], [where])
        serifos.record(placement, placement.candidates[0])

    def pending(self, number: int) -> None:
        """So many volumes on their way, each by a hint of its own."""
        for i in range(number):
            properties = asked(f'pending-{i}', hint())
            self.place(properties, self.states[i % len(self.states)])


def asked(volume_id: object, hints: dict[str, str]) -> dict[str, Any]:
    return {'scheduler_hints': hints, 'request_spec': {
        'operation': 'create_volume', 'volume_id': str(volume_id),
        'volume_properties': {'size': 10},
        'volume_type': {'name': 'silver', 'extra_specs': {}}}}


def hint() -> dict[str, str]:
    """A hint that was not given yet."""
    return dict(zip(('serifos:write_pct', 'serifos:block_kib',
                     'serifos:iodepth'), map(str, next(PATTERNS))))


def taken_us(run: Run, properties: dict[str, Any]) -> tuple[float, Any]:
    start = time.thread_time()
    found = run(properties)
    return (time.thread_time() - start) * 1e6, found


def ratios(cloud: Cloud, repeats: int) -> tuple[float, dict[str, float]]:
    """CapacityWeigher in us, and for each way to ask the ratios to it."""
    times: dict[str, list[float]] = {}
    states = cloud.states
    seen = hint()

    def stock(properties: dict[str, Any]) -> Any:
        return HANDLER.get_weighed_objects(
            [capacity.CapacityWeigher], states, properties)

    def ours(properties: dict[str, Any]) -> Any:
        return HANDLER.get_weighed_objects(
            [weigher.SerifosWeigher], states, properties)

    def ranked(properties: dict[str, Any]) -> Any:
        return driver.ranked(weighed, [properties])

    for _ in range(repeats):
        weighed = stock({})
        times.setdefault('stock', []).append(taken_us(stock, {})[0])
        for name, run in (('weigher', ours), ('driver', ranked)):
            for how in HINTS:
                cloud.number += 1
                properties = asked(cloud.number, {
                    'none': {}, 'seen': seen, 'unseen': hint()}[how])
                us, found = taken_us(run, properties)
                times.setdefault(f'{name} {how}', []).append(us)
                cloud.place(properties, found[0].obj)
    base = statistics.median(times.pop('stock'))
    return base, {name: statistics.median(several) / base
                  for name, several in times.items()}


def by_kind(directory: pathlib.Path, models: pathlib.Path,
            quick: bool) -> Iterator[str]:
    yield ('                        CapacityWeigher  weigher               '
           ' driver')
    yield ('kind            pools                us  ' + '  '.join(
        f'{how:>6}' for how in HINTS * 2))
    for kind in KINDS:
        for pools in SIZES if kind in LARGE and not quick else SIZES[:3]:
            cloud = Cloud(directory, models, kind, pools)
            base, found = ratios(cloud, 8 if quick else max(
                10, min(30, 10000 // pools)))
            yield row(kind, pools, base, found)


def row(kind: str, pools: int, base: float, found: dict[str, float]) -> str:
    return f'{kind:14}  {pools:5}  {base:16.0f}  ' + '  '.join(
        f'{found[f"{name} {how}"]:6.2f}'
        for name in ('weigher', 'driver') for how in HINTS)


def pending(directory: pathlib.Path, models: pathlib.Path,
            quick: bool) -> Iterator[str]:
    yield f'With {PENDING} volumes on their way, each by a hint of its own:'
    for kind in LARGE:
        for pools in SIZES[1:3]:
            cloud = Cloud(directory, models, kind, pools)
            cloud.pending(PENDING)
            base, found = ratios(cloud, 8 if quick else 15)
            yield row(kind, pools, base, found)


def with_metrics(directory: pathlib.Path, models: pathlib.Path,
                 quick: bool) -> Iterator[str]:
    yield ('With metrics_dir, over the same without it, and a request in '
           'which the file is written:')
    yield 'kind            pools  counted  written'
    where = directory / 'metrics'
    where.mkdir()
    for pools in SIZES[:3]:
        cloud = Cloud(directory, models, 'tenant', pools)
        times: dict[str, list[float]] = {}
        for name in ('without', 'counted', 'written') * 3:
            with told(None if name == 'without' else where,
                      0.0 if name == 'written' else 1e9):
                for number in range(8 if quick else 40):
                    cloud.number += 1
                    us, _ = taken_us(
                        lambda properties: HANDLER.get_weighed_objects(
                            [weigher.SerifosWeigher], cloud.states,
                            properties), asked(cloud.number, {}))
                    if number:  # the first one makes the file
                        times.setdefault(name, []).append(us)
        base = statistics.median(times['without'])
        yield f'{"tenant":14}  {pools:5}  ' + '  '.join(
            f'{statistics.median(times[name]) / base:7.3f}'
            for name in ('counted', 'written'))


@contextlib.contextmanager
def told(directory: pathlib.Path | None, every_s: float) -> Iterator[None]:
    """Metrics for a directory, or none; the judge and its caches stay."""
    usual, metrics.EVERY_S = metrics.EVERY_S, every_s
    metrics.use(directory and str(directory))
    try:
        yield
    finally:
        metrics.EVERY_S = usual
        metrics.use(None)


def new_file(directory: pathlib.Path, models: pathlib.Path,
             quick: bool) -> Iterator[str]:
    yield ('A new pools.json: the request that reads it, and those that '
           'predict all pools again:')
    yield ('kind            pools     KiB  reading ms  requests  median ms  '
           'CapacityWeigher ms')
    for kind in LARGE:
        for pools in SIZES[:3] if quick else SIZES:
            cloud = Cloud(directory, models, kind, pools)
            size = (cloud.path / 'pools.json').stat().st_size
            cloud.ask({})
            cloud.write()
            stock = statistics.median(taken_us(
                lambda properties: HANDLER.get_weighed_objects(
                    [capacity.CapacityWeigher], cloud.states, properties),
                {})[0] for _ in range(5))
            times, before = [], None
            while (found := taken_us(cloud.ask, {}))[1] != before:
                times.append(found[0])
                before = found[1]
            first, *rest = times
            yield (f'{kind:14}  {pools:5}  {size / 1024:6.0f}  '
                   f'{first / 1e3:10.1f}  {len(rest):8}  '
                   f'{statistics.median(rest or [0]) / 1e3:9.1f}  '
                   f'{stock / 1e3:18.1f}')


def endurance(directory: pathlib.Path, models: pathlib.Path,
              quick: bool) -> Iterator[str]:
    yield ('Requests that are placed, each with a hint of its own, and a new '
           'pools.json ten times:')
    yield 'kind            pools  requests  MiB in tenths of them'
    for pools, requests in ((100, 2000), (1000, 200)) if quick else (
            (100, 100_000), (10_000, 1000)):
        cloud, sizes = Cloud(directory, models, 'tenant', pools), []
        for number in range(requests):
            if not number % (requests // 10):
                cloud.write()
            properties = asked(number, hint())
            found = HANDLER.get_weighed_objects(
                [weigher.SerifosWeigher], cloud.states, properties)
            cloud.place(properties, found[0].obj)
            if not (number + 1) % (requests // 10):
                sizes.append(memory_mib())
        yield (f'{"tenant":14}  {pools:5}  {requests:8}  '
               + ' '.join(f'{size:.0f}' for size in sizes))


def memory_mib() -> float:
    """Resident memory of this process, MiB."""
    pages = int(pathlib.Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 2**20


def main() -> None:
    quick = '--quick' in sys.argv[1:]
    only = sys.argv[sys.argv.index('--only') + 1] if (
        '--only' in sys.argv) else None
    models = pathlib.Path(sys.argv[-1])
    logging.disable(logging.CRITICAL)
    cfg.CONF([], project='cinder', default_config_files=[])
    with tempfile.TemporaryDirectory() as name:
        for section in (by_kind, pending, with_metrics, new_file,
                        endurance):
            if only not in (None, section.__name__):
                continue
            for line in section(pathlib.Path(name), models, quick):
                print(line, flush=True)


if __name__ == '__main__':
    main()
