# SPDX-License-Identifier: Apache-2.0
"""Many requests at once while both files change; run by test_crowd.

    python -m tests.unit.scheduler.crowd eventlet|native
"""

import sys

MODE = sys.argv[1]
if MODE == 'eventlet':
    import eventlet
    eventlet.monkey_patch()

import math  # noqa: E402
import threading  # noqa: E402

from cinder import objects  # noqa: E402
from oslo_config import cfg  # noqa: E402

objects.register_all()

from cinder.scheduler import filter_scheduler  # noqa: E402,F401
from cinder.scheduler import host_manager  # noqa: E402

from serifos.scheduler import filter as slos  # noqa: E402
from serifos.scheduler import judge  # noqa: E402
from serifos.scheduler.request import Request  # noqa: E402
from serifos.scheduler import weigher  # noqa: E402
from tests.unit.scheduler import files  # noqa: E402

NAMES = [f'node{i}@ssd#ssd' for i in range(6)]
THREADS, REQUESTS = 6, 60


def state(name: str) -> host_manager.PoolState:
    host, _, pool = name.partition('#')
    return host_manager.PoolState(
        host, None, {'serifos_model': 'ssd'}, pool)


def ask(number: int, made: files.Files, wrong: list[str]) -> None:
    for i in range(REQUESTS):
        name = f'{number}-{i}'
        properties = {'request_spec': {
            'operation': 'create_volume', 'volume_id': name,
            'volume_properties': {'size': 1}}}
        states = [state(name) for name in NAMES]
        passed = slos.SerifosFilter().filter_all(states, properties)
        weights = weigher.SerifosWeigher().weigh_objects(
            [weigher.weights.WeighedHost(one, 0.0) for one in passed],
            properties)
        if len(weights) != len(NAMES) or not all(
                math.isfinite(w) and w >= 0 for w in weights):
            wrong.append(f'{name}: {weights}')
        best = states[weights.index(max(weights))]
        best.allocated_capacity_gb += 1
        serifos = judge.shared(weigher.CONF)
        placement = serifos.observe([Request.of(properties)], states)
        serifos.record(placement, placement.candidates[states.index(best)])
        if i % 10 == 0:
            made.models(files.model('ssd', 10.0 + number))
            made.cluster(NAMES, [files.volume(f'{k}', NAMES[k % 6])
                                 for k in range(i)])


def main() -> None:
    wrong: list[str] = []
    with files.Files() as made:
        cfg.CONF([], project='cinder', default_config_files=[])
        for name, value in (('state_dir', made.dir),
                            ('models_dir', made.models_dir)):
            cfg.CONF.set_override(name, str(value), group='serifos')
        made.models(files.model('ssd'))
        made.cluster(NAMES)
        threads = [threading.Thread(target=ask, args=(i, made, wrong))
                   for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f'{MODE}: {THREADS * REQUESTS} requests, {len(wrong)} wrong',
          *wrong[:3])


if __name__ == '__main__':
    main()
