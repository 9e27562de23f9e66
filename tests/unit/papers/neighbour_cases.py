# SPDX-License-Identifier: Apache-2.0
"""What Cubist foretells with neighbours, for ``neighbours.json``.

In an environment of its own (``pip install cubist==1.2.2 scikit-learn``):

    python tests/unit/papers/neighbour_cases.py \
        > tests/unit/papers/neighbours.json

Of sklearn's diabetes patients 120 are fitted and 60 foretold, of MASS's cpus
and boston, which ``cubist.json`` has, two thirds and one. Of all also what
the trees predict without neighbours, so that only the correction is compared,
and of each number of neighbours how far they may be: Cubist finds that by
chance.
"""

import json
import pathlib
import re

import numpy as np

COLUMNS = ['bmi', 'bp', 's5', 's3', 'age']
NEAREST = range(1, 10)


def fitted(x, y, neighbours=None):
    import cubist
    return cubist.Cubist(
        n_rules=101, n_committees=1, neighbors=neighbours, extrapolation=0.05,
        random_state=0).fit(_frame(x), y)


def _frame(x):
    import pandas
    return pandas.DataFrame(x, columns=[f'x{i}' for i in range(x.shape[1])])


def says(model, x):
    """Predictions, which have single precision."""
    return [float(f'{value:.8g}') for value in model.predict(_frame(x))]


def furthest(model):
    return float(re.search(r' maxd="([^"]+)"', model.model_)[1])


def case(x, y, fresh):
    alone = fitted(x, y)
    models = {k: fitted(x, y, k) for k in NEAREST}
    return {'x': x.tolist(), 'y': y.tolist(), 'fresh': fresh.tolist(),
            'alone': says(alone, x), 'fresh_alone': says(alone, fresh),
            'says': [{'nearest': k, 'furthest': furthest(model),
                      'says': says(model, fresh)}
                     for k, model in models.items()]}


def diabetes():
    from sklearn import datasets
    bunch = datasets.load_diabetes(scaled=False)
    x = bunch.data[:180, [bunch.feature_names.index(c) for c in COLUMNS]]
    return x[:120], bunch.target[:120], x[120:]


def thirds(name):
    given = json.loads(pathlib.Path(__file__).with_name(
        'cubist.json').read_text())['sets'][name]
    x, y = np.array(given['x']), np.array(given['y'])
    mixed = np.random.default_rng(7).permutation(len(y))
    fit, fresh = np.split(mixed, [2 * len(y) // 3])
    return x[fit], y[fit], x[fresh]


def cases():
    return {'command': 'python tests/unit/papers/neighbour_cases.py, '
                       'cubist 1.2.2, scikit-learn 1.9.1',
            'sets': {'diabetes': case(*diabetes()),
                     'cpus': case(*thirds('cpus')),
                     'boston': case(*thirds('boston'))}}


if __name__ == '__main__':
    print(json.dumps(cases()))
