# SPDX-License-Identifier: Apache-2.0
"""Cross-validated error of a model of the runs made so far."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.facts.dataset import Sample
from serifos.model import fit_runs
from serifos.model import held_out
from serifos.model import quality

KIND = 'tenant'
"""The kind whose error decides when runs are enough."""

_SETTINGS = {'members': 1}  # between runs there is less time than for a fit

_FOLDS = 5


def error(samples: Sequence[Sample], seed: int = 0) -> float:
    """The cross-validated mean relative error, a fraction."""
    data = fit_runs.runs(samples)
    return quality.mre(data.y, quality.held_out(
        data.keys, seed, held_out.refit(KIND, data, _SETTINGS), _FOLDS))
