# SPDX-License-Identifier: Apache-2.0
"""The conditions of runs as numbers, where a dataset varies them."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from serifos import errors
from serifos.facts import dataset

_MOST = 2


@dataclasses.dataclass(frozen=True)
class Conditions:
    """The conditions of n runs.

    What all runs have alike, or what some do not tell, is 0.

    :param values: float[n, 2], the file set in GiB and the scheduler, 0 for
        the first and 1 for the second
    :param schedulers: the two, in alphabetical order; none where not varied
    """

    values: npt.NDArray[np.float64]
    schedulers: tuple[str, ...] = ()

    def some(self, which: Sequence[int] | npt.NDArray[np.intp]
             ) -> Conditions:
        """Those of the runs of these indices, in the same numbers."""
        return dataclasses.replace(self, values=self.values[list(which)])


def of(runs: Sequence[dataset.Condition]) -> Conditions | None:
    """The conditions of runs, None where they do not vary.

    :raises InputError: where they are of more schedulers than two
    """
    sizes = [one.file_set_gib for one in runs]
    names = [one.scheduler for one in runs]
    every = sorted({name for name in names if name is not None})
    if len(every) > _MOST:
        raise errors.InputError(
            f'The runs are by {len(every)} I/O schedulers '
            f'({", ".join(every)}), and two can be told apart; take those of '
            'the others out of the dataset.')
    values = np.zeros((len(runs), 2))
    if None not in sizes and len(set(sizes)) > 1:
        values[:, 0] = sizes
    both = len(every) == _MOST and None not in names
    if both:
        values[:, 1] = [every.index(name) for name in names]
    if not values.any():
        return None
    return Conditions(values, tuple(every) if both else ())


def of_model(runs: Sequence[dataset.Condition],
             parameters: Mapping[str, Any]) -> Conditions | None:
    """The conditions of runs in the numbers of a model's parameters.

    What a run does not tell is what the model predicts for.

    :returns: None of a model that predicts alike under all
    :raises InputError: where runs are by a scheduler that it does not know
    """
    at = parameters.get('at')
    if at is None:
        return None
    names = parameters.get('schedulers') or []
    for one in runs:
        if names and one.scheduler not in (None, *names):
            raise errors.InputError(
                f'The runs are by the I/O scheduler {one.scheduler}, and the '
                f'model is of {" and ".join(names)}; take others.')
    return Conditions(np.array([
        [at['file_set_gib'] if one.file_set_gib is None or not at[
            'file_set_gib'] else one.file_set_gib,
         names.index(one.scheduler) if one.scheduler in names
         else at['scheduler']] for one in runs]), tuple(names))


def under(parameters: Mapping[str, Any],
          row: Sequence[float]) -> dict[str, Any]:
    """Parameters that predict under another condition.

    :param row: of :attr:`Conditions.values`
    """
    return {**parameters, 'at': dict(zip(dataset.CONDITIONS, map(float, row)))}
