# SPDX-License-Identifier: Apache-2.0
"""Every kind on every simulated device: tables, a document, a page."""

from __future__ import annotations

from collections.abc import Sequence
import dataclasses
from typing import Any

import numpy as np

from serifos.lab.accuracy import accuracy
from serifos.lab.accuracy import groups
from serifos.lab.accuracy import runs
from serifos.lab.accuracy import verdict
from serifos.report import charts
from serifos.report import page
from serifos.report import table

_HEADS = {'paper': "paper's tests", 'depths': 'varying depths',
          'wide': 'whole space', 'p99': 'p99'}
_WORDS = (
    "The paper's tests are 1 to 10 workloads of its test vectors; with "
    'varying depths each has 1 to 64 outstanding requests; the whole space is '
    '1 to 16 workloads of 4 KiB to 1 MiB, random to sequential. p99 is of '
    "reads and of writes, on the paper's tests. Errors are mean relative "
    'errors on held-out runs, in the mean over the devices (the '
    'median in brackets). "within" counts the devices whose error is at '
    'most '
    + ', '.join(f'{100 * bound:.0f} % ({_HEADS[name]})'
                for name, bound in accuracy.TARGETS.items())
    + '; "covered" is the share of the tests within the 90 % interval.')


def summary(scores: groups.Scores) -> table.Table:
    """One line for each kind and design, over all devices."""
    devices = len(groups.names(scores, 'device'))
    of_kind = groups.by_kind(scores)
    return table.Table(
        ('kind', 'design', 'runs', *_HEADS.values(), 'covered',
         *(f'within {_HEADS[name]}' for name in accuracy.TARGETS)),
        [_line(kind, label, of_kind.get((kind, label), ()))
         for kind in groups.names(scores, 'kind')
         for label in groups.names(scores, 'design')],
        f'Mean over {devices} device{"s" * (devices != 1)}')


def _line(kind: str, label: str, scores: groups.Scores) -> tuple[object, ...]:
    known = [s for s in scores if s.expected is not None]
    if not known:
        return (kind, label, None, *(None for _ in _HEADS), None,
                *(None for _ in accuracy.TARGETS))
    return (
        kind, label, round(float(np.mean([s.runs for s in scores]))),
        *(_averages([s.errors[name] for s in known]) for name in _HEADS),
        table.percent(np.mean([s.coverage for s in known]), '.0f'),
        *(f'{sum(s.errors[name] <= bound for s in known)} of {len(scores)}'
          for name, bound in accuracy.TARGETS.items()))


def details(scores: groups.Scores) -> table.Table:
    """Percentiles, thinktimes, and whether predictions rise with load."""
    names = (*accuracy.P99, *runs.THINKING)
    rows = []
    for (kind, label), its in groups.by_kind(scores).items():
        errors = {name: [s.errors[name] for s in its if name in s.errors]
                  for name in names}
        rows.append((
            kind, label, *(_averages(errors[name]) for name in names),
            *(sum(error <= accuracy.TARGETS['p99'] for error in errors[name])
              for name in accuracy.P99),
            *(_share([s.covered[name] for s in its if name in s.covered])
              for name in ('depths', *runs.THINKING)),
            sum(s.falls or 0 for s in its)))
    return table.Table(
        ('kind', 'design', 'p99 of reads', 'p99 of writes', *runs.THINKING,
         'within p99 of reads', 'of writes', 'covered varying depths',
         *(f'covered {name}' for name in runs.THINKING), 'falls'),
        rows, 'Percentiles; workloads with thinktimes of 0.2 to 2 ms; '
        f'how many of {accuracy.ADDITIONS:,} workloads a device '
        'lowered a prediction')


def tenants(scores: groups.Scores) -> table.Table:
    """What one tenant sees, over all devices."""
    rows = []
    for (kind, label), its in groups.by_kind(scores).items():
        known = [s for s in its if s.tenants]
        if not known:
            continue
        rows.append((kind, label, *(
            _averages([s.tenants[name] for s in known if name in s.tenants])
            for name in (*runs.TESTS, runs.MOVED)), *(
            _share([s.tenants_covered[name] for s in known
                    if s.tenants_covered.get(name) is not None])
            for name in runs.TESTS)))
    return table.Table(
        ('kind', 'design', *runs.TESTS, runs.MOVED,
         *(f'covered {name}' for name in runs.TESTS)), rows,
        'What one tenant sees, mean relative error; for kinds that do not '
        'tell tenants apart, of the mean of its pool; moved: all think, and '
        'what each has outstanding was observed on another device')


def _share(values: Sequence[float]) -> str | None:
    return f'{100 * np.mean(values):.0f} %' if values else None


def _averages(errors: Sequence[float]) -> str | None:
    """10.1 (8.4) %"""
    return (f'{100 * np.mean(errors):.1f} ({100 * np.median(errors):.1f}) %'
            if errors else None)


def by_device(scores: groups.Scores, label: str, test: str) -> table.Table:
    """The error of each kind on each device, by one design."""
    kinds = groups.names(scores, 'kind')
    found = {(s.device, s.kind): s for s in scores if s.design == label}
    return table.Table(
        ('device', 'runs', *kinds),
        [(device, found[device, kinds[0]].runs, *(
            table.percent(found[device, kind].errors.get(test))
            if (device, kind) in found else None for kind in kinds))
         for device in groups.names(scores, 'device')],
        f'Mean relative error, {_HEADS[test]}; ' + groups.described(label))


def covered(scores: groups.Scores, label: str) -> table.Table | None:
    """Each device's errors and intervals, of kinds that tell tenants apart.

    None where there is no such kind.
    """
    names = [name for name in runs.TESTS if name != 'wide']
    rows = [
        (s.device, s.kind, s.runs, *(
            table.percent(found.get(name)) for found, which in (
                (s.errors, ('paper', 'depths', 'p99')),
                (s.tenants, ('paper', 'depths')),
                (s.covered, names), (s.tenants_covered, names))
            for name in which))
        for s in scores if s.design == label and s.kind != accuracy.AUTO
        and s.tenants_covered.get('paper') is not None]
    return table.Table(
        ('device', 'kind', 'runs', 'pool: paper', 'depths', 'p99',
         'tenant: paper', 'depths', *(f'in interval: {name}' if not i else name
                                      for i, name in enumerate(names)),
         *(f'tenants in: {name}' if not i else name
           for i, name in enumerate(names))),
        rows, 'Mean relative errors of pools and tenants, and the shares '
        'within 90 % intervals; ' + groups.described(label)) if rows else None


def every(scores: groups.Scores) -> list[table.Table]:
    """The tables for a terminal."""
    return [summary(scores), details(scores), tenants(scores),
            by_device(scores, runs.CHOSEN, 'paper'), *_all_covered(scores)]


def _all_covered(scores: groups.Scores) -> list[table.Table]:
    found = (covered(scores, label)
             for label in groups.names(scores, 'design'))
    return [one for one in found if one is not None]


def document(settings: accuracy.AccuracySettings,
             scores: groups.Scores) -> dict[str, Any]:
    """The results as JSON."""
    return {'schema': accuracy.ACCURACY_SCHEMA,
            'settings': dataclasses.asdict(settings),
            'scores': [dataclasses.asdict(score) for score in scores]}


def page_of(scores: groups.Scores, command: str) -> str:
    """An HTML page.

    :param command: that makes it again
    """
    return page.render(
        'Kinds of model on simulated devices',
        'Every kind, fitted to few runs of simulated devices that have the '
        f'form of none.\nMade by: {command}',
        [page.Section('Error against runs', _WORDS, [
            _against_runs(scores, name) for name in ('paper', 'depths')],
            [summary(scores), details(scores), tenants(scores),
             *_all_covered(scores)]),
         *(page.Section(
             f'Every device: {_HEADS[test]}', tables=[
                 by_device(scores, label, test)
                 for label in groups.names(scores, 'design')])
           for test in _HEADS)], verdict=verdict.verdict(scores))


def _against_runs(scores: groups.Scores, test: str) -> str:
    """Lines: the short design; crosses: the runs that a build chooses."""
    series, of_kind = [], groups.by_kind(scores)
    kinds = [k for k in groups.names(scores, 'kind') if k != accuracy.AUTO]
    for number, kind in enumerate(kinds):
        again = number >= len(charts.SERIES)  # the colour of another kind
        for form, chosen in ('s--' if again else 'o-', False), ('x:', True):
            its = [[s for s in of_kind.get((kind, label), ())
                    if s.expected is not None]
                   for label in groups.names(scores, 'design')
                   if (label in groups.CHOSEN) == chosen]
            series.append(charts.Series(
                [float(np.mean([s.runs for s in of])) for of in its if of],
                [100 * float(np.mean([s.errors[test] for s in of]))
                 for of in its if of], form, '' if chosen else kind,
                look={
                    'color': charts.SERIES[number % len(charts.SERIES)]}))
    return charts.points(
        series, level=100 * accuracy.TARGETS[test], size_in=(9, 4),
        yscale='log', xlabel='runs',
        title=f'Mean relative error, {_HEADS[test]}, %; crosses: chosen '
        'runs, and all that may be')
