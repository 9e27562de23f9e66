# SPDX-License-Identifier: Apache-2.0
"""How well R's earth foretells runs that it did not see, for ``earth.json``.

With R and its earth beside it, and scikit-learn:

    python tests/unit/papers/earth_cases.py > tests/unit/papers/earth.json

The sets are those of ``cubist.json``; of each part, some runs by chance are
fitted, or all of them.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parents[3]))  # the root

from tests.unit.papers import cubist_cases  # noqa: E402
from tests.unit.papers import golden  # noqa: E402

RUNS = (31, 60, 120, None)
DEGREES = (1, 2)

EARTH = r"""
suppressMessages(library(earth))
for (number in seq_len(as.numeric(commandArgs(TRUE)[2]))) {
  read <- function(what) as.matrix(read.csv(file.path(
    commandArgs(TRUE)[1], paste0(what, number, '.csv')), header = FALSE))
  a <- read('runs'); b <- read('fresh'); y <- ncol(a)
  found <- predict(earth(a[, -y], a[, y],
                         degree = as.numeric(commandArgs(TRUE)[3])), b[, -y])
  cat(format(mean((found - b[, y])^2), digits = 8), '\n')
}
"""


def parts(name, case, runs):
    """(x, y, fresh x, fresh y) as there, with fewer runs to fit.

    :param runs: how many, or None for all of them
    """
    for number, (x, y, *fresh) in enumerate(cubist_cases.parts(name, case)):
        kept = np.random.default_rng(number).permutation(len(y))[:runs]
        yield (x[kept], y[kept], *fresh)


def squares(name, case, runs, degree):
    """earth's mean squared error of each part."""
    with tempfile.TemporaryDirectory() as place:
        many = 0
        for many, (x, y, *fresh) in enumerate(parts(name, case, runs), 1):
            for what, (its_x, its_y) in (('runs', (x, y)), ('fresh', fresh)):
                np.savetxt(f'{place}/{what}{many}.csv', np.column_stack(
                    [its_x, its_y]), '%.17g', ',')
        told = subprocess.run(
            ['Rscript', '-e', EARTH, place, str(many), str(degree)],
            check=True, text=True, capture_output=True)
    return [float(value) for value in told.stdout.split()]


def serifos_squares(name, case, runs, degree, most=None):
    """Ours of the same parts, of the first ones at most."""
    from serifos.lab.regression import mars
    from serifos.lab.regression import splines

    def error(x, y, fresh, truth):
        found = mars.splines_of(x, y, degree=degree)
        return float(np.mean((sum(
            value * splines.values(product, fresh) for product, value in zip(
                found.products, found.coefficients)) - truth) ** 2))
    return [error(*part) for part in itertools.islice(
        parts(name, case, runs), most)]


if __name__ == '__main__':
    print(json.dumps({
        'command': 'python tests/unit/papers/earth_cases.py, earth 5.3.2, '
                   'its standard settings, with 31, 60, 120 and all runs',
        'squares': [{'set': name, 'runs': runs, 'degree': degree,
                     'earth': squares(name, case, runs, degree)}
                    for name, case in golden.CUBIST['sets'].items()
                    for runs in RUNS for degree in DEGREES]}))
