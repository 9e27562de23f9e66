# SPDX-License-Identifier: Apache-2.0
"""The verdict on a model and its figures, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping

from serifos.model.model import Model
from serifos.model import verdict
from serifos.report import wording

_INPUTS = {'write_pct': '% writes', 'block_kib': 'KiB a request',
           'iodepth': 'requests outstanding for each workload',
           'random_pct': '% random', 'count': 'workloads together'}


def text(model: Model) -> str:
    """The verdict, its reasons, every figure, and what to do next."""
    found = verdict.verdict(model)
    return wording.lines(_lines(model, found))


def paragraph(model: Model) -> str:
    """The verdict, its reasons and its advice, for the head of a page."""
    found = verdict.verdict(model)
    return ' '.join([sentence(found.headline), *found.reasons,
                     *found.advice])


def sentence(headline: str) -> str:
    """With a capital and a full stop."""
    return f'{headline[:1].upper()}{headline[1:]}.'


def _lines(model: Model, found: verdict.Verdict) -> Iterator[str]:
    yield from wording.wrapped(f'{found.headline}.',
                               f'{wording.name(model.name)}: ')
    yield from wording.wrapped(' '.join(found.reasons))
    if model.quality.get('why'):
        yield from wording.wrapped(f'{model.quality["why"]}', 'Its kind: ')
    yield from ('', 'Its figures:')
    for name, value, meaning in figures(model):
        yield from wording.wrapped(f'{value}: {meaning}.', f'  {name:12} ')
    yield from ('', 'What to do next:')
    for sentence in found.advice:
        yield from wording.wrapped(sentence, '  * ')


def figures(model: Model) -> Iterator[tuple[str, str, str]]:
    """(name, value, meaning) of each figure that a model states.

    Names are those of ``serifos-model show``.
    """
    quality = model.quality
    if model.runs:
        yield ('runs', f'{model.runs:,}', 'measurements that it was fitted to')
    yield from _errors(quality)
    low, high = model.relative_interval
    yield ('interval', f'{_signed(low)} to {_signed(high)}',
           'relative to the prediction, nine measurements of ten lie '
           'between these')
    explained = [value for value in (quality.get('adj_r2') or {}).values()
                 if value is not None]
    if explained:
        yield ('adj_r2', f'{min(explained):.2f}', 'how much of the '
               'differences between runs its formula explains; 1 is all')
    if model.range:
        yield ('range', ', '.join(
            f'{_span(*ends)} {_INPUTS.get(name, name)}'
            for name, ends in model.range.items()),
            'what was measured. Beyond it plans take the upper end of the '
            'interval and mark it *')


def _errors(quality: Mapping[str, object]
            ) -> Iterator[tuple[str, str, str]]:
    mre, of_tenants = quality.get('mre'), quality.get('tenant_mre')
    if quality.get('factor') is not None:
        yield ('factor', f'{quality["factor"]:.3g}', 'predictions of nine '
               'runs of ten are within this factor of what was measured, on '
               'runs that the fit did not see')
    if mre is not None:
        yield ('mre', verdict.percent(mre), 'mean relative error, how far a '
               'prediction of a pool is off in the mean, on runs that the '
               'fit did not see')
    if of_tenants is not None:
        yield ('tenant_mre', verdict.percent(of_tenants),
               'the same, of the latency of each workload on the device; '
               'SLOs are judged by it')
    by_count = {count: error for count, error in (
        quality.get('mre_by_count') or {}).items() if error is not None}
    if len(by_count) > 1:
        best, worst = (pick(by_count, key=by_count.get)
                       for pick in (min, max))
        yield ('mre_by_count', f'{verdict.percent(by_count[best])} at {best}, '
               f'{verdict.percent(by_count[worst])} at {worst}',
               'the least and '
               'the greatest error by how many workloads ran together')
    by_kind = {kind: error for kind, error in (
        quality.get('mre_by_kind') or {}).items() if error is not None}
    if len(by_kind) > 1:
        least_first = sorted(by_kind.items(), key=lambda each: each[1])
        yield ('mre_by_kind', ', '.join(
            f'{kind} {verdict.percent(error)}' for kind, error in least_first),
            'the error of each kind of model that was tried')


def _span(least: float, greatest: float) -> str:
    return f'{least:.3g}' if least == greatest else (
        f'{least:.3g} to {greatest:.3g}')


def _signed(fraction: float) -> str:
    return f'{"-" if fraction < 0 else "+"}{verdict.percent(abs(fraction))}'
