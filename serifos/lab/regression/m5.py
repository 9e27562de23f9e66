# SPDX-License-Identifier: Apache-2.0
"""Fit of a regression tree with linear leaves (M5).

As section 3.4 of [1]_ of :mod:`serifos.lab.regression.tree`, in
:mod:`.growth`; smoothed, which the paper leaves out, and split by lines where
:mod:`.choice` finds that better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from serifos.facts.workload import Load
from serifos.lab.regression import choice
from serifos.lab.regression import growth
from serifos.lab.regression import inputs
from serifos.lab.regression import tree
from serifos.model.conditions import Conditions


def fit(loads: Sequence[Load], y: growth.Floats, nsplits: float = 100,
        smoothing: float = tree.CHOSEN, linear_splits: float = tree.CHOSEN,
        conditions: Conditions | None = None) -> dict[str, Any]:
    """The parameters of an m5 model.

    :param nsplits: splits in the forward step, at most
    :param smoothing: k of :mod:`.smoothing`
    :param linear_splits: 1 where splits are by lines, see :mod:`.splits`
    :param conditions: of the runs, where they vary
    """
    x = inputs.of_runs(loads, conditions)
    method = choice.chosen(x, y, int(nsplits), linear_splits, smoothing)
    return {**inputs.named(conditions),
            'trees': [method.nodes(x, y, int(nsplits))],
            'within': growth.within(y)}
