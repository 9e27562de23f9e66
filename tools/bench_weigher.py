# SPDX-License-Identifier: Apache-2.0
"""What does SerifosWeigher add to a request, beside CapacityWeigher?

    .venv-cinder29/bin/python tools/bench_weigher.py [--quick]

Run by ``tools/bench weigher``, inside a virtual environment with Cinder.
Real host states go through Cinder's own weight handler. Every pool holds
ten active volumes in cluster.json; a tenth of the pools has a volume on its
way. The median of the repetitions counts, in processor time.
"""

from __future__ import annotations

from collections.abc import Sequence
import logging
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

from serifos import cluster as cl  # noqa: E402
from serifos.scheduler import weigher  # noqa: E402
from serifos import store  # noqa: E402
from serifos import workload as wl  # noqa: E402

MODEL = 'intel-s3610'
EXAMPLE = (pathlib.Path(__file__).parents[1]
           / f'etc/serifos/examples/models/{MODEL}.json')
SIZES, REPEATS, VOLUMES = (10, 100, 1000), 60, 10
PLACING = {'request_spec': {
    'operation': 'create_volume', 'volume_id': 'newcomer',
    'volume_properties': {'size': 10}, 'volume_type': {
        'name': 'gold', 'extra_specs': {'serifos:write_pct': '30'}}}}
EXTENDING = {'request_spec': {'operation': 'extend_volume'}}


def state(number: int) -> host_manager.PoolState:
    """A pool with its ten volumes and, one in ten, another on its way."""
    made = host_manager.PoolState(
        f'node{number}@ssd', None, {'serifos_model': MODEL}, 'ssd')
    made.total_capacity_gb = 10000
    made.free_capacity_gb = 9000 - number
    made.allocated_capacity_gb = 10 * VOLUMES + 10 * (number % 10 == 0)
    made.provisioned_capacity_gb = made.allocated_capacity_gb
    return made


def cluster(pools: int) -> cl.Cluster:
    names = [state(i).host for i in range(pools)]
    return cl.Cluster(tuple(map(cl.Pool, names)), tuple(
        cl.Volume(f'{i}-{k}', name, 10, workload=wl.Workload(
            (7 * i + 11 * k) % 100, 4 << (i + k) % 6, 8))
        for i, name in enumerate(names) for k in range(VOLUMES)))


Case = tuple[Any, dict[str, Any]]
"""A weigher's class and the request that it weighs."""


def medians_us(handler: weights.OrderedHostWeightHandler, states: list[Any],
               cases: Sequence[Case], repeats: int) -> list[float]:
    """Processor time of each case; in turns, so that they fare alike."""
    taken: list[list[float]] = [[] for _ in cases]
    for _ in range(repeats):
        for times, (kind, properties) in zip(taken, cases):
            start = time.thread_time()
            handler.get_weighed_objects([kind], states, properties)
            times.append(time.thread_time() - start)
    return [statistics.median(times) * 1e6 for times in taken]


def main() -> None:
    repeats = REPEATS // 6 if '--quick' in sys.argv[1:] else REPEATS
    logging.disable(logging.CRITICAL)
    cfg.CONF([], project='cinder', default_config_files=[])
    handler = weights.OrderedHostWeightHandler('cinder.scheduler.weights')
    print('pools  volumes  first ms  CapacityWeigher us  SerifosWeigher us  '
          'ratio  neutral us')
    with tempfile.TemporaryDirectory() as name:
        store.write_model(pathlib.Path(name, f'{MODEL}.json'),
                          store.read_model(EXAMPLE))
        for option in ('state_dir', 'models_dir'):
            cfg.CONF.set_override(option, name, group='serifos')
        for pools in SIZES:
            store.write_cluster(
                pathlib.Path(name, 'cluster.json'), cluster(pools))
            states = [state(i) for i in range(pools)]
            placing = weigher.SerifosWeigher, PLACING
            first, = medians_us(handler, states, [placing], 1)
            stock, ours, neutral = medians_us(handler, states, [
                (capacity.CapacityWeigher, PLACING), placing,
                (weigher.SerifosWeigher, EXTENDING)], repeats)
            print(f'{pools:5} {pools * VOLUMES:8} {first / 1e3:9.1f} '
                  f'{stock:19.0f} {ours:18.0f} {ours / stock:6.2f} '
                  f'{neutral:11.0f}', flush=True)
    print('first: the request that finds new files and reads them.')


if __name__ == '__main__':
    main()
