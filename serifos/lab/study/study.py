# SPDX-License-Identifier: Apache-2.0
"""The effects of a single workload's parameters on its latency.

Tables 3 and 4 of [1]_: mean latency over write ratio (W), randomness (X)
and block size (S) of the 660 patterns of Eq. 3-5, as a polynomial and as a
linear model, with the p-values of a type-III ANOVA.

.. [1] Yao, Papapanagiotou, Griffith: Serifos: Workload Consolidation and
   Load Balancing for SSD Based Cloud Storage Systems, section 4.2.
"""

from __future__ import annotations

import numpy as np

from serifos import errors
from serifos.facts import dataset as ds
from serifos.model.linear import ols

LINEAR = ('W', 'X', 'S')
POLYNOMIAL = (*LINEAR, 'W:X', 'W:S', 'X:S', 'W^2', 'X^2', 'S^2')


def tables(dataset: ds.Dataset) -> tuple[ols.Anova, ols.Anova]:
    """(polynomial, linear) on the single-workload runs of a dataset.

    :raises InputError: where the runs do not vary enough to tell
    """
    single = [s for s in dataset.valid() if s.count == 1]
    factors = {
        'W': np.array([s.workloads[0].write_pct for s in single]),
        'X': np.array([s.workloads[0].random_pct for s in single]),
        'S': np.array([s.workloads[0].block_kib for s in single])}
    for letter, name in zip('WXS', ('write_pct', 'random_pct', 'block_kib')):
        if len(set(factors[letter])) < 3:
            raise errors.InputError(
                'The study needs single-workload runs of at least 3 '
                f'different {name}, and the dataset has '
                f'{len(set(factors[letter]))}; measure with serifos-model '
                'study.')
    if len(single) <= len(POLYNOMIAL) + 1:
        raise errors.InputError(
            f'The study needs more than {len(POLYNOMIAL) + 1} single-workload '
            f'runs and the dataset has {len(single)}; measure more.')
    y = np.array([s.latency_us for s in single])
    return (ols.anova(y, factors, POLYNOMIAL), ols.anova(y, factors, LINEAR))
