# SPDX-License-Identifier: Apache-2.0
"""SerifosScheduler: a FilterScheduler that ranks pools by predicted latency.

Cinder's own filters and weighers run as before, and their order decides among
the pools that differ by less than the model's error. Without predictions
their order is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import time
from typing import Any

from cinder.scheduler import filter_scheduler
from cinder.scheduler import weights
from oslo_config import cfg
from oslo_log import log

from serifos.scheduler import judge
from serifos.scheduler import metrics
from serifos.scheduler import predict
from serifos.scheduler import rate_limited_log
from serifos.scheduler import request

CONF = cfg.CONF
LOG = log.getLogger(__name__)


class Ranked(weights.WeighedHost):
    """A host state, its weight, and the placement that it is ranked for."""

    def __init__(self, obj: Any, weight: float, placement: judge.Placement,
                 candidate: request.Candidate) -> None:
        super().__init__(obj, weight)
        self.placement = placement
        self.candidate = candidate


class SerifosScheduler(filter_scheduler.FilterScheduler):
    """``scheduler_driver = serifos.scheduler.driver.SerifosScheduler``."""

    def _get_weighted_candidates(
            self, context: Any, request_spec: Any,
            filter_properties: dict[str, Any] | None = None
            ) -> list[weights.WeighedHost]:
        properties = {} if filter_properties is None else filter_properties
        weighed = super()._get_weighted_candidates(
            context, request_spec, properties)
        return ranked(weighed, [properties])

    def _get_weighted_candidates_generic_group(
            self, context: Any, group_spec: Any,
            request_spec_list: Sequence[Any],
            group_filter_properties: dict[str, Any] | None = None,
            filter_properties_list: Sequence[Any] | None = None
            ) -> list[weights.WeighedHost]:
        weighed = super()._get_weighted_candidates_generic_group(
            context, group_spec, request_spec_list, group_filter_properties,
            filter_properties_list)
        # A group is placed before its volumes: by one of each of its types.
        return ranked(weighed, [
            {'request_spec': spec} for spec in request_spec_list])

    def _choose_top_backend(
            self, weighed_backends: list[weights.WeighedHost],
            request_spec: Any) -> weights.WeighedHost:
        top = super()._choose_top_backend(weighed_backends, request_spec)
        try:
            if isinstance(top, Ranked) and (
                    top.placement.requests[0].volume_id):
                judge.shared(CONF).record(top.placement, top.candidate)
        except Exception as exc:  # the volume is placed without a reservation
            rate_limited_log.WARNINGS.warn(
                'bug', 'Serifos reserves nothing: %s', exc, exc_info=True)
        return top


def ranked(weighed: list[weights.WeighedHost],
           properties: Sequence[Mapping[str, Any]]
           ) -> list[weights.WeighedHost]:
    """The same host states, the best for the newcomers first."""
    started_s = time.perf_counter()
    try:
        requests = [request.Request.of(each) for each in properties]
        if weighed and requests and all(
                r.operation in request.PLACES for r in requests):
            found, result = _by_prediction(weighed, requests)
            if result == metrics.JUDGED:
                metrics.ranked(found[0].obj is not weighed[0].obj)
            metrics.request(metrics.DRIVER, result, started_s)
            return found
    except Exception as exc:  # Cinder must go on placing volumes
        metrics.request(metrics.DRIVER, metrics.ERROR, started_s)
        rate_limited_log.WARNINGS.warn(
            'bug', 'Serifos has no opinion: %s', exc, exc_info=True)
    return weighed


def _by_prediction(weighed: Sequence[weights.WeighedHost],
                   requests: Sequence[request.Request]
                   ) -> tuple[list[Ranked], str]:
    serifos = judge.shared(CONF)
    placement = serifos.observe(requests, [each.obj for each in weighed])
    predictions = serifos.judge(placement)
    barred = serifos.barred(placement) or [None] * len(weighed)
    volume_id, newcomer = requests[0].volume_id, placement.newcomers[0]
    if not predictions:
        LOG.info('Serifos leaves volume %s to the default weighers, '
                 'expecting %s', volume_id, newcomer)
        found = [Ranked(each.obj, each.weight, placement, candidate)
                 for each, candidate in zip(weighed, placement.candidates)]
        return [found[i] for i in sorted(
            range(len(found)), key=lambda i: barred[i] is not None)
        ], metrics.NO_OPINION
    ranks = predict.ranks(predictions)
    mine = predict.demoted(predict.weights(predictions), barred)
    order = sorted(range(len(weighed)), key=lambda i: (
        barred[i] is not None, ranks[i]))
    best = predictions[order[0]]
    LOG.info('Serifos ranks %s pools for volume %s: %s first (%s), among %s '
             'that are equal; expecting %s', len(weighed), volume_id,
             weighed[order[0]].obj.backend_id,
             f'{best.latency_us:.0f} µs' if best else 'unknown',
             ranks.count(0), newcomer)
    return [Ranked(weighed[i].obj, mine[i], placement,
                   placement.candidates[i]) for i in order], metrics.JUDGED
