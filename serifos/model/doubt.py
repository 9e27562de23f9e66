# SPDX-License-Identifier: Apache-2.0
"""How wrong would a model of the runs made so far be on further ones?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from serifos.model import dataset as ds
from serifos.model import fit
from serifos.model import quality

KIND = 'hybrid'
"""The kind whose error decides when runs are enough."""


_FOLDS = 5  # it is asked for between runs: half of what a fit takes


def error(samples: Sequence[ds.Sample], seed: int = 0) -> float:
    """The cross-validated mean relative error, a fraction."""
    data = fit.runs(samples)
    predict, held_out = fit.refit(KIND, data, {}), np.empty(len(data.y))
    for train, test in quality.folds(data.keys, seed, _FOLDS):
        held_out[test] = predict(train, test)
    return quality.mre(data.y, held_out)
