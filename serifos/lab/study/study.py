# SPDX-License-Identifier: Apache-2.0
"""The effects of workloads' parameters on their latency.

Of one workload: mean latency over write ratio (W), randomness (X) and block
size (S), as a polynomial and as a linear model (Tables 3 and 4 of [1]_), and
as a linear one without randomness (Eq. 6-7). Of several together: with terms
of each workload (Table 5), and with their sums (Eq. 8-13), and whether the
sums may stand for them. Where runs vary the file set (F) or the I/O scheduler
(E, which the kernel calls elevator), both have terms of their own. p-values
are of a type-III ANOVA.

.. [1] Yao, Papapanagiotou, Griffith: Serifos: Workload Consolidation and
   Load Balancing for SSD Based Cloud Storage Systems, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import itertools

import numpy as np

from serifos import errors
from serifos.facts.dataset import Dataset
from serifos.facts.dataset import Sample
from serifos.model import conditions
from serifos.model.linear import ols

LINEAR = ('W', 'X', 'S')
POLYNOMIAL = (*LINEAR, 'W:X', 'W:S', 'X:S', 'W^2', 'X^2', 'S^2')
WITHOUT_X = ('W', 'S')

_Factors = Mapping[str, ols.Floats]


@dataclasses.dataclass(frozen=True)
class Model:
    """A fitted model of latency.

    :param name: for a person
    :param effects_us: term of a linear model → µs by which latency changes
        over the range of the term that was measured; 0 or more
    :param separate_p: of sums, the p-value of the F test that each workload's
        own terms explain more than they do
    """

    name: str
    anova: ols.Anova
    effects_us: Mapping[str, float]
    separate_p: float | None = None


def models(dataset: Dataset) -> list[Model]:
    """The models of a dataset's runs, by how many workloads run together.

    :raises InputError: where the runs do not vary enough to tell
    """
    together = sorted({s.count for s in dataset.valid()} - {1})
    found: list[Model] = []
    if not together or any(s.count == 1 for s in dataset.valid()):
        found += _alone(dataset)
    for count in together:
        found += _together(
            [s for s in dataset.valid() if s.count == count], count)
    return found


def tables(dataset: Dataset) -> tuple[ols.Anova, ols.Anova]:
    """(polynomial, linear) on the single-workload runs of a dataset.

    :raises InputError: where the runs do not vary enough to tell
    """
    polynomial, linear, _ = _alone(dataset)
    return polynomial.anova, linear.anova


def _alone(dataset: Dataset) -> Iterator[Model]:
    single = [s for s in dataset.valid() if s.count == 1]
    varied = _varied(single)
    factors = {
        'W': np.array([s.workloads[0].write_pct for s in single]),
        'X': np.array([s.workloads[0].random_pct for s in single]),
        'S': np.array([s.workloads[0].block_kib for s in single])}
    for letter, name in zip('WXS', ('write_pct', 'random_pct', 'block_kib')):
        least = 2 if letter == 'X' and varied else 3
        if len(set(factors[letter])) < least:
            raise errors.InputError(
                f'The study needs single-workload runs of at least {least} '
                f'different {name}, and the dataset has '
                f'{len(set(factors[letter]))}; measure with serifos-model '
                'study.')
    factors |= varied
    terms = polynomial(factors)
    _refuse_few(single, len(terms), 'single-workload runs')
    y = np.array([s.latency_us for s in single])
    yield Model('polynomial', ols.anova(y, factors, terms), {})
    yield _linear('linear', y, factors)
    yield _linear('without X', y, {
        term: factors[term] for term in (*WITHOUT_X, *varied)})


def polynomial(factors: _Factors) -> tuple[str, ...]:
    """The factors, their products, and the squares of what is no 0 or 1.

    Without conditions these are :data:`POLYNOMIAL`.
    """
    names = tuple(factors)
    return (*names, *(f'{one}:{other}' for one, other
                      in itertools.combinations(names, 2)),
            *(f'{name}^2' for name in names
              if len(set(factors[name])) > 2))


def _varied(samples: Sequence[Sample]) -> dict[str, ols.Floats]:
    """The factors among the conditions of runs: F and E where they vary."""
    found = conditions.of([s.condition for s in samples])
    if found is None:
        return {}
    return {letter: values for letter, values
            in zip('FE', found.values.T) if np.ptp(values)}


def _together(samples: Sequence[Sample], count: int) -> Iterator[Model]:
    separate = {
        f'{letter}{place + 1}': np.array(
            [getattr(s.workloads[place], name) for s in samples])
        for letter, name in (('W', 'write_pct'), ('S', 'block_kib'))
        for place in range(count)}
    for term, values in separate.items():
        if len(set(values)) < 2:
            raise errors.InputError(
                f'All runs of {count} workloads have the same {term}; '
                f'measure with serifos-model study --counts {count}.')
    _refuse_few(samples, len(separate), f'runs of {count} workloads')
    sums = {letter: np.sum([values for term, values in separate.items()
                            if term[0] == letter], axis=0)
            for letter in WITHOUT_X}
    varied = _varied(samples)
    separate, sums = separate | varied, sums | varied
    y = np.array([s.latency_us for s in samples])
    yield _linear(f'{count} separate', y, separate)
    yield dataclasses.replace(
        _linear(f'{count} sums', y, sums),
        separate_p=ols.separate_p(y, sums, separate))


def _refuse_few(samples: Sequence[Sample], terms: int, what: str) -> None:
    if len(samples) <= terms + 1:
        raise errors.InputError(
            f'The study needs more than {terms + 1} {what} and the dataset '
            f'has {len(samples)}; measure more.')


def _linear(name: str, y: ols.Floats, factors: _Factors) -> Model:
    anova = ols.anova(y, factors, tuple(factors))
    return Model(name, anova, {
        term: abs(anova.coefficients[term]) * float(np.ptp(values))
        for term, values in factors.items()})
