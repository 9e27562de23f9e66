# SPDX-License-Identifier: Apache-2.0
"""The evaluation as tables, beside the figures of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping

import numpy as np

from serifos.lab.sim.evaluation import Evaluation
from serifos.lab.sim import modeler
from serifos.lab.sim import paper
from serifos.lab.sim import scenario
from serifos.lab.sim import summary
from serifos.model.linear import predict as linear
from serifos.report import table

LABELS = ('1', '2', '3', '4', '5', '5+')

_HEADS = {
    'variance_us2': 'variance', 'max_us': 'worst of all',
    'mean_max_us': 'worst host', 'mean_us': 'mean',
    'p99_read_variance_us2': 'p99 read variance',
    'p99_write_variance_us2': 'p99 write variance',
    'tenants_us': 'tenants', 'worst_tenant_us': 'worst tenant',
    'slo_us': 'SLO mean', 'slo_read_us': 'SLO read',
    'slo_write_us': 'SLO write'}


def every(evaluation: Evaluation) -> list[table.Table]:
    """All tables, the result first."""
    return [*(balancing(evaluation, name)
              for name in evaluation.settings.testbeds),
            *(each for each in (noisy(evaluation), drifted(evaluation))
              if each.rows), *prediction(evaluation)]


def balancing(evaluation: Evaluation, testbed: str) -> table.Table:
    """The gain and the cost of balancing (section 6.2)."""
    rows = [('paper', '(measured)',
             *(_change(paper.REDUCTION.get(name)) for name in summary.FIGURES),
             None, None, None, None)] if testbed == 'paper' else []
    rows += [(
        result['planner'], result['kind'],
        *(_change(result['reduction'][name]) for name in summary.FIGURES),
        result['cases_worse'], result['tenants_worse'],
        round(result['moves'], 1),
        round(result['moved_gib']))
        for result in evaluation.balanced(testbed)]
    was = summary.figures(evaluation.of(testbed, scenario.CAPACITY, ''))
    return table.Table(
        ('planner', 'models', *(_HEADS[name] for name in summary.FIGURES),
         'cases worse', 'tenant worse', 'moves', 'GiB'), rows,
        f'Testbed {testbed}: change against Cinder\'s available capacity '
        f'over {evaluation.settings.cases} cases; its own worst host of all '
        f'is {was["max_us"] / 1000:.2f} ms, in the mean over the cases '
        f'{was["mean_max_us"] / 1000:.2f} ms')


def noisy(evaluation: Evaluation) -> table.Table:
    """What the balancer moves where its observations are noisy."""
    settings = evaluation.settings
    return table.Table(
        ('testbed', 'models', 'hold', 'moves', 'of them returns'),
        [(testbed, kind, hold, round(moves, 1), round(returns, 1))
         for (testbed, kind, hold), (moves, returns)
         in evaluation.noisy.items()],
        f'Moves of a case in {settings.rounds} rounds in which each rate is '
        'observed with an error of 10 %, 2 moves a round at most, without a '
        'cool-down')


def drifted(evaluation: Evaluation) -> table.Table:
    """The effect of measured levels where devices drifted."""
    return table.Table(
        ('testbed', 'models', 'measured', 'worst host', 'moves'),
        [(testbed, kind, 'yes' if measured else 'no', _change(-change),
          round(moves, 1)) for (testbed, kind, measured), (change, moves)
         in evaluation.drifted.items()],
        'Change over a few rounds against Cinder\'s available capacity, where '
        'the times of every device drifted by 25 % from its model')


def prediction(evaluation: Evaluation) -> list[table.Table]:
    """Tables 6 and 7, Figure 2, the devices' difference from the paper's."""
    tests = evaluation.settings.tests
    of = evaluation.settings.predicts
    tables = [
        table.Table(
            ('device', 'models', *LABELS), [*_errors(evaluation)],
            f'Table 7: mean relative error of {of} by number of workloads, on '
            f'{tests} random tests of each count and {2 * tests} of 6 to '
            '10'),
        table.Table(
            ('device', 'models', '25 %', 'median', '75 %'),
            [*_residuals(evaluation)],
            f'Figure 2: measured - predicted {of} of the tests of 1 to 5 '
            'workloads; half of them lies between the first and the last'),
        table.Table(
            ('device', 'count', 'intercept', 'sum of write_pct',
             'sum of block_kib', 'paper: intercept', 'write_pct',
             'block_kib'), [*_consolidation(evaluation)],
            'Table 6: the consolidation models, µs'),
        table.Table(
            ('device', 'models', 'kind', 'terms (µs)',
             'cross-validated error'), [*_others(evaluation)],
            f'The models of the short design, {modeler.SHORT_RUNS} runs'),
        table.Table(
            ('device', *LABELS[:-1], 'all'),
            [(name, *map(table.percent, by_count.values()))
             for name, by_count in evaluation.mismatch.items()],
            'How far the simulated devices are from what Table 6 predicts '
            'on the training vectors: mean relative error by number of '
            'workloads')]
    return [each for each in tables if each.rows]


def _errors(evaluation: Evaluation) -> Iterator[tuple[object, ...]]:
    for kind, of_kind in evaluation.tests.items():
        for name, tested in of_kind.items():
            yield (name, kind, *(table.percent(tested.mre[n]) for n in LABELS))
    if not evaluation.settings.of_means:
        return
    for name, mre in paper.MRE.items():
        yield (name, 'the paper', *(table.percent(mre[n]) for n in LABELS))


def _residuals(evaluation: Evaluation) -> Iterator[tuple[object, ...]]:
    for kind, of_kind in evaluation.tests.items():
        for name, tested in of_kind.items():
            yield (name, kind, *(round(float(us)) for us in np.percentile(
                tested.residuals_us, (25, 50, 75))))
    if not evaluation.settings.of_means:
        return
    for name, (low, high) in paper.RESIDUALS_US.items():
        yield name, 'the paper', round(low), 'near 0', round(high)


def _consolidation(evaluation: Evaluation) -> Iterator[tuple[object, ...]]:
    for name, model in evaluation.models.get('consolidation', {}).items():
        for label in LABELS:
            row: Mapping[str, float] = model.parameters.get(label, {})
            theirs = (paper.CONSOLIDATION if evaluation.settings.of_means
                      else {}).get(name, {}).get(label, (None,) * 3)
            yield (name, label,
                   *(_coefficient(row.get(term))
                     for term in linear.TERMS['consolidation']),
                   *map(_coefficient, theirs))


def _others(evaluation: Evaluation) -> Iterator[tuple[object, ...]]:
    for kind, of_kind in evaluation.models.items():
        if kind == 'consolidation':
            continue
        for name, model in of_kind.items():
            lines = model.predictor.lines()
            if model.kind == 'consolidation':
                lines = lines[-1:]
            yield (name, kind, model.kind, '; '.join(
                f'{label}: {rule}' for label, rule in lines),
                table.percent(model.quality['mre']))


def _change(reduction: float | None) -> str | None:
    """-82 % for a figure that fell by 0.82."""
    return None if reduction is None else table.percent(-reduction, '+.0f')


def _coefficient(value: float | None) -> str | None:
    return None if value is None else f'{value:.5g}'
