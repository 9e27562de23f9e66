# SPDX-License-Identifier: Apache-2.0
"""Metrics of the cloud and of the balancer, for Prometheus.

They are read from what the balancer writes: its observation, its models and
its journal. So they are the same whoever reports them, and there is nothing to
lose at a restart.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence

from prometheus_client import core
from prometheus_client import registry

from serifos.facts import journal
from serifos.facts import times
from serifos.model.model import Model
from serifos.plan.outlook import Outlook
from serifos.plan.outlook import PoolOutlook

_DAY_S = 86400.0
_GIB = 2.0 ** 30
_US = 1e-6

Metric = registry.Metric

_POOL: tuple[tuple[str, str], ...] = (
    ('seen_latency_seconds', 'Latency that the tenants of a pool see, the '
     'mean over its active volumes.'),
    ('predicted_latency_seconds', 'The same as its model predicts it.'),
    ('predicted_latency_low_seconds', 'Lower end of the 90 % interval of '
     'that.'),
    ('predicted_latency_high_seconds', 'Upper end of the 90 % interval of '
     'that.'),
    ('planned_latency_seconds', 'Latency that is predicted after a plan of '
     'now.'),
    ('hot', '1 where the planner takes the pool for hot.'),
    ('outside_model', '1 where the load is beyond what the model was '
     'trained on.'),
    ('drifting', '1 where the pool has been far from its model for hours.'),
    ('up', '1 where the pool is up, and seen by telemetry.'),
    ('volumes', 'Volumes in the pool.'),
    ('active_volumes', 'Those of them with a load.'),
    ('violated_slos', 'Volumes that exceed their SLO, as measured or as '
     'predicted.'),
    ('immovable_ratio', 'Part of the load of a pool that may not be moved.'),
    ('free_bytes', 'Space that plans may fill.'))
"""(name, help) of the gauges of each pool, behind ``serifos_pool_``."""


def of_cloud(seen: Outlook, observed_at: str | None,
             models: Mapping[str, Model]) -> Iterator[Metric]:
    """What the observation says, and a plan by it.

    :param seen: that plan
    :param observed_at: ISO 8601, None where that is not known
    :param models: those of the pools, by their names
    """
    pools = {name: core.GaugeMetricFamily(
        f'serifos_pool_{name}', text, labels=['pool'])
        for name, text in _POOL}
    for pool in seen.pools:
        for name, value in _figures(pool):
            if value is not None:
                pools[name].add_metric([pool.pool.name], float(value))
    yield from pools.values()
    errors = core.GaugeMetricFamily(
        'serifos_model_error_ratio', 'Mean relative error of a model, in '
        'cross-validation.', labels=['model', 'kind'])
    for name, model in sorted(models.items()):
        if isinstance(model.quality.get('mre'), float):
            errors.add_metric([name, model.kind], model.quality['mre'])
    yield errors
    if observed_at is not None:
        yield core.GaugeMetricFamily(
            'serifos_observation_timestamp_seconds', 'When the cloud was '
            'observed.', value=times.parse(observed_at))
    yield core.GaugeMetricFamily(
        'serifos_plan_moves', 'Moves of a plan of now.',
        value=len(seen.plan.moves))
    yield core.GaugeMetricFamily(
        'serifos_plan_bytes', 'What they copy.', value=seen.gib * _GIB)
    refused = core.GaugeMetricFamily(
        'serifos_plan_refused_volumes', 'Volumes that stay on slow pools, by '
        'reason; the code of a reason stays, whatever its words.',
        labels=['reason', 'code'])
    for staying in seen.staying:
        refused.add_metric([staying.kind, staying.code or ''],
                           staying.volumes)
    yield refused


def _figures(pool: PoolOutlook) -> Iterator[tuple[str, float | None]]:
    before, expected = pool.before, pool.before.expected
    for name, us in (
            ('seen_latency_seconds', pool.seen_us),
            ('predicted_latency_seconds', before.latency_us),
            ('predicted_latency_low_seconds', expected and expected.low_us),
            ('predicted_latency_high_seconds', expected and expected.high_us),
            ('planned_latency_seconds', pool.after.latency_us)):
        yield name, None if us is None else us * _US
    yield 'hot', before.hot
    yield 'outside_model', expected and expected.outside
    yield 'drifting', pool.pool.drifting is not None
    yield 'up', pool.pool.state == 'up'
    yield 'volumes', pool.volumes
    yield 'active_volumes', pool.active
    yield 'violated_slos', before.broken
    yield 'immovable_ratio', pool.immovable
    yield 'free_bytes', before.free_gib * _GIB


def of_journal(entries: Sequence[journal.Entry],
               now: float) -> Iterator[Metric]:
    """What was moved in the last day.

    Gauges: the journal drops old entries, so that counters would fall.

    :param now: seconds of the epoch
    """
    results: collections.Counter[str] = collections.Counter()
    sizes: dict[str, float] = {}
    gib = 0.0
    for entry in entries:
        if entry.kind == 'request':
            sizes[entry.facts['volume']] = float(entry.facts['size_gib'])
        elif entry.kind == 'outcome' and (
                times.parse(entry.at) > now - _DAY_S):
            results[entry.facts['result']] += 1
            if entry.facts['result'] in journal.MOVED:
                gib += sizes.get(entry.facts['volume'], 0.0)
    moves = core.GaugeMetricFamily(
        'serifos_day_moves', 'Migrations that ended in the last 24 hours, by '
        'their result.', labels=['result'])
    for result in sorted({*journal.MOVED, *journal.FAILED, *results}):
        moves.add_metric([result], results[result])
    yield moves
    yield core.GaugeMetricFamily(
        'serifos_day_moved_bytes', 'Size of the volumes that were moved in '
        'the last 24 hours.', value=gib * _GIB)
    yield core.GaugeMetricFamily(
        'serifos_moves_under_way', 'Migrations that were requested and have '
        'not ended.', value=len(journal.open_moves(entries)))
    yield core.GaugeMetricFamily(
        'serifos_paused', '1 where nothing moves until serifos-balancer '
        'resume.',
        value=float(journal.paused(entries)))


def of_rounds(counted: Sequence[tuple[str, str, int, float]],
              leader: str | None) -> Iterator[Metric]:
    """The rounds of each balancer, and which of them leads.

    :param counted: a host, a result, the number of its rounds with that, and
        when the last of them ended, seconds of the epoch
    :param leader: the host of the balancer that leads, None where none does
    """
    number = core.CounterMetricFamily(
        'serifos_rounds', 'Rounds of a balancer, by their result.',
        labels=['host', 'result'])
    last = core.GaugeMetricFamily(
        'serifos_round_timestamp_seconds', 'When its last round of that '
        'result ended.', labels=['host', 'result'])
    for host, result, rounds, last_at in counted:
        number.add_metric([host, result], rounds)
        last.add_metric([host, result], last_at)
    yield number
    yield last
    leads = core.GaugeMetricFamily(
        'serifos_leader', '1 of the balancer that leads, or was killed while '
        'it led, 0 of others.', labels=['host'])
    for host in sorted({host for host, *_ in counted} | (
            {leader} if leader else set())):
        leads.add_metric([host], float(host == leader))
    yield leads
