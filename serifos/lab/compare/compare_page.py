# SPDX-License-Identifier: Apache-2.0
"""The page of a comparison of the kinds of model on datasets.

Table 3 and Figures 5 and 8 to 13 of Noorshams et al. for their runs.
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

_LEAST_ERROR = 1e-5  # an error of 0 has no place on a logarithmic axis
_WORST = 10
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
            divided: Mapping[tuple[str, str], compare.Parts],
            refused: Mapping[str, str], repeated: Sequence[compare.Spread],
            about: str) -> str:
    """An HTML page on a comparison.

    :param name: of the datasets
    :param divided: (dataset, figure) → how its runs were divided
    :param refused: the kinds that could not be fitted, and why
    :param repeated: of each figure, how far runs made again are apart
    :param about: the devices, where and when they were measured
    """
    lines = compare.lines(verdicts)
    figures = [*dict.fromkeys(map(_of, lines))]
    r2 = {(_label(line), _of(line)): line.r2 for line in lines}
    of_set = [its for which in divided if (its := [
        v for v in verdicts if (v.dataset, v.predicts) == which])]
    sections = [
        page.Section(
            'Goodness of fit',
            'The coefficient of determination, R², of the runs that the '
            'models were fitted on (Table 3 of the paper). A high one does '
            'not mean a good prediction.', tables=[
                _by_figure(lines, figures, {
                    key: value and f'{value:.4f}'
                    for key, value in r2.items()})]),
        *_parts(lines, figures),
        page.Section(
            'The distribution of errors',
            'The share of the runs held out inside the ranges (of the other '
            'runs, where none was held out) whose error is below a bound '
            '(Figure 8). Thick lines are tuned, or of kinds without '
            'settings; thin ones are with standard settings.',
            [*map(_distribution, of_set)]),
        page.Section(
            'By number of workloads',
            'The mean relative error on all held-out runs, by the number '
            'of workloads that ran together (in place of Figures 11 '
            'and 12).', tables=[*map(_by_count, of_set)]),
        *_tuning(lines), *_tests(verdicts), *_settings(lines),
        *_repeats(repeated),
        page.Section('The runs', tables=[table.Table(
            ('figure', 'training', *_PARTS),
            [(_named(*which), len(parts.training), *(
                len(parts.tested[part]) if part in parts.tested else None
                for part in _PARTS))
             for which, parts in divided.items()],
            'The number of runs of each part; edges overlap.')])]
    if refused:
        sections.append(page.Section(
            'Kinds that were not compared',
            tables=[table.Table(('kind', 'reason'), [*refused.items()])]))
    return page.render(
        f'Kinds of model on {name}',
        'Every kind was fitted on the same part of the runs and tested on '
        'the same others, held out of fits and tuning. Errors are mean '
        f'relative errors.\n{about}', sections,
        verdict=' '.join(_verdicts(lines, divided)))


def _verdicts(lines: _Lines, divided: Mapping[tuple[str, str], compare.Parts]
              ) -> Iterator[str]:
    """A verdict on each figure; of several datasets in their mean."""
    of = lines[-1].dataset
    for figure in dict.fromkeys(figure for _, figure in divided):
        found = [line for line in lines
                 if (line.dataset, line.predicts) == (of, figure)]
        if found:
            parts = divided.get((of, figure))
            yield verdict(found, parts and len(parts.training))


def verdict(lines: _Lines, runs: int | None) -> str:
    """Name the best kind of a figure, and how good and how certain that is.

    :param lines: of one figure
    :param runs: that each kind was fitted to, None in the mean of datasets
    """
    best = min(lines, key=lambda line: line.main)
    error, who = best.main, _label(best)
    latency = best.predicts == 'latency_us'
    alike = [_label(line) for line in lines if line is not best
             and line.kind != best.kind and line.p_of_best is not None
             and line.p_of_best >= _SURE]
    beyond = dict([*best.mre.items()][1:])
    worst = max(beyond, key=beyond.__getitem__, default='')
    return ''.join((
        f'{who} predicts {"latency" if latency else best.predicts} best: ',
        headline(error, runs) if latency else f'{percent(error)} error',
        '' if runs else ' in the mean of the datasets',
        '.', f' Within chance as good: {", ".join(alike)}.' if alike else '',
        f' Beyond what it was fitted to it is worse, most for {worst}: '
        f'{percent(beyond[worst])}.'
        if worst and beyond[worst] > error else ''))


def _of(of: compare.ComparisonRow | compare.Verdict) -> str:
    return _named(of.dataset, of.predicts)


def _named(dataset: str, figure: str) -> str:
    return f'{dataset}: {figure}' if dataset else figure


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
        mre = {(_label(line), _of(line)): line.mre[part]
               for line in lines if part in line.mre}
        if mre:
            yield page.Section(heading, text, [charts.bars(
                labels,
                {figure: [100 * mre.get((label, figure), np.nan)
                          for label in labels] for figure in figures},
                xlabel='mean relative error, %')], [_by_figure(
                    lines, figures, {key: table.percent(value)
                                     for key, value in mre.items()})])


def _distribution(verdicts: _Verdicts) -> str:
    kinds = [*dict.fromkeys(v.kind for v in verdicts)]
    tuned = {v.kind for v in verdicts if v.tuned}
    series = []
    for verdict in verdicts:
        final = verdict.tuned or verdict.kind not in tuned
        number = kinds.index(verdict.kind)
        dashes = _DASHES[number >= len(charts.SERIES)]
        series.append(charts.cumulative(
            100 * np.maximum(verdict.errors[verdict.main], 1e-4),
            _label(verdict), dashes[final], lw=1.5 if final else 0.9,
            color=charts.SERIES[number % len(charts.SERIES)]))
    return charts.points(
        series, size_in=(9, 4.5), xscale='log', ylim=(0, 1.02),
        xlabel=f'relative error of {_of(verdicts[0])}, %',
        ylabel='share of the runs')


def _by_count(verdicts: _Verdicts) -> table.Table:
    counts = sorted({n for v in verdicts for n in v.mre_by_count})
    return table.Table(
        ('kind', *map(str, counts)),
        [(_label(v), *(table.percent(v.mre_by_count.get(n)) for n in counts))
         for v in verdicts], _of(verdicts[0]))


def _tuning(lines: _Lines) -> Iterator[page.Section]:
    rows = [(line.kind, _of(line), table.percent(line.change, '+.1f'),
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
    figures = [*dict.fromkeys(map(_of, verdicts))]
    of_key = {(v.kind, _of(v)): v for v in sorted(
        verdicts, key=lambda v: v.tuned)}
    errors = {kind: [v.errors[v.main] for f in figures
                     for v in [of_key[kind, f]]]
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
    rows = [(line.kind, _of(line), 'tuned' if line.tuned else 'standard',
             ', '.join(f'{name} {value:.4g}'
                       for name, value in line.settings.items()))
            for line in lines if line.settings]
    if rows:
        yield page.Section(
            'The settings', 'Standard, and as tuning chose them (Table 2).',
            tables=[table.Table(('kind', 'figure', '', 'settings'), rows)])


def _repeats(found: Sequence[compare.Spread]) -> Iterator[page.Section]:
    """The section of the errors of repeated runs (Figure 5)."""
    if not found:
        return
    chart = charts.points(
        [charts.cumulative(
            [100 * max(error, _LEAST_ERROR) for error in one.errors],
            _named(one.dataset, one.figure),
            color=charts.SERIES[i % len(charts.SERIES)])
         for i, one in enumerate(found)],
        level=0.9, size_in=(9, 4), xscale='log', ylim=(0, 1.02),
        xlabel='relative standard error of the mean, %',
        ylabel='share of the configurations')
    yield page.Section(
        'Repeated runs',
        'The relative standard error of the mean of runs of the same '
        'workloads: their standard deviation, divided by the root of their '
        'number and by their mean (Figure 5). No model can be more certain.',
        [chart], [table.Table(
            ('figure', 'configurations', 'runs', 'mean', 'median',
             '90th percentile', "the paper's mean",
             "the paper's 90th percentile"),
            [(_named(one.dataset, one.figure), len(one.repeated), one.runs,
              *(table.percent(share, '.2f') for share in (
                  one.mean, one.median, one.p90,
                  *compare.PAPER.get(one.figure, (None, None)))))
             for one in found]),
            *(table.Table(
                ('workloads', 'runs', 'mean, ms', 'error'),
                [(its.words, len(its.values),
                  sum(its.values) / len(its.values) / 1e3,
                  table.percent(its.rse, '.2f'))
                 for its in one.repeated[:_WORST]],
                f'{_named(one.dataset, one.figure)}: the configurations of '
                'the largest errors')
              for one in found)])
