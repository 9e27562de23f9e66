# SPDX-License-Identifier: Apache-2.0
"""SerifosWeigher: weighs pools by predicted latency."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import functools
import time
from typing import Any

from cinder.scheduler import weights
from oslo_config import cfg
from oslo_log import log

from serifos.conf import scheduler as options
from serifos import errors
from serifos.scheduler import judge
from serifos.scheduler import metrics
from serifos.scheduler import predict
from serifos.scheduler import rate_limited_log
from serifos.scheduler.request import PLACES
from serifos.scheduler.request import Request

CONF = cfg.CONF
LOG = log.getLogger(__name__)


class SerifosWeigher(weights.BaseHostWeigher):
    """Weighs a pool by the worst predicted latency minus its own, in µs.

    Latencies are those with the new volume in the pool. Without data, and for
    other operations, all pools weigh the same.
    """

    def weight_multiplier(self) -> float:
        return self._multiplier

    @functools.cached_property
    def _multiplier(self) -> float:
        # Cinder asks for it pool by pool, and makes a weigher a request.
        try:
            return options.read(CONF, 'weight_multiplier')
        except errors.InputError as exc:
            rate_limited_log.WARNINGS.warn(
                'multiplier', '%s 1 is used.', exc)
            return 1.0

    def weigh_objects(self, weighed_obj_list: Sequence[weights.WeighedHost],
                      weight_properties: Mapping[str, Any]) -> list[float]:
        """One finite weight for each pool, not negative, higher is better."""
        started_s = time.perf_counter()
        try:
            request = Request.of(weight_properties)
            if request.operation in PLACES:
                found, result = self._weigh(request, weighed_obj_list)
                metrics.request(metrics.WEIGHER, result, started_s)
                return found
        except Exception as exc:  # Cinder must go on placing volumes
            metrics.request(metrics.WEIGHER, metrics.ERROR, started_s)
            rate_limited_log.WARNINGS.warn(
                'bug', 'Serifos has no opinion: %s', exc, exc_info=True)
        return [predict.NEUTRAL] * len(weighed_obj_list)

    def _weigh(self, request: Request,
               weighed: Sequence[weights.WeighedHost]
               ) -> tuple[list[float], str]:
        serifos = judge.shared(CONF)
        placement = serifos.observe([request], [each.obj for each in weighed])
        found = serifos.judge(placement)
        serifos.weighed(placement)
        barred = serifos.barred(placement)
        if not found:
            return predict.demoted(
                [predict.NEUTRAL] * len(weighed), barred), metrics.NO_OPINION
        LOG.info('Serifos weighs %s pools for volume %s, expecting %s',
                 len(weighed), request.volume_id, placement.newcomers[0])
        mine = predict.demoted(
            predict.weights(found), barred)
        # Cinder scales weights by this span. It is at least the model's own
        # error, so that a tiny difference is not scaled up to a large one.
        self.minval = min(mine)
        self.maxval = max(max(mine), *(
            self.minval + p.error_us for p in found if p))
        return mine, metrics.JUDGED

    def _weigh_object(self, obj: Any,
                      weight_properties: Mapping[str, Any]) -> float:
        return predict.NEUTRAL
