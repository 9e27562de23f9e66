# SPDX-License-Identifier: Apache-2.0
"""The inputs of a regression: the count of a Load and its mean pattern.

Of a single workload they are its own pattern. Where a dataset varies the
conditions of its runs, these are inputs, too: the file set in GiB, and 0 or 1
for one of two I/O schedulers. A model then predicts under one of them, which
its parameters name. Standard library only: cinder-scheduler loads this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import TYPE_CHECKING

from serifos import errors
from serifos.facts import dataset
from serifos.facts import fields
from serifos.facts import workload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from serifos.model.conditions import Conditions

PLAIN = ('count', 'write_pct', 'block_kib', 'iodepth', 'random_pct')
"""The names of the inputs that every dataset has."""

INPUTS = (*PLAIN, *dataset.CONDITIONS)
"""The names of the inputs, in the order of every vector of them; one that has
only the plain ones is shorter."""

INTERCEPT = 'intercept'

ROW = (INTERCEPT, *INPUTS)
"""The terms of a leaf of a tree."""

At = tuple[float, ...]
"""The condition under which a model predicts: (file_set_gib, scheduler), or
nothing where its inputs are the plain ones."""

_SUMS = ('sum_write_pct', 'sum_block_kib', 'sum_iodepth', 'sum_random_pct')
_COLUMNS = tuple(workload.FEATURES.index(name) for name in _SUMS)
_GREATEST = 1e9


def of(load: workload.Load, at: At = ()) -> tuple[float, ...]:
    """(count, mean write_pct, mean block_kib, mean iodepth, mean random_pct)

    All 0 where no workload is active; then the condition.
    """
    if load.count == 0:
        return (*(0.0,) * len(PLAIN), *at)
    return (load.count, *(getattr(load, name) / load.count
                          for name in _SUMS), *at)


def of_many(loads: npt.NDArray[np.float64],
            at: At = ()) -> npt.NDArray[np.float64]:
    """The same for many Loads: float[n, k] → float[n, 5] or float[n, 7]."""
    import numpy as np  # the scheduler, which has none, never calls this
    count = loads[:, 0]
    return np.column_stack([count, *(
        loads[:, column] / np.maximum(count, 1) for column in _COLUMNS),
        *(np.full(len(loads), value) for value in at)])


def of_runs(loads: Sequence[workload.Load],
            conditions: Conditions | None = None
            ) -> npt.NDArray[np.float64]:
    """The inputs of runs, each under its own condition: float[n, 5 or 7]."""
    import numpy as np  # the scheduler, which has none, never calls this
    plain = np.array([of(load) for load in loads])
    return (plain if conditions is None
            else np.column_stack([plain, conditions.values]))


def named(conditions: Conditions | None) -> dict[str, Any]:
    """The condition in the parameters under which a model predicts.

    It is that of the largest file set, and of the first scheduler.
    """
    if conditions is None:
        return {}
    return {'at': dict(zip(dataset.CONDITIONS, (
        float(conditions.values[:, 0].max()), 0.0))),
        'schedulers': list(conditions.schedulers)}


def at(kind: str, parameters: Mapping[str, Any]) -> At:
    """The condition under which parameters predict.

    :raises FormatError: where it is none
    """
    said = parameters.get('at')
    if said is None:
        return ()
    if not (isinstance(said, dict) and set(said) == {*dataset.CONDITIONS}
            and all(fields.is_number(value, 0, _GREATEST)
                    for value in said.values())):
        raise errors.FormatError(
            f'There is no {" and ".join(dataset.CONDITIONS)} in "at" of the '
            f'parameters of a {kind} model; fit it again with serifos-model '
            'fit.')
    return tuple(float(said[name]) for name in dataset.CONDITIONS)


def allowed(parameters: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the inputs that a model may read."""
    return PLAIN if parameters.get('at') is None else INPUTS


def lines(parameters: Mapping[str, Any], at: At) -> list[tuple[str, str]]:
    """For people: the condition under which a model predicts."""
    names = parameters.get('schedulers')
    if not at:
        return []
    first, second = names if isinstance(names, list) and len(
        names) == 2 else (None, None)
    return [('predicts for', ', '.join([
        *[f'file_set_gib {at[0]:g}'] * bool(at[0]),
        *([] if first is None else [
            f'scheduler {at[1]:g} (0 is {first}, 1 is {second})'])]))]
