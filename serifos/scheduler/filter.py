# SPDX-License-Identifier: Apache-2.0
"""SerifosFilter: refuses pools against metadata and SLOs."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import time
from typing import Any

from cinder.scheduler import filters
from oslo_config import cfg
from oslo_log import log

from serifos.facts import names
from serifos.scheduler import affinity
from serifos.scheduler import judge
from serifos.scheduler import metrics
from serifos.scheduler import rate_limited_log
from serifos.scheduler.request import PLACES
from serifos.scheduler.request import Request

CONF = cfg.CONF
LOG = log.getLogger(__name__)

_MOVES = frozenset({'retype_volume', 'migrate_volume'})
_REFUSES = PLACES | _MOVES
"""Not extending or snapshots, which must not fail for want of speed."""


class SerifosFilter(filters.BaseBackendFilter):
    """Keeps what metadata and ``serifos:max_latency_us`` ask for.

    A new volume lives where ``serifos:same_pool`` and
    ``serifos:different_pool`` of its metadata let it. SLOs hold for
    the new volume, and to the volumes that are in the pool or pending there,
    each by what it would see itself with the new one; by the latency of the
    pool where its model does not tell tenants apart. Without data, and for
    other operations, every pool passes.
    """

    def filter_all(self, filter_obj_list: Iterable[Any],
                   filter_properties: Mapping[str, Any]) -> list[Any]:
        states = list(filter_obj_list)
        started_s = time.perf_counter()
        try:
            request = Request.of(filter_properties)
            if request.operation in _REFUSES and states:
                kept = _kept(request, states)
                metrics.refused(len(states) - len(kept))
                metrics.request(metrics.FILTER, metrics.JUDGED, started_s)
                return kept
        except Exception as exc:  # Cinder must go on placing volumes
            metrics.request(metrics.FILTER, metrics.ERROR, started_s)
            rate_limited_log.WARNINGS.warn(
                'bug', 'Serifos refuses nothing: %s', exc, exc_info=True)
        return states

    def backend_passes(self, backend_state: Any,
                       filter_properties: Mapping[str, Any]) -> bool:
        return bool(self.filter_all([backend_state], filter_properties))


def _kept(request: Request, states: list[Any]) -> list[Any]:
    refused: dict[int, str] = {}
    for i, why in _refused(request, states):
        refused.setdefault(i, why)
    for why in refused.values():
        LOG.debug('Serifos refuses %s for volume %s', why, request.volume_id)
    if refused:
        LOG.info('Serifos refuses %s of %s pools for volume %s, the first '
                 '%s', len(refused), len(states), request.volume_id,
                 next(iter(refused.values())))
    return [each for i, each in enumerate(states) if i not in refused]


def _refused(request: Request,
             states: list[Any]) -> Iterator[tuple[int, str]]:
    """Index and reason for each pool that is refused."""
    serifos = judge.shared(CONF)
    slos = serifos.has_slos(request)
    if not slos and affinity.Wish.of(request) is None:
        return
    own = serifos.slo_us(request)
    placement = serifos.observe([request], states)
    for i, why in enumerate(serifos.barred(placement)):
        if why is not None:
            yield i, why
    if not slos:
        return
    for i, prediction in enumerate(serifos.judge(placement)):
        if prediction is None or _stays(request, states[i]):
            continue
        if own is not None and prediction.own_us > own:
            why = prediction.own_us, own, 'its own type'
        elif prediction.strained is not None and prediction.strain > 1:
            slo = prediction.strained
            why = (prediction.strain * slo.latency_us, slo.latency_us,
                   f'volume {slo.volume}' if slo.volume
                   else 'a volume placed there before')
        else:
            continue
        yield i, (f'{states[i].backend_id}: {why[0]:.0f} µs are predicted, '
                  f'{why[1]:.0f} µs is the SLO of {why[2]}')


def _stays(request: Request, state: Any) -> bool:
    """Whether the volume is in this pool already and may stay."""
    if request.operation not in _MOVES or not request.home:
        return False
    here = {state.backend_id, state.host}
    return request.home in here or request.home in {
        names.backend(name) for name in here}
