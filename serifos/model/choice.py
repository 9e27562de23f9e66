# SPDX-License-Identifier: Apache-2.0
"""Choice of a kind of model by errors on held-out runs."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np
import numpy.typing as npt

from serifos.facts import dataset
from serifos.model import fit_runs
from serifos.model import held_out as held
from serifos.model import quality

Floats = npt.NDArray[np.float64]

_SURE = 2.0  # standard errors
_ALONE = 10.0  # medians that a gain is above, to be named
_THRICE = 3  # runs, whose median no single one decides


@dataclasses.dataclass(frozen=True)
class Choice:
    """A kind among several.

    :param why: its reason, one sentence; empty of a single kind
    :param mre: the mean relative error of each kind for pools, a fraction
    :param decides: a run of the lone pattern that decides, if there is one
    """

    kind: str
    why: str
    mre: Mapping[str, float]
    decides: dataset.Sample | None = None


def choose(data: fit_runs.Runs,
           held_out: Mapping[str, held.HeldOut]) -> Choice:
    """The kind of :func:`kind_of`, with its reason.

    :param held_out: the predictions of each kind, the simplest first
    """
    mre = {kind: quality.mre(data.y, its.y) for kind, its in held_out.items()}
    if len(held_out) == 1:
        return Choice(*held_out, '', mre)
    patterns = _Patterns(data)
    errors = {kind: patterns.errors(its) for kind, its in held_out.items()}
    chosen, richest = kind_of(errors), [*errors][-1]
    first, rival, *others = sorted(
        errors, key=lambda kind: (kind != chosen, errors[kind].mean()))
    said = _figures(data, held_out, (first, rival, *others))
    gains = errors[rival] - errors[chosen]
    decides, better = _deciding(gains), gains.mean() > 0
    if decides is not None:
        worse = rival if better else chosen
        said += (f'; {chosen if better else rival} is better than {worse} '
                 'only because of one pattern, '
                 + patterns.words(decides, worse, held_out[worse]))
    elif not better:
        said += (f'; {chosen} is kept because {rival} is not better for '
                 f'sure (two standard errors over {len(gains)} patterns)')
    elif chosen != richest:
        said += (f'; {richest} is worse by more than two standard errors '
                 f'over {len(gains)} patterns')
    return Choice(chosen, f'{said}.', mre, None if decides is None
                  else patterns.runs(decides)[0])


def kind_of(errors: Mapping[str, Floats]) -> str:
    """The richest kind, unless a simpler one is better for sure.

    A kind is better if its error is lower by two standard errors over
    patterns, and still is without the pattern that says so most.

    :param errors: of each kind by pattern, the workloads and conditions that
        several runs of a dataset have in common; the simplest first
    """
    *simpler, chosen = errors
    for kind in reversed(simpler):
        if _is_better(errors[chosen] - errors[kind]):
            chosen = kind
    return chosen


def _is_better(gains: Floats) -> bool:
    """Whether gains by pattern are above 0, and no single one decides."""
    return all(
        some.mean() > _SURE * some.std(ddof=1) / len(some) ** 0.5
        for some in (gains, np.delete(gains, gains.argmax())))


def _deciding(gains: Floats) -> int | None:
    """A lone pattern without which the other kind would be the better one."""
    sizes = np.abs(gains)
    most = int(sizes.argmax())
    alone = sizes[most] > _ALONE * np.median(sizes)
    flips = gains.mean() * np.delete(gains, most).mean() < 0
    return most if alone and flips else None


def _figures(data: fit_runs.Runs, held_out: Mapping[str, held.HeldOut],
             by_error: Sequence[str]) -> str:
    """The errors of each kind on all runs, and on all tenants of them."""
    def errors(kind: str) -> str:
        its, tenants = held_out[kind], data.tenants
        found = [quality.mre(data.y, its.y)]
        if len(tenants.y):
            found.append(quality.mre(tenants.y, its.tenants))
        return ' and '.join(f'{100 * one:.1f} %' for one in found)
    what = ' for pools and tenants' if len(data.tenants.y) else ''
    return f'On held-out runs the error{what} of ' + ', of '.join(
        f'{kind} {"is " * (kind == by_error[0])}{errors(kind)}'
        for kind in by_error)


class _Patterns:
    """The different runs of a dataset, and errors of kinds by pattern.

    That of a pattern is the median of its runs.
    """

    def __init__(self, data: fit_runs.Runs) -> None:
        number = {key: i for i, key in enumerate(dict.fromkeys(data.keys))}
        self._data = data
        self._of_run = np.array([number[key] for key in data.keys])

    def errors(self, its: held.HeldOut) -> Floats:
        """The relative errors of pools and of tenants: float[patterns]."""
        tenants, n = self._data.tenants, len(self._of_run)
        wrong = np.bincount(tenants.run, quality.relative_errors(
            tenants.y, its.tenants), n)
        return self._pools(its) + self._medians(
            wrong / np.maximum(np.bincount(tenants.run, minlength=n), 1))

    def runs(self, pattern: int) -> list[dataset.Sample]:
        return [self._data.samples[run] for run
                in np.flatnonzero(self._of_run == pattern)]

    def words(self, pattern: int, kind: str, its: held.HeldOut) -> str:
        """Such as '30:4:128 4x (1 run), which tenant misses by 90 %'."""
        runs = self.runs(pattern)
        missed = 100 * self._pools(its)[pattern]
        return (f'{runs[0].words} ({len(runs)} '
                f'run{"s" * (len(runs) > 1)}), which {kind} misses by '
                f'{missed:.0f} %'
                + ': measure it again' * (len(runs) < _THRICE))

    def _pools(self, its: held.HeldOut) -> Floats:
        return self._medians(quality.relative_errors(self._data.y, its.y))

    def _medians(self, of_run: Floats) -> Floats:
        return np.array([np.median(of_run[self._of_run == pattern])
                         for pattern in range(self._of_run.max() + 1)])
