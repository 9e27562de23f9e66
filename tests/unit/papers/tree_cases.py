# SPDX-License-Identifier: Apache-2.0
"""Runs as R's rpart foretells them, for ``trees.json``.

With R and its rpart beside it:

    python tests/unit/papers/tree_cases.py > tests/unit/papers/trees.json

The runs are drawn here and kept in the file, so that it stands alone.
"""

import json
import subprocess

import numpy as np
import pandas

INPUTS = ['count', 'write_pct', 'block_kib', 'iodepth', 'random_pct']
CART = [(20, 0.01), (2, 0), (7, 0.001), (50, 0.05)]

RPART = r"""
d <- read.csv(commandArgs(TRUE)[1]); f <- read.csv(commandArgs(TRUE)[2])
g <- rpart::rpart(y ~ ., d, control = rpart::rpart.control(
    minsplit = as.numeric(commandArgs(TRUE)[3]),
    cp = as.numeric(commandArgs(TRUE)[4]), xval = 0))
cat(format(predict(g, f), digits = 15), sep = "\n")
"""


def drawn(rng, many):
    x = np.column_stack([
        rng.integers(1, 11, many), rng.uniform(0, 100, many),
        2 ** rng.uniform(2, 7, many), rng.uniform(1, 16, many),
        rng.uniform(0, 100, many)]).round(2)
    count, write, block, depth, rand = x.T
    q = count * depth
    service = 120 + q * (4 - 0.02 * write) * (0.3 + 0.007 * rand)
    transfer = q * block * (2 + 0.005 * write) / 10
    return x, (np.hypot(service, transfer)
               * rng.lognormal(0, 0.03, many)).round(2)


def rpart(x, y, fresh, minsplit, cp):
    pandas.DataFrame(x, columns=INPUTS).assign(y=y).to_csv(
        '/tmp/runs.csv', index=False)
    pandas.DataFrame(fresh, columns=INPUTS).to_csv('/tmp/fresh.csv',
                                                   index=False)
    told = subprocess.run(
        ['Rscript', '-e', RPART, '/tmp/runs.csv', '/tmp/fresh.csv',
         str(minsplit), str(cp)], check=True, text=True, capture_output=True)
    return [float(value) for value in told.stdout.split()]


if __name__ == '__main__':
    rng = np.random.default_rng(4)
    (x, y), (fresh, truth) = drawn(rng, 300), drawn(rng, 100)
    print(json.dumps({
        'command': 'python tests/unit/papers/tree_cases.py, rpart 4.1.19',
        'inputs': INPUTS, 'x': x.tolist(), 'y': y.tolist(),
        'fresh': fresh.tolist(), 'truth': truth.tolist(),
        'cart': [{'minsplit': m, 'cp': cp,
                  'says': rpart(x, y, fresh, m, cp)} for m, cp in CART]}))
