# SPDX-License-Identifier: Apache-2.0
"""The evaluation as an HTML page, with Figures 2 to 6 of the paper."""

from __future__ import annotations

from serifos.lab.sim import devices
from serifos.lab.sim.evaluation import Evaluation
from serifos.lab.sim import paper
from serifos.lab.sim import scenario
from serifos.lab.sim import sim_tables
from serifos.lab.sim import summary
from serifos.report import charts
from serifos.report import page
from serifos.report import wording

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
    f'variance, rose by more than {100 * summary.WORSE_BY:.0f} %.')
_BOXES = ('Boxes hold the middle half of the cases, whiskers reach from the '
          'smallest to the greatest.')


def page_of(evaluation: Evaluation, command: str) -> str:
    """An HTML page.

    :param command: that makes the evaluation again
    """
    settings = evaluation.settings
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
        [*(_balanced(evaluation, name, kind) for name in settings.testbeds),
         page.Section(
             'Error of the predicted latencies',
             'Figure 2: measured minus predicted latency of the tests of 1 '
             'to 5 workloads, ms; boxes hold the middle half, whiskers reach '
             'from the 5th to the 95th percentile. The shaded band is where '
             'the paper has the middle half.',
             [_residuals(evaluation)], sim_tables.prediction(evaluation))],
        verdict=' '.join(verdict(evaluation, name, kind)
                         for name in settings.testbeds))


def verdict(evaluation: Evaluation, testbed: str, kind: str) -> str:
    """What the best planner brings to a testbed, and what it costs.

    Best is that of the fastest worst host, in the mean over the cases.
    """
    was = summary.figures(evaluation.of(testbed, scenario.CAPACITY, ''))
    best = max((result for result in evaluation.balanced(testbed)
                if result['kind'] == kind),
               key=lambda result: result['reduction']['mean_max_us'])
    fell, cases = (best['reduction']['mean_max_us'],
                   evaluation.settings.cases)
    ms = was['mean_max_us'] / 1e3
    worth = fell > 0 and 2 * best['cases_worse'] < cases
    return (f'{"Worth it" if worth else "Not worth it"} on testbed {testbed}: '
            f'{best["planner"]} brings the slowest host from {ms:.3g} to '
            f'{ms * (1 - fell):.3g} ms in the mean of '
            f'{wording.count(cases, "case")}, with {best["moves"]:.1f} moves '
            f'of {best["moved_gib"]:,.0f} GiB in each; in '
            f'{best["cases_worse"]} of them the slowest host, or the '
            'variance, is worse.')


def _balanced(evaluation: Evaluation, name: str,
              kind: str) -> page.Section:
    hosts = ' and '.join(
        f'{number} hosts of {gib:g} GiB {ssd.name}' for ssd,
        (number, gib) in devices.TESTBEDS[name].hosts.items())
    of_placement = {
        planner: evaluation.of(
            name, planner, '' if planner == scenario.CAPACITY else kind)
        for planner in _PLACEMENTS if planner != scenario.BY_MEAN}
    return page.Section(
        f'Testbed {name}: {hosts}',
        f'The figures show the planners with {kind} models. {_BOXES}\n'
        f'{_COLUMNS}',
        [*(_distribution(number, title, figure, of_placement, name)
           for number, figure, title in _DISTRIBUTIONS),
         _supported(of_placement)],
        [sim_tables.balancing(evaluation, name)])


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
        {planner: [summary.FIGURES[name](outcomes) / 1000 for name in _SLOS]
         for planner, outcomes in of_placement.items()}, colours=_COLOURS,
        title='Figure 6. What 99 % of the workloads stay below, ms')


def _residuals(evaluation: Evaluation) -> str:
    """Figure 2: one box for each device and kind."""
    kinds = evaluation.settings.kinds
    return charts.boxes([
        charts.Boxes(f'{name}, ms', {
            kind: [us / 1e3 for us
                   in evaluation.tests[kind][name].residuals_us]
            for kind in kinds}, band=_in_ms(
                paper.RESIDUALS_US.get(name)
                if evaluation.settings.of_means else None))
        for name in evaluation.tests[kinds[0]]])


def _in_ms(band: tuple[float, float] | None) -> tuple[float, float] | None:
    return band and (band[0] / 1e3, band[1] / 1e3)
