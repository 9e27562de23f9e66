# SPDX-License-Identifier: Apache-2.0
"""Clouds of any size, as serifos-balancer observes them."""

import random
import time

from serifos.facts import times


def cloud(pools, seed=0, volumes=0):
    """A cluster.json whose first pools are slow; every tenth of them.

    At least so many volumes, of which those that are added do little.

    Hosts have their domains, and names are as long as those of people's
    machines, which differ at their ends.
    """
    rng = random.Random(seed)
    names = [f'stor{i:03}.rack-{i % 3}.dc1.cloud.example.org@lvm-ssd#lvm-ssd'
             for i in range(pools)]
    doc = {'schema': 'serifos-cluster/1', 'observed_at': times.text(
        time.time()), 'volumes': [], 'pools': [
            {'name': name, 'model': rng.choice(
                ('intel-s3500', 'intel-s3610')), 'state': 'up',
             'total_gib': 4000, 'free_gib': rng.uniform(300, 2500)}
            for name in names]}
    for i, name in enumerate(names):
        for n in range(4 if i % 10 == 0 else rng.randint(1, 2)):
            doc['volumes'].append({
                'id': f'{rng.getrandbits(128):032x}', 'pool': name,
                'name': f'production-orders-postgresql-data-{i}-{n}',
                'project_id': 'p' * 32,
                'server': f'server-{i}', 'volume_type': 'gold',
                'size_gib': rng.choice((20, 100)), 'max_latency_us': 5000,
                **({'movable': 'a snapshot holds it',
                    'movable_code': 'snapshots'} if n == 3 else
                   {'movable': True}),
                'workload': {
                    'write_pct': 30, 'iodepth': rng.uniform(0.15, 0.9),
                    'block_kib': 128 if i % 10 == 0 else 8}})
    for n in range(volumes - len(doc['volumes'])):
        doc['volumes'].append({
            'id': f'{rng.getrandbits(128):032x}', 'pool': rng.choice(names),
            'name': f'production-wiki-mariadb-data-{n}',
            'project_id': f'{rng.getrandbits(128):032x}',
            'server': f'other-{n}', 'volume_type': 'silver', 'size_gib': 50,
            'movable': True, 'workload': {
                'write_pct': 30, 'iodepth': rng.uniform(0.005, 0.02),
                'block_kib': 8, 'iops': 20.0, 'latency_us': 600.0}})
    return doc
