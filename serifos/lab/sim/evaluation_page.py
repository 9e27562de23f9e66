# SPDX-License-Identifier: Apache-2.0
"""Tables and page of an evaluation, with Figures 2 to 6 of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping

import numpy as np

from serifos.facts import phrases
from serifos.lab.sim import devices
from serifos.lab.sim import evaluation
from serifos.lab.sim.evaluation import Evaluation
from serifos.lab.sim import modeler
from serifos.lab.sim import paper
from serifos.lab.sim import scenario
from serifos.model.linear import predict as linear
from serifos.report import charts
from serifos.report import page
from serifos.report import table

_PLACEMENTS = (scenario.CAPACITY, *scenario.NAMES)
_COLOURS = (charts.GREY, charts.PURPLE, charts.BROWN, charts.BLUE,
            charts.GREEN)
_SLOS = {'slo_us': 'mean latency', 'slo_read_us': 'read p99',
         'slo_write_us': 'write p99'}
_DISTRIBUTIONS = (
    (3, 'latency_us', 'Mean latency of the hosts'),
    (4, 'read_p99_us', '99th percentile of reads'),
    (5, 'write_p99_us', '99th percentile of writes'))
_COLUMNS = (
    'In the table, variances are over the hosts of a case, in the mean over '
    'the cases; "worst of all" is the slowest host of all cases, "worst '
    'host" the mean of each case\'s slowest; "tenants" is the geometric mean '
    'over all workloads, "worst tenant" the mean of each case\'s slowest '
    'workload. An SLO is what 99 % of all '
    'workloads stay below: by mean latency, by the 99th percentile of reads, '
    'of writes. A case is worse where its slowest host\'s latency, or its '
    f'variance, rose by more than {100 * evaluation.WORSE_BY:.0f} %.')
_BOXES = ('Boxes hold the middle half of the cases, whiskers reach from the '
          'smallest to the greatest.')
LABELS = ('1', '2', '3', '4', '5', '5+')
_HEADS = {
    'variance_us2': 'variance', 'max_us': 'worst of all',
    'mean_max_us': 'worst host', 'mean_us': 'mean',
    'p99_read_variance_us2': 'p99 read variance',
    'p99_write_variance_us2': 'p99 write variance',
    'tenants_us': 'tenants', 'worst_tenant_us': 'worst tenant',
    'slo_us': 'SLO mean', 'slo_read_us': 'SLO read',
    'slo_write_us': 'SLO write'}


def page_of(found: Evaluation, command: str) -> str:
    """An HTML page.

    :param command: that makes the evaluation again
    """
    settings = found.settings
    kind = settings.kinds[-1]
    return page.render(
        'Balancing simulated devices',
        'Section 6 of the Serifos paper on simulated devices, which the '
        'planners know only through models: '
        f'{settings.cases} cases of {paper.WORKLOADS[0]} to '
        f'{paper.WORKLOADS[1]} random workloads, placed by Cinder\'s '
        'available capacity, then balanced. placement is that of '
        'SerifosWeigher instead, which moves nothing; algorithm1 is the '
        'paper\'s planner as printed (a volume lifted off its host first), '
        'bfd the same that makes only moves which the local rule accepts, '
        'relieve makes at most four moves off hot hosts.\n'
        f'Made by: {command}',
        [*(_balanced(found, name, kind) for name in settings.testbeds),
         page.Section(
             'Error of the predicted latencies',
             'Figure 2: measured minus predicted latency of the tests of 1 '
             'to 5 workloads, ms; boxes hold the middle half, whiskers reach '
             'from the 5th to the 95th percentile. The shaded band is where '
             'the paper has the middle half.',
             [_residuals(found)], prediction(found))],
        verdict=' '.join(verdict(found, name, kind)
                         for name in settings.testbeds))


def verdict(found: Evaluation, testbed: str, kind: str) -> str:
    """What the best planner brings to a testbed, and what it costs.

    Best is that of the fastest worst host, in the mean over the cases.
    """
    was = evaluation.figures(found.of(testbed, scenario.CAPACITY, ''))
    best = max((result for result in found.balanced(testbed)
                if result['kind'] == kind),
               key=lambda result: result['reduction']['mean_max_us'])
    fell, cases = (best['reduction']['mean_max_us'],
                   found.settings.cases)
    ms = was['mean_max_us'] / 1e3
    worth = fell > 0 and 2 * best['cases_worse'] < cases
    return (f'{"Worth it" if worth else "Not worth it"} on testbed {testbed}: '
            f'{best["planner"]} brings the slowest host from {ms:.3g} to '
            f'{ms * (1 - fell):.3g} ms in the mean of '
            f'{phrases.count(cases, "case")}, with {best["moves"]:.1f} moves '
            f'of {best["moved_gib"]:,.0f} GiB in each; in '
            f'{best["cases_worse"]} of them the slowest host, or the '
            'variance, is worse.')


def _balanced(found: Evaluation, name: str,
              kind: str) -> page.Section:
    hosts = ' and '.join(
        f'{number} hosts of {gib:g} GiB {ssd.name}' for ssd,
        (number, gib) in devices.TESTBEDS[name].hosts.items())
    of_placement = {
        planner: found.of(
            name, planner, '' if planner == scenario.CAPACITY else kind)
        for planner in _PLACEMENTS if planner != scenario.BY_MEAN}
    return page.Section(
        f'Testbed {name}: {hosts}',
        f'The figures show the planners with {kind} models. {_BOXES}\n'
        f'{_COLUMNS}',
        [*(_distribution(number, title, figure, of_placement, name)
           for number, figure, title in _DISTRIBUTIONS),
         _supported(of_placement)],
        [balancing(found, name)])


def _distribution(number: int, title: str, figure: str,
                  of_placement: dict[str, list[scenario.PlannerResult]],
                  testbed: str) -> str:
    """Figures 3 to 5: a box for each host, a panel for each placement."""
    names = [f'{ssd.name}\n{i}'
             for ssd, (count, _) in devices.TESTBEDS[testbed].hosts.items()
             for i in range(1, count + 1)]
    return charts.boxes(
        [charts.Boxes(planner, {
            name: [getattr(outcome.hosts[i], figure) / 1000
                   for outcome in outcomes]
            for i, name in enumerate(names)}, colour)
         for (planner, outcomes), colour in zip(
             of_placement.items(), _COLOURS)],
        title=f'Figure {number}. {title}, ms', whiskers=(0, 100),
        sharey=True, ylim=(0, None))


def _supported(of_placement: dict[str, list[scenario.PlannerResult]]) -> str:
    """Figure 6: the latency that 99 % of the workloads stay below."""
    return charts.bars(
        [*_SLOS.values()],
        {planner: [evaluation.FIGURES[name](outcomes) / 1000 for name in _SLOS]
         for planner, outcomes in of_placement.items()}, colours=_COLOURS,
        title='Figure 6. What 99 % of the workloads stay below, ms')


def _residuals(found: Evaluation) -> str:
    """Figure 2: one box for each device and kind."""
    kinds = found.settings.kinds
    return charts.boxes([
        charts.Boxes(f'{name}, ms', {
            kind: [us / 1e3 for us
                   in found.tests[kind][name].residuals_us]
            for kind in kinds}, band=_in_ms(
                paper.RESIDUALS_US.get(name)
                if found.settings.of_means else None))
        for name in found.tests[kinds[0]]])


def _in_ms(band: tuple[float, float] | None) -> tuple[float, float] | None:
    return band and (band[0] / 1e3, band[1] / 1e3)


def every(found: Evaluation) -> list[table.Table]:
    """All tables, the result first."""
    return [*(balancing(found, name)
              for name in found.settings.testbeds), *prediction(found)]


def balancing(found: Evaluation, testbed: str) -> table.Table:
    """The gain and the cost of balancing (section 6.2)."""
    rows = [('paper', '(measured)',
             *(_change(paper.REDUCTION.get(name))
               for name in evaluation.FIGURES),
             None, None, None, None)] if testbed == 'paper' else []
    rows += [(
        result['planner'], result['kind'],
        *(_change(result['reduction'][name]) for name in evaluation.FIGURES),
        result['cases_worse'], result['tenants_worse'],
        round(result['moves'], 1),
        round(result['moved_gib']))
        for result in found.balanced(testbed)]
    was = evaluation.figures(found.of(testbed, scenario.CAPACITY, ''))
    return table.Table(
        ('planner', 'models', *(_HEADS[name] for name in evaluation.FIGURES),
         'cases worse', 'tenant worse', 'moves', 'GiB'), rows,
        f'Testbed {testbed}: change against Cinder\'s available capacity '
        f'over {found.settings.cases} cases; its own worst host of all '
        f'is {was["max_us"] / 1000:.2f} ms, in the mean over the cases '
        f'{was["mean_max_us"] / 1000:.2f} ms')


def prediction(found: Evaluation) -> list[table.Table]:
    """Tables 6 and 7, Figure 2, the devices' difference from the paper's."""
    tests = found.settings.tests
    of = found.settings.predicts
    tables = [
        table.Table(
            ('device', 'models', *LABELS), [*_errors(found)],
            f'Table 7: mean relative error of {of} by number of workloads, on '
            f'{tests} random tests of each count and {2 * tests} of 6 to '
            '10'),
        table.Table(
            ('device', 'models', '25 %', 'median', '75 %'),
            [*_halves(found)],
            f'Figure 2: measured - predicted {of} of the tests of 1 to 5 '
            'workloads; half of them lies between the first and the last'),
        table.Table(
            ('device', 'count', 'intercept', 'sum of write_pct',
             'sum of block_kib', 'paper: intercept', 'write_pct',
             'block_kib'), [*_consolidation(found)],
            'Table 6: the consolidation models, µs'),
        table.Table(
            ('device', 'models', 'kind', 'terms (µs)',
             'cross-validated error'), [*_others(found)],
            f'The models of the short design, {modeler.SHORT_RUNS} runs'),
        table.Table(
            ('device', *LABELS[:-1], 'all'),
            [(name, *map(table.percent, by_count.values()))
             for name, by_count in found.mismatch.items()],
            'How far the simulated devices are from what Table 6 predicts '
            'on the training vectors: mean relative error by number of '
            'workloads')]
    return [each for each in tables if each.rows]


def _errors(found: Evaluation) -> Iterator[tuple[object, ...]]:
    for kind, of_kind in found.tests.items():
        for name, tested in of_kind.items():
            yield (name, kind, *(table.percent(tested.mre[n]) for n in LABELS))
    if not found.settings.of_means:
        return
    for name, mre in paper.MRE.items():
        yield (name, 'the paper', *(table.percent(mre[n]) for n in LABELS))


def _halves(found: Evaluation) -> Iterator[tuple[object, ...]]:
    for kind, of_kind in found.tests.items():
        for name, tested in of_kind.items():
            yield (name, kind, *(round(float(us)) for us in np.percentile(
                tested.residuals_us, (25, 50, 75))))
    if not found.settings.of_means:
        return
    for name, (low, high) in paper.RESIDUALS_US.items():
        yield name, 'the paper', round(low), 'near 0', round(high)


def _consolidation(found: Evaluation) -> Iterator[tuple[object, ...]]:
    for name, model in found.models.get('consolidation', {}).items():
        for label in LABELS:
            row: Mapping[str, float] = model.parameters.get(label, {})
            theirs = (paper.CONSOLIDATION if found.settings.of_means
                      else {}).get(name, {}).get(label, (None,) * 3)
            yield (name, label,
                   *(_coefficient(row.get(term))
                     for term in linear.TERMS['consolidation']),
                   *map(_coefficient, theirs))


def _others(found: Evaluation) -> Iterator[tuple[object, ...]]:
    for kind, of_kind in found.models.items():
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
