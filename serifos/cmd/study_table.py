# SPDX-License-Identifier: Apache-2.0
"""The study's two models as one table (Tables 3 and 4 of the paper)."""

from __future__ import annotations

from serifos.model import dataset as ds

HEADER = ('model', 'term', 'coefficient', 'p_value', 'significant')


def rows(dataset: ds.Dataset) -> list[tuple[object, ...]]:
    """A row for each term of each model, its adjusted R² first.

    :raises InputError: where the dataset's runs do not vary enough
    """
    # statsmodels takes a second to import; build never needs it here.
    from serifos.model import study
    found = []
    for name, anova in zip(('polynomial', 'linear'), study.tables(dataset)):
        found.append((name, 'adj. R²', round(anova.adj_r2, 4), None, None))
        found += [
            (name, term, float(f'{value:.5g}'),
             float(f'{anova.p_values[term]:.3g}'),
             'yes' if anova.p_values[term] <= 0.05 else 'no')
            for term, value in anova.coefficients.items()]
    return found
