# SPDX-License-Identifier: Apache-2.0
"""Small histories, pools and models whose answers the tests know."""

import json

import numpy as np

from serifos.facts.cluster import Pool
from serifos.lab.backtest.rates import Rates

BEGIN, STEP_S = 1736726400.0, 300.0

MODEL = {
    'schema': 'serifos-model/1', 'kind': 'outstanding', 'name': 'FAST',
    'predicts': 'latency_us', 'dataset': {'sha256': '0' * 64, 'runs': 30},
    'device': {'model': 'FAST'},
    'range': {'write_pct': [0, 100], 'block_kib': [4, 256],
              'iodepth': [1, 32], 'random_pct': [0, 100], 'count': [1, 10]},
    'quality': {'mre': 0.1, 'mre_by_count': {}, 'adj_r2': {'any': 0.9},
                'interval': [-0.3, 0.3]},
    'parameters': {'intercept_us': 60.0, 'sum_q_r': 5.0, 'sum_q_w': 10.0,
                   'sum_q_s_r': 0.4, 'sum_q_s_w': 0.9}}


def models(directory, *names):
    """A directory with a model of each name."""
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / f'{name}.json').write_text(
            json.dumps({**MODEL, 'name': name}))
    return directory


def series(rates, kib=64.0, writes=0.3, step_s=STEP_S):
    """Of requests per second, float[volumes, slots], NaN for none."""
    rates = np.array(rates, float)
    values = np.stack([rates * (1 - writes), rates * writes, rates * kib,
                       rates, np.full_like(rates, np.nan)], axis=2)
    return Rates(BEGIN, step_s, tuple(
        f'v{i}' for i in range(len(rates))), values)


def pools(number, gib=1000.0, model='FAST'):
    return tuple(Pool(f'h{i}@sim#sim', model=model, total_gib=gib,
                      free_gib=gib, backend_name='sim')
                 for i in range(number))
