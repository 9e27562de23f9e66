# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison of the kinds of model on one dataset.

Table 3 and Figures 8 to 13 of Noorshams et al. for the runs of a dataset.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from serifos.lab.compare import compare
from serifos.model.verdict import headline
from serifos.model.verdict import percent
from serifos.report import charts
from serifos.report import page
from serifos.report import table

_Verdicts = Sequence[compare.Verdict]
_Lines = Sequence[compare.ComparisonRow]

_SURE = 0.05  # probability of such a difference by chance
_DASHES = (('--', '-'), (':', '-.'))
"""Of standard and final settings; for kinds that use a colour again."""

_PARTS = {
    compare.INSIDE: ('Interpolation', 'Runs held out within the ranges of '
                     'the training (Figure 9).'),
    'small blocks': ('Extrapolation to small blocks', 'The tenth of the '
                     'runs whose mean block is smallest (Figure 10).'),
    'large blocks': ('Extrapolation to large blocks', 'The tenth of the '
                     'runs whose mean block is largest (Figure 10).'),
    'high counts': ('Extrapolation to more workloads', 'The tenth of the '
                    'runs of most workloads.'),
    compare.OTHERS: ('Other runs', 'All runs of the dataset given by --test '
                     '(Table 5, Figures 10 to 12).')}


def page_of(name: str, verdicts: _Verdicts,
            divided: Mapping[str, compare.Parts],
            refused: Mapping[str, str], about: str) -> str:
    """An HTML page on a comparison.

    :param about: the device, where and when it was measured
    :param divided: figure → how its runs were divided
    :param refused: the kinds that could not be fitted, and why
    """
    lines = compare.lines(verdicts)
    figures = [*dict.fromkeys(line.predicts for line in lines)]
    r2 = {(_label(line), line.predicts): line.r2 for line in lines}
    sections = [
        page.Section(
            'Goodness of fit',
            'The coefficient of determination, R², of the runs that the '
            'models were fitted on (Table 3 of the paper). A high one does '
            'not promise a good prediction.', tables=[
                _by_figure(lines, figures, {
                    key: value and f'{value:.4f}'
                    for key, value in r2.items()})]),
        *_parts(lines, figures),
        page.Section(
            'The distribution of errors',
            'The share of the runs held out inside the ranges whose error '
            'is below a bound (Figure 8). Thick lines are tuned, or of '
            'kinds without settings; thin ones are with standard '
            'settings.', [_distribution(figure, [
                v for v in verdicts if v.predicts == figure])
                for figure in divided]),
        page.Section(
            'By number of workloads',
            'The mean relative error on all held-out runs, by the number '
            'of workloads that ran together (in place of Figures 11 '
            'and 12).', tables=[_by_count(figure, [
                v for v in verdicts if v.predicts == figure])
                for figure in divided]),
        *_tuning(lines), *_tests(verdicts), *_settings(lines),
        page.Section('The runs', tables=[table.Table(
            ('figure', 'training', *_PARTS),
            [(figure, len(parts.training), *(
                len(parts.tested[part]) if part in parts.tested else None
                for part in _PARTS))
             for figure, parts in divided.items()],
            'The number of runs of each part; edges overlap.')])]
    if refused:
        sections.append(page.Section(
            'Kinds that were not compared',
            tables=[table.Table(('kind', 'reason'), [*refused.items()])]))
    return page.render(
        f'Kinds of model on {name}',
        'Every kind was fitted on the same part of the runs and tested on '
        'the same others, held out of fits and tuning. Errors are mean '
        f'relative errors.\n{about}', sections, verdict=' '.join(
            verdict([v for v in lines if v.predicts == figure],
                    len(parts.training))
            for figure, parts in divided.items()))


def verdict(lines: _Lines, runs: int) -> str:
    """Which kind is best at a figure, how sure that is, how good it is.

    :param lines: of one figure
    :param runs: that each kind was fitted to
    """
    best = min(lines, key=lambda line: line.mre[compare.INSIDE])
    error, who = best.mre[compare.INSIDE], _label(best)
    latency = best.predicts == 'latency_us'
    alike = [_label(line) for line in lines if line is not best
             and line.kind != best.kind and line.p_of_best is not None
             and line.p_of_best >= _SURE]
    beyond = {part: line for part, line in best.mre.items()
              if part != compare.INSIDE}
    worst = max(beyond, key=beyond.__getitem__, default='')
    return ''.join((
        f'{who} predicts {"latency" if latency else best.predicts} best: ',
        headline(error, runs) if latency else f'{percent(error)} error',
        '.', f' Within chance as good: {", ".join(alike)}.' if alike else '',
        f' Beyond what it was fitted to it is worse, most for {worst}: '
        f'{percent(beyond[worst])}.'
        if worst and beyond[worst] > error else ''))


def _label(of: compare.ComparisonRow | compare.Verdict) -> str:
    return f'{of.kind}, tuned' if of.tuned else of.kind


def _by_figure(lines: _Lines, figures: Sequence[str],
               cells: Mapping[tuple[str, str], str | None]) -> table.Table:
    """A row for each kind, tuned or not; cells by label and figure."""
    return table.Table(('kind', *figures), [
        (label, *(cells.get((label, figure)) for figure in figures))
        for label in dict.fromkeys(map(_label, lines))])


def _parts(lines: _Lines, figures: Sequence[str]) -> Iterator[page.Section]:
    labels = [*dict.fromkeys(map(_label, lines))]
    for part, (heading, text) in _PARTS.items():
        mre = {(_label(line), line.predicts): line.mre[part]
               for line in lines if part in line.mre}
        if mre:
            yield page.Section(heading, text, [charts.bars(
                labels,
                {figure: [100 * mre.get((label, figure), np.nan)
                          for label in labels] for figure in figures},
                xlabel='mean relative error, %')], [_by_figure(
                    lines, figures, {key: table.percent(value)
                                     for key, value in mre.items()})])


def _distribution(figure: str, verdicts: _Verdicts) -> str:
    kinds = [*dict.fromkeys(v.kind for v in verdicts)]
    tuned = {v.kind for v in verdicts if v.tuned}
    series = []
    for verdict in verdicts:
        final = verdict.tuned or verdict.kind not in tuned
        number = kinds.index(verdict.kind)
        dashes = _DASHES[number >= len(charts.SERIES)]
        series.append(charts.cumulative(
            100 * np.maximum(verdict.errors[compare.INSIDE], 1e-4),
            _label(verdict), dashes[final], lw=1.5 if final else 0.9,
            color=charts.SERIES[number % len(charts.SERIES)]))
    return charts.points(
        series, size_in=(9, 4.5), xscale='log', ylim=(0, 1.02),
        xlabel=f'relative error of {figure}, %', ylabel='share of the runs')


def _by_count(figure: str, verdicts: _Verdicts) -> table.Table:
    counts = sorted({n for v in verdicts for n in v.mre_by_count})
    return table.Table(
        ('kind', *map(str, counts)),
        [(_label(v), *(table.percent(v.mre_by_count.get(n)) for n in counts))
         for v in verdicts], figure)


def _tuning(lines: _Lines) -> Iterator[page.Section]:
    rows = [(line.kind, line.predicts, table.percent(line.change, '+.1f'),
             f'{line.p_of_tuning:.3g}') for line in lines
            if line.change is not None and line.p_of_tuning is not None]
    if rows:
        yield page.Section(
            'The effect of tuning',
            'The error inside with tuned settings against that with the '
            'standard (Figure 13), and the probability of such a difference '
            'by chance (paired t-test).', tables=[table.Table(
                ('kind', 'figure', 'change of the error', 'p'), rows)])


def _tests(verdicts: _Verdicts) -> Iterator[page.Section]:
    """Pairs of kinds, each at its best, all figures pooled."""
    figures = [*dict.fromkeys(v.predicts for v in verdicts)]
    of_key = {(v.kind, v.predicts): v for v in sorted(
        verdicts, key=lambda v: v.tuned)}
    errors = {kind: [of_key[kind, f].errors[compare.INSIDE]
                     for f in figures]
              for kind in dict.fromkeys(v.kind for v in verdicts)
              if all((kind, f) in of_key for f in figures)}
    if len(errors) > 1:
        yield page.Section(
            'Which kinds differ',
            'The probability, by a paired t-test of the errors inside, that '
            'two kinds have the same error, each tuned where it can be; all '
            'figures together. Where it is below 0.05, the one of the '
            'smaller error is better.', tables=[table.Table(
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
            tables=[table.Table(('kind', 'figure', '', 'settings'), rows)])
