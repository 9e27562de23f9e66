# SPDX-License-Identifier: Apache-2.0
"""Judge whether a model is good enough to plan with.

Every page and command that judges a model says it in these words. Standard
library only.
"""

from __future__ import annotations

import dataclasses
import enum
import math

from serifos.model.model import Model
from serifos.model.model import P90_OF_MAE

FAIR = 0.25
"""The error beyond which the error by itself makes a usual pool look slow."""

GOOD = FAIR / P90_OF_MAE
"""The error up to which nine predictions of ten are within FAIR of what is
measured, were errors normal: 12 %. A pool that is slower by FAIR is found."""

FEW = 20
"""Runs below which the error itself is not known well."""

MANY = 80
"""Runs of a build; more of them rarely help."""

_WIDE = 1.0


class Grade(enum.Enum):
    """What a model is good for; the value is how that is said."""

    GOOD = 'good enough to plan with'
    FAIR = 'good enough for large differences only'
    POOR = 'not good enough to plan with'
    FEW = 'too few runs to know whether it is good enough to plan with'
    UNKNOWN = 'not known whether it is good enough to plan with'
    OTHER = 'not for planning, which needs latency'


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a model is good for.

    :param headline: such as ``good enough to plan with: 11 % error, 80
        runs``; without a capital and a full stop, for any place
    :param reasons: what stands behind it, a sentence each
    :param advice: what to do next, a sentence each
    """

    grade: Grade
    headline: str
    reasons: tuple[str, ...]
    advice: tuple[str, ...]


def verdict(model: Model) -> Verdict:
    """Judges a model by its cross-validated error and its runs."""
    runs, error = model.runs, model.quality.get('mre')
    if error is not None and math.isnan(error):
        error = None
    grade = _grade(model.predicts, error, runs)
    of_tail = within(model)
    return Verdict(grade, _headline(grade, error, runs, of_tail),
                   _reasons(model, grade, error, of_tail),
                   _advice(grade, runs))


def within(model: Model) -> str:
    """The error of a 99th percentile in words; empty of another figure.

    One that may be microseconds or half a second has no mean relative error
    that says anything.
    """
    factor = model.quality.get('factor')
    return '' if factor is None else (
        f'within a factor of {factor:.3g} for 90 % of the runs')


def headline(error: float, runs: int | None = None) -> str:
    """What latencies that are so far off are good for, and the figures.

    :param error: mean relative error on runs that no fit saw, a fraction
    :param runs: that the fit saw
    """
    return _headline(_grade('latency_us', error, runs), error, runs)


def _headline(grade: Grade, error: float | None, runs: int | None,
              of_tail: str = '') -> str:
    facts = [of_tail] if of_tail else []
    if error is not None and not of_tail:
        facts.append(f'{percent(error)} error')
    if runs:
        facts.append(f'{runs:,} run{"s" * (runs != 1)}')
    return grade.value + (f': {", ".join(facts)}' if facts else '')


def percent(fraction: float) -> str:
    """As in 11 %, and 7.1 % below ten."""
    found = 100 * fraction
    return f'{found:,.0f} %' if found >= 9.95 else f'{found:.2g} %'


def _grade(predicts: str, error: float | None, runs: int | None) -> Grade:
    if predicts != 'latency_us':
        return Grade.OTHER
    if error is None:
        return Grade.UNKNOWN
    if error > FAIR:
        return Grade.POOR
    if runs is not None and runs < FEW:
        return Grade.FEW
    return Grade.GOOD if error <= GOOD else Grade.FAIR


def _reasons(model: Model, grade: Grade, error: float | None,
             of_tail: str) -> tuple[str, ...]:
    if error is None:
        return ('Its file states no error on runs that the fit did not see.',)
    if of_tail:
        return (f'Predictions are {of_tail}, which the fit did not see.',)
    said = [f'A prediction is {percent(error)} off in the mean, on runs that '
            'the fit did not see.']
    if grade is Grade.OTHER:
        return tuple(said)
    far = percent(FAIR)
    said.append({
        Grade.GOOD: f'Nine predictions of ten are closer than {far}: it can '
        f'identify a pool that is {far} slower than the others.',
        Grade.FAIR: f'More than one prediction of ten is off by {far} or '
        'more. It can identify a pool that is twice as slow, but not which '
        'of two similar pools is slower.',
        Grade.POOR: f'The usual prediction is off by {far} or more: a pool '
        'may look hot, or a move may look good, only because of the error.',
        Grade.FEW: f'With fewer than {FEW} runs that error is itself known '
        'badly: other runs may give another one.',
    }[grade])
    high = model.relative_interval[1]
    if high > _WIDE:
        said.append(f'One measurement of twenty is more than {1 + high:.2g} '
                    'times its prediction: there are workloads that the '
                    'model knows badly.')
    seen = model.quality.get('tenant_mre')
    if seen is not None and seen > max(error, GOOD) * 1.25:
        said.append(f'Of what one tenant sees it is {percent(seen)} off: '
                    'whether an SLO is met is less sure than which pool '
                    'is slow.')
    return tuple(said)


def _advice(grade: Grade, runs: int | None) -> tuple[str, ...]:
    if grade is Grade.GOOD:
        return ('Plan with it.',)
    if grade is Grade.OTHER:
        return ('Fit a model that predicts latency_us for planning.',)
    if grade is Grade.UNKNOWN:
        return ('Hold it against runs of the device: serifos-model check.',)
    plan = ('Plan with it where pools differ by half or more, and let '
            'serifos-balancer advise, not act.',
            ) if grade is Grade.FAIR else (
                'Do not act on plans that it makes.',)
    if runs is not None and runs >= MANY:
        return *plan, (
            'More runs will hardly help: see whether other work used the '
            'device meanwhile, and whether another kind fits better '
            '(serifos-model compare-kinds).')
    return *plan, (
        f'Measure more, on a device that does nothing else: by its defaults '
        f'serifos-model build makes up to {MANY} runs of 15 s each, and ends '
        'earlier where more would bring little.')
