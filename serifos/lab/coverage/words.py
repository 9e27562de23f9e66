# SPDX-License-Identifier: Apache-2.0
"""What a benchmark covers, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
import math

from serifos.lab.coverage import coverage


def summary(found: coverage.Coverage, owner: int, benchmark: str,
            name: str) -> str:
    """What it covers of a dataset, by cluster and by distance."""
    if found.is_unsure(owner):
        return (f'{benchmark} covers at most {100 * found.share(owner):.0f} % '
                f'of {name}, by cluster only: {few(found)}')
    if found.share(owner) == 1:
        return f'{benchmark} covers every run of {name}.'
    its = found.owners == owner
    return (f'{benchmark} covers {100 * found.share(owner):.0f} % of {name}: '
            f'{100 * found.by_cluster[its].mean():.0f} % by cluster, '
            f'{100 * found.by_distance[its].mean():.0f} % by distance (up to '
            f'{found.reach:.3g} standard deviations).')


def share(found: coverage.Coverage) -> str:
    """What it covers of the one other dataset."""
    if found.is_unsure(1):
        return (f'at most {100 * found.share(1):.0f} % covered, by cluster '
                f'only: {_too_few(found)}.')
    return f'{100 * found.share(1):.0f} % covered.'


def criterion(found: coverage.Coverage) -> str:
    """When a run is covered."""
    if found.reach is None:
        return ('A run may be covered where the benchmark has one in the same '
                f'cluster: {few(found)}')
    return ('A run is covered where the benchmark has one in the same '
            f'cluster, at a distance of no more than {found.reach:.3g} '
            'standard deviations.')


def few(found: coverage.Coverage) -> str:
    """That the benchmark has too few runs for distances, and what helps."""
    return (f'{_too_few(found)} to tell how far a benchmark reaches; give '
            f'one of {coverage.ENOUGH} or more, or --distance.')


def whole(found: coverage.Coverage, labels: Sequence[str]) -> str:
    """Where no run is known to be uncovered."""
    if _is_any_unsure(found, labels):
        return f'No run for certain: {few(found)}'
    return 'Every run is covered.'


def verdict(found: coverage.Coverage, labels: Sequence[str]) -> str:
    """Whether the benchmark has runs like all of those of the others."""
    shares = {label: found.share(i) for i, label in enumerate(labels) if i}
    unsure = _is_any_unsure(found, labels)
    gaps = [f'{math.ceil(100 * (1 - covered))} % of {label}'
            for label, covered in shares.items() if covered < 1]
    if gaps:
        return (f'{labels[0]} leaves gaps: {"at least " * unsure}'
                f'{", ".join(gaps)} is unlike any of its runs, and what its '
                'model predicts there was never measured. Measure such runs '
                'too; they are at the end of this page.')
    if unsure:
        return f'Not decided: {few(found)}'
    return (f'{labels[0]} covers all of {", ".join(shares)}: a model of it '
            'has seen runs like every one of them.')


def _is_any_unsure(found: coverage.Coverage, labels: Sequence[str]) -> bool:
    return any(found.is_unsure(i) for i in range(1, len(labels)))


def _too_few(found: coverage.Coverage) -> str:
    runs = ('1 run is' if found.different == 1 else
            f'{found.different} different runs are')
    return f'{runs} too few for distances'
