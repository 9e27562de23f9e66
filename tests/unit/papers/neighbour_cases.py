# SPDX-License-Identifier: Apache-2.0
"""What Cubist foretells with neighbours, for ``neighbours.json``.

In an environment of its own (``pip install cubist==1.2.2 scikit-learn``):

    python tests/unit/papers/neighbour_cases.py \
        > tests/unit/papers/neighbours.json

The data are sklearn's diabetes patients, 120 to fit and 60 to foretell; of
both also what the trees say alone, so that only the correction is compared.
"""

import json

import cubist
import pandas as pd
from sklearn import datasets

COLUMNS = ['bmi', 'bp', 's5', 's3', 'age']
NEAREST = [1, 4, 9]


def says(x, y, fresh, neighbours=None):
    model = cubist.Cubist(n_rules=101, n_committees=1, neighbors=neighbours,
                          extrapolation=0.05, random_state=0)
    model.fit(pd.DataFrame(x, columns=COLUMNS), y)
    return [[float(value) for value in model.predict(
        pd.DataFrame(rows, columns=COLUMNS))] for rows in (x, fresh)]


def cases():
    bunch = datasets.load_diabetes(scaled=False)
    x = bunch.data[:180, [bunch.feature_names.index(c) for c in COLUMNS]]
    x, fresh, y = x[:120], x[120:], bunch.target[:120]
    alone, fresh_alone = says(x, y, fresh)
    return {'command': 'python tests/unit/papers/neighbour_cases.py, '
                       'cubist 1.2.2, scikit-learn 1.9.1',
            'x': x.tolist(), 'y': y.tolist(), 'fresh': fresh.tolist(),
            'alone': alone, 'fresh_alone': fresh_alone,
            'says': [{'nearest': k, 'says': says(x, y, fresh, k)[1]}
                     for k in NEAREST]}


if __name__ == '__main__':
    print(json.dumps(cases()))
