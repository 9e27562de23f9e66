# SPDX-License-Identifier: Apache-2.0
"""Closed networks as line-solver solves them, for ``line_solver.json``.

Run in an environment of its own (``pip install line-solver==3.0.8.0``):

    python tests/unit/papers/line_solver_cases.py \
        > tests/unit/papers/line_solver.json

Each case is asked of two of its solvers that know nothing of each other.
"""

import json

import line_solver
import numpy as np

CASES = {
    'three stations': (32, [1.0, 1.2, 0.8], ['min(j, 4)', 'j ** 0.5', '1']),
    'slow root': (32, [1.0, 2.4, 0.7], ['min(j, 4)', 'j ** 0.5', '1']),
    'channels and bus': (24, [170.0, 12.0], ['min(j, 8)', '1']),
    'delay': (16, [100.0, 40.0, 7.0], ['j', 'min(j, 3)', '1']),
    'eq. 1': (40, [180.0, 13.0], ['j * 180 / (3 * j + 177)',
                                  'j * 13 / (12 * j + 1)'])}


def solved(solver, clients, times, speeds, **options):
    model = line_solver.Network('network')
    stations = [line_solver.Queue(model, f'station {i}',
                                  line_solver.SchedStrategy.PS)
                for i in range(len(times))]
    requests = line_solver.ClosedClass(model, 'requests', clients, stations[0],
                                       0)
    for station, time, speed in zip(stations, times, speeds):
        station.setService(requests, line_solver.Exp.fitMean(time))
        station.setLoadDependence(np.array(
            [eval(speed, {'j': j}) for j in range(1, clients + 1)], float))
    model.link(line_solver.Network.serialRouting(*stations))
    table = solver(model, verbose=False, **options).getAvgTable()
    return {'throughput': float(table['Tput'].iloc[0]),
            'residence': [float(t) for t in table['RespT']]}


if __name__ == '__main__':
    print(json.dumps({
        'command': 'python tests/unit/papers/line_solver_cases.py, '
                   'line-solver 3.0.8.0',
        'cases': [{'name': name, 'clients': clients, 'times': times,
                   'speeds': speeds,
                   'mva': solved(line_solver.MVA, clients, times, speeds,
                                 method='exact'),
                   'ctmc': solved(line_solver.CTMC, clients, times, speeds)}
                  for name, (clients, times, speeds) in CASES.items()]},
        indent=1))
