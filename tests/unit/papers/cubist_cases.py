# SPDX-License-Identifier: Apache-2.0
"""How well Cubist foretells runs that it did not see, for ``cubist.json``.

In an environment of its own (``pip install cubist==1.2.2 scikit-learn``, and R
with MASS and earth beside it):

    python tests/unit/papers/cubist_cases.py sata-mlc-train.jsonl \
        > tests/unit/papers/cubist.json

The dataset is of an SSD that another program than serifos simulates. Five
inputs of each set are taken at most. The file keeps the runs, but for those
that sklearn has or draws.
"""

import itertools
import json
import subprocess
import sys

import numpy as np

FOLDS, REPEATS = 10, 3
DRAWN, FRESH = 10, 1000
R = {'boston': 'MASS::Boston[, c("lstat", "rm", "ptratio", "nox", "dis", '
               '"medv")]',
     'cpus': 'MASS::cpus[, c("syct", "mmin", "mmax", "cach", "chmax", '
             '"perf")]',
     'ozone1': 'earth::ozone1[, c("temp", "ibh", "dpg", "vis", "doy", "O3")]'}
DIABETES = ['bmi', 'bp', 's5', 's3', 'age']
RUN = ['write_pct', 'block_kib', 'iodepth', 'random_pct']


def parts(name, case):
    """(x, y, fresh x, fresh y): to fit, and to foretell.

    Ten draws of 200 runs with a thousand others; of measured runs the
    folds of a 10-fold cross-validation, three times.
    """
    from sklearn import datasets
    if name in ('friedman1', 'friedman2'):
        for seed in range(DRAWN):
            x, y = (datasets.make_friedman1(200 + FRESH, 5, noise=1,
                                            random_state=seed)
                    if name == 'friedman1' else
                    datasets.make_friedman2(200 + FRESH, random_state=seed))
            y = y + 10  # no figure of a device is below 0
            yield x[:200], y[:200], x[200:], y[200:]
        return
    x, y = diabetes() if name == 'diabetes' else (
        np.array(case['x']), np.array(case['y']))
    for seed in range(REPEATS):
        fold = np.random.default_rng(seed).permutation(len(y)) % FOLDS
        for one in range(FOLDS):
            test = fold == one
            yield x[~test], y[~test], x[test], y[test]


def squares(name, case, says, most=None):
    """The mean squared error of each part, of the first ones at most.

    :param says: (x, y, fresh x) → predictions
    """
    return [float(np.mean((says(x, y, fresh) - truth) ** 2))
            for x, y, fresh, truth in itertools.islice(
                parts(name, case), most)]


def diabetes():
    from sklearn import datasets
    bunch = datasets.load_diabetes(scaled=False)
    return bunch.data[:, [bunch.feature_names.index(column)
                          for column in DIABETES]], bunch.target


def cubist_of(committees):
    import cubist
    import pandas

    def says(x, y, fresh):
        model = cubist.Cubist(n_rules=101, n_committees=committees,
                              extrapolation=1.0, random_state=0)
        columns = [f'x{i}' for i in range(x.shape[1])]
        model.fit(pandas.DataFrame(x, columns=columns), y)
        return model.predict(pandas.DataFrame(fresh, columns=columns))
    return says


def serifos_of(kind, **settings):
    from serifos.model import kinds
    from tests.unit import tree_rows

    def says(x, y, fresh):
        fitted = kinds.of(kind).fit(
            [tree_rows.Seen(row) for row in x], y, settings)
        return kinds.predictor(kind, fitted).on(tree_rows.five(fresh))
    return says


def of_r(what):
    told = subprocess.run(
        ['Rscript', '-e', f'write.csv({what}, row.names = FALSE)'],
        check=True, text=True, capture_output=True).stdout.split()
    rows = np.array([line.split(',') for line in told[1:]], float)
    return rows[:, :-1], rows[:, -1]


def of_dataset(path, figure):
    with open(path) as lines:
        runs = [json.loads(line)['workloads'] for line in lines
                if 'workloads' in line]
    return (np.array([[len(run), *(np.mean([one[name] for one in run])
                                   for name in RUN)] for run in runs]),
            np.array([np.mean([one[figure] for one in run]) for run in runs]))


def cases(path):
    drawn = {name: of_r(what) for name, what in R.items()}
    for figure in ('iops', 'latency_us'):
        drawn[f'ssd {figure}'] = of_dataset(path, figure)
    return {'diabetes': {}, 'friedman1': {}, 'friedman2': {},
            **{name: {'x': x.tolist(), 'y': y.tolist()}
               for name, (x, y) in drawn.items()}}


def recomputed(name, case, most=None):
    return {'alone': squares(name, case, cubist_of(1), most),
            'committee': squares(name, case, cubist_of(20), most)}


if __name__ == '__main__':
    print(json.dumps({
        'command': 'python tests/unit/papers/cubist_cases.py, cubist 1.2.2, '
                   'scikit-learn 1.9.1, MASS and earth of R',
        'sets': {name: {**case, **recomputed(name, case)}
                 for name, case in cases(sys.argv[1]).items()}}))
