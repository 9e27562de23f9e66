# SPDX-License-Identifier: Apache-2.0
"""Errors of the calibration by clients and by size of a request.

Figures 5 and 7 of Noorshams, Rostami, Kounev, Reussner: I/O Performance
Modeling of Virtualized Storage Systems.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from serifos.lab.calibrate import calibrate
from serifos.lab.calibrate import scenarios
from serifos.model import held_out

CLIENTS, SIZES = 'calibration, by clients', 'calibration, by request size'
KIB = ' KiB'

_GROUPS = 5
"""The paper has five sizes of a request."""


def rows(measured: calibrate.FileSetRuns, parameters: Mapping[str, Any]
         ) -> list[scenarios.Scenario]:
    """The errors on the runs of a calibration, group by group.

    :param parameters: the network that was fitted to all of the runs
    """
    every = np.arange(len(measured.data.y))
    found = measured.predictions(parameters, every)
    others = held_out.refit('outstanding', measured.data, {})(every, every)
    return [
        scenarios.row(measured, name, f'{_span(x[its])}{unit}', its,
                      found[its], others[its])
        for name, x, unit in ((CLIENTS, measured.clients, ''),
                              (SIZES, measured.request_kib, KIB))
        for its in groups(x)]


def groups(x: calibrate.Floats) -> list[calibrate.Ints]:
    """The indices of the runs of each group, least x first.

    Five groups of about as many runs, or one for each value where there are
    no more than five. Runs of one value are never apart.

    :param x: float[n]
    """
    ends = np.unique(x)
    if len(ends) > _GROUPS:
        ends = np.unique(np.quantile(
            x, np.arange(1, _GROUPS + 1) / _GROUPS, method='inverted_cdf'))
    group = np.searchsorted(ends, x)
    return [np.flatnonzero(group == i) for i in range(len(ends))]


def _span(x: calibrate.Floats) -> str:
    low, high = f'{x.min():.3g}', f'{x.max():.3g}'
    return low if low == high else f'{low} to {high}'
