# SPDX-License-Identifier: Apache-2.0
"""Scores by kind and by design."""

from __future__ import annotations

from collections.abc import Sequence

from serifos.lab.accuracy import accuracy
from serifos.lab.accuracy import runs

Scores = Sequence[accuracy.KindScore]

CHOSEN = {runs.CHOSEN: 'the runs that a build chooses',
          runs.ALL_CHOSEN: 'all runs that a build may choose'}
"""A design → in words; others are called by their number of runs."""


def by_kind(scores: Scores
            ) -> dict[tuple[str, str], list[accuracy.KindScore]]:
    """(kind, design) → their scores, one for each device."""
    found: dict[tuple[str, str], list[accuracy.KindScore]] = {}
    for score in scores:
        found.setdefault((score.kind, score.design), []).append(score)
    return found


def names(scores: Scores, field: str) -> list[str]:
    return [*dict.fromkeys(getattr(score, field) for score in scores)]


def described(label: str) -> str:
    """A design in words."""
    return CHOSEN.get(label) or f'the {label} runs of the short design'
