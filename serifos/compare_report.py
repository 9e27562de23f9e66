# SPDX-License-Identifier: Apache-2.0
"""Which kind is best for a device, and where? One page to look at.

Table 3 and Figures 8 to 13 of Noorshams et al. for the runs of a dataset.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from serifos.model import compare
from serifos import page

_Verdicts = Sequence[compare.Verdict]
_Lines = Sequence[compare.Line]


def page_of(name: str, verdicts: _Verdicts,
            divided: Mapping[str, compare.Parts],
            refused: Mapping[str, str]) -> str:
    """An HTML page on a comparison.

    :param divided: figure → how its runs were divided
    :param refused: the kinds that could not be fitted, and why
    """
    lines = compare.lines(verdicts)
    sections = [
        _section('Goodness of fit',
                 'The coefficient of determination, R², of the runs that the '
                 'models were fitted on (Table 3 of the paper). A high one '
                 'does not promise a good prediction.', lines,
                 lambda line: line.r2, '{:.4f}'),
        *_parts(lines),
        page.Section(
            'The distribution of errors',
            'The share of the runs held out inside the ranges whose error '
            'is below a bound (Figure 8). Solid lines are tuned, or of '
            'kinds without settings; dashed ones are with standard '
            'settings.', [_distribution(figure, verdicts)
                          for figure in divided]),
        page.Section(
            'By number of workloads',
            'The mean relative error on all runs that no model saw, by how '
            'many workloads ran together (in the place of Figures 11 '
            'and 12).', tables=[_by_count(f, verdicts) for f in divided]),
        *_tuning(lines), *_tests(verdicts), *_settings(lines),
        page.Section('The runs', tables=[page.Table(
            ('figure', 'training', compare.INSIDE, *compare.BEYOND),
            [(figure, len(parts.training), *(
                len(parts.tested[part]) if part in parts.tested else None
                for part in (compare.INSIDE, *compare.BEYOND)))
             for figure, parts in divided.items()],
            'How many runs each part has; edges overlap.')])]
    if refused:
        sections.append(page.Section(
            'Kinds that were not compared',
            tables=[page.Table(('kind', 'reason'), [*refused.items()])]))
    return page.render(
        f'Kinds of model on {name}',
        'Every kind was fitted on the same part of the runs and tested on '
        'the same others, which no fit and no tuning saw. Errors are mean '
        'relative errors.', sections)


def _parts(lines: _Lines) -> Iterator[page.Section]:
    texts = {
        compare.INSIDE: ('Interpolation', 'Runs held out within the ranges '
                         'of the training (Figure 9).'),
        'small blocks': ('Extrapolation to small blocks', 'The tenth of the '
                         'runs whose mean block is smallest (Figure 10).'),
        'large blocks': ('Extrapolation to large blocks', 'The tenth of the '
                         'runs whose mean block is largest (Figure 10).'),
        'high counts': ('Extrapolation to more workloads',
                        'The tenth of the runs of most workloads.')}
    for part, (heading, text) in texts.items():
        if any(part in line.mre for line in lines):
            yield _section(heading, text, lines,
                           lambda line, part=part: line.mre.get(part),
                           '{:.1%}', bars=True)


def _section(heading: str, text: str, lines: _Lines,
             value: Callable[[compare.Line], float | None], form: str,
             bars: bool = False) -> page.Section:
    figures = [*dict.fromkeys(line.predicts for line in lines)]
    found = {(line.kind, line.tuned, line.predicts): value(line)
             for line in lines}
    labels = [*dict.fromkeys((line.kind, line.tuned) for line in lines)]
    rows = [(_label(*label), *(
        None if found.get((*label, f)) is None
        else form.format(found[*label, f]) for f in figures))
        for label in labels]
    return page.Section(
        heading, text, [_bars(labels, found, figures)] if bars else [],
        [page.Table(('kind', *figures), rows)])


def _label(kind: str, tuned: bool) -> str:
    return f'{kind}, tuned' if tuned else kind


def _bars(labels: Sequence[tuple[str, bool]],
          found: Mapping[tuple[str, bool, str], float | None],
          figures: Sequence[str]) -> str:
    drawing = page.figure(8, 1 + 0.32 * len(labels) * max(
        1, len(figures) * 0.6))
    axes = drawing.subplots()
    height = 0.8 / len(figures)
    for number, figure in enumerate(figures):
        values = [found.get((*label, figure)) for label in labels]
        axes.barh([i + number * height for i in range(len(labels))],
                  [100 * (value or 0) for value in values], height,
                  label=figure)
    axes.set_yticks([i + 0.4 - height / 2 for i in range(len(labels))],
                    [_label(*label) for label in labels])
    axes.invert_yaxis()
    axes.set(xlabel='mean relative error, %')
    if len(figures) > 1:
        axes.legend(fontsize='small')
    return page.svg(drawing)


def _distribution(figure: str, verdicts: _Verdicts) -> str:
    drawing = page.figure(8, 4.5)
    axes = drawing.subplots()
    its = [v for v in verdicts if v.predicts == figure]
    kinds = [*dict.fromkeys(v.kind for v in its)]
    tuned = {v.kind for v in its if v.tuned}
    for verdict in its:
        errors = np.sort(verdict.errors[compare.INSIDE])
        final = verdict.tuned or verdict.kind not in tuned
        axes.step(100 * np.maximum(errors, 1e-4),
                  np.arange(1, len(errors) + 1) / len(errors),
                  where='post', color=f'C{kinds.index(verdict.kind) % 10}',
                  ls='-' if final else '--', lw=1.5 if final else 0.9,
                  label=_label(verdict.kind, verdict.tuned))
    axes.set(xscale='log', xlabel=f'relative error of {figure}, %',
             ylabel='share of the runs', ylim=(0, 1.02))
    axes.legend(fontsize='x-small', loc='upper left')
    return page.svg(drawing)


def _by_count(figure: str, verdicts: _Verdicts) -> page.Table:
    its = [v for v in verdicts if v.predicts == figure]
    counts = sorted({n for v in its for n in v.mre_by_count})
    return page.Table(
        ('kind', *map(str, counts)),
        [(_label(v.kind, v.tuned), *(f'{v.mre_by_count[n]:.1%}'
                                     for n in counts)) for v in its], figure)


def _tuning(lines: _Lines) -> Iterator[page.Section]:
    rows: list[Any] = [
        (line.kind, line.predicts, f'{line.change:+.1%}',
         f'{line.p_of_tuning:.3g}') for line in lines
        if line.change is not None and line.p_of_tuning is not None]
    if rows:
        yield page.Section(
            'What tuning changed',
            'The error inside with tuned settings against that with the '
            'standard (Figure 13), and the probability of such a difference '
            'by chance (paired t-test).', tables=[page.Table(
                ('kind', 'figure', 'change of the error', 'p'), rows)])


def _tests(verdicts: _Verdicts) -> Iterator[page.Section]:
    """Kinds at their best against one another, all figures pooled."""
    figures = [*dict.fromkeys(v.predicts for v in verdicts)]
    of_key = {(v.kind, v.predicts): v for v in sorted(
        verdicts, key=lambda v: v.tuned)}
    errors = {kind: [of_key[kind, f].errors[compare.INSIDE]
                     for f in figures]
              for kind in dict.fromkeys(v.kind for v in verdicts)
              if all((kind, f) in of_key for f in figures)}
    if len(errors) > 1:
        yield page.Section(
            'Do two kinds differ?',
            'The probability, by a paired t-test of the errors inside, that '
            'two kinds err alike, each tuned where it can be; all figures '
            'together. Where it is below 0.05, the one of the smaller error '
            'is better.', tables=[page.Table(
                ('', *errors), [(a, *(
                    None if a == b or p is None else f'{p:.2g}'
                    for b, y in errors.items()
                    for p in [compare.p_value(x, y)]))
                    for a, x in errors.items()])])


def _settings(lines: _Lines) -> Iterator[page.Section]:
    rows = [(line.kind, line.predicts, 'tuned' if line.tuned else 'standard',
             ', '.join(f'{name} {value:.4g}'
                       for name, value in line.settings.items()))
            for line in lines if line.settings]
    if rows:
        yield page.Section(
            'The settings', 'Standard, and as tuning chose them (Table 2).',
            tables=[page.Table(('kind', 'figure', '', 'settings'), rows)])
