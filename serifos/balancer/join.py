# SPDX-License-Identifier: Apache-2.0
"""Join Cinder's inventory and telemetry to a cluster."""

from __future__ import annotations

import collections
from collections.abc import Collection
from collections.abc import Mapping
import dataclasses
import math

from serifos.facts import activity
from serifos.facts.cluster import Cluster
from serifos.facts.cluster import Pool
from serifos.facts.cluster import TOUCHED
from serifos.facts.cluster import UNSEEN
from serifos.facts.cluster import Volume
from serifos.facts import extra_specs
from serifos.facts.inventory import Inventory
from serifos.facts.inventory import PoolStats
from serifos.facts.inventory import Record
from serifos.facts.inventory import Service
from serifos.facts.inventory import Type
from serifos.facts import labels
from serifos.facts import names
from serifos.facts.refusals import Code
from serifos.facts.refusals import Reason
from serifos.facts.servers import Servers
from serifos.facts import settings
from serifos.facts import throttling
from serifos.facts import times
from serifos.plan import eligibility

_MOST_CHARACTERS = 255


def places(inventory: Inventory,
           moved_at: Mapping[str, float] | None = None
           ) -> list[activity.MeasuredVolume]:
    """The volumes to watch: all that have a pool, hidden copies too.

    :param moved_at: volume → when it was last moved, seconds of the epoch;
        what Nova wrote to the copy before that was not the volume's
    """
    there = [record for record in inventory.records if record.pool]
    caps = throttling.caps(inventory, there)
    return [activity.MeasuredVolume(
        record.id, record.lv_id, record.pool,
        (moved_at or {}).get(record.id, 0.0) if record.name_id else 0.0,
        caps.get(record.id)) for record in there]


def cluster(inventory: Inventory, observed: activity.Observed,
            known: Collection[str], rules: eligibility.Rules,
            qemu_us: Mapping[str, float] | None = None,
            now: float | None = None) -> Cluster:
    """The observation that is planned for and that the weigher reads.

    A pool with a volume that cannot be read has no space that we know of.

    :param known: the names of the files in the models directory
    :param qemu_us: latencies as QEMU sees them, by the disk's serial number
    :param now: by which rules are applied, seconds of the epoch; None for
        the time of the last readings, which may lie before the last move
    """
    now = observed.at if now is None else now
    records = [record for record in inventory.records
               if record.pool and not eligibility.hidden(record)]
    stats = {pool.name: pool for pool in inventory.pools}
    pools = sorted({*stats, *(str(record.pool) for record in records)})
    asked = {record.volume_type for record in records}
    types = [kind for kind in inventory.types if kind.name in asked]
    taken: collections.Counter[str] = collections.Counter()
    copies: collections.Counter[str] = collections.Counter()
    copied = {record.target_of for record in inventory.records}
    rates = _copy_rates(inventory, observed)
    bonds = labels.of(records, rules.server_volumes)
    rules_of = {kind.name: dataclasses.replace(
        rules, kind=settings.TypeSettings.of(kind)) for kind in types}
    for unread in inventory.unread:
        taken[unread.pool or ''] = math.inf
    for record in inventory.records:
        taken[record.pool or ''] += record.size_gib
        if eligibility.hidden(record):
            copies[record.pool or ''] += record.size_gib
    return Cluster(
        tuple(dataclasses.replace(
            _pool(name, stats.get(name), inventory.service_of(name), types,
                  known, observed, taken[name]),
            copies_gib=float(copies[name])) for name in pools),
        tuple(_volume(
            record, inventory, stats, observed,
            rules_of.get(record.volume_type, rules), record.id in copied, now,
            bonds.get(record.id, labels.Labels()), rates.get(record.id),
            (qemu_us or {}).get(
                record.id, (qemu_us or {}).get(record.lv_id)))
              for record in records),
        times.text(observed.at))


def _copy_rates(inventory: Inventory,
                observed: activity.Observed) -> dict[str, float]:
    """Volume → MiB/s that are written to its new copy, where that is seen.

    By the counters of the copy's logical volume, which begin with it.
    """
    found = {}
    for record in inventory.records:
        seen = observed.volumes.get(record.id)
        doing = seen and seen.mean
        if record.target_of is not None and doing:
            found[record.target_of] = (
                (doing.iops or 0.0) * doing.write_pct / 100
                * doing.block_kib / 1024)
    return found


def _pool(name: str, stats: PoolStats | None,
          service: Service | None, types: Collection[Type],
          known: Collection[str], observed: activity.Observed,
          taken_gib: float) -> Pool:
    state = _state(name, stats, service, observed)
    zone = service.zone if service else None
    if stats is None:
        return Pool(name, zone=zone, state=state,
                    backend_name=names.pool_name(name) or None)
    set_by_pool = settings.PoolSettings.of(stats)
    return Pool(
        name, model=model_of(stats, known),
        total_gib=stats.total_gib, free_gib=_free(stats, taken_gib),
        used_gib=_used(stats, taken_gib), zone=zone,
        backend_name=stats.backend_name, state=state,
        device=stats.device, balance=set_by_pool.balance,
        max_fill=set_by_pool.max_fill, hot_ratio=set_by_pool.hot_ratio,
        space_unknown='a volume there cannot be read' if math.isinf(taken_gib)
        else 'Cinder reports it as unknown' if stats.capabilities.get(
            'free_capacity_gb') == 'unknown' else None,
        refuses=tuple(sorted(
            kind.name for kind in types if extra_specs.unmet(
                kind.extra_specs, stats.capabilities) is not None)))


def model_of(stats: PoolStats, known: Collection[str]) -> str | None:
    """The model that a pool names, or the one that is named like it.

    :param known: the names of the files in the models directory
    """
    if not stats.model:
        return stats.name if stats.name in known else None
    return stats.model if names.model_fault(stats.model) is None else None


def _free(stats: PoolStats, taken_gib: float) -> float:
    """GiB free; Cinder's figure is up to a minute old, its records are not.

    A thin pool counts as its physical space, whatever its over-subscription:
    a migration writes all of the volume, and a full pool fails for everybody.
    """
    if math.isinf(taken_gib):
        return 0.0
    if stats.thin:
        return max(0.0, min(stats.free_gib, stats.unwritten_gib))
    return min(stats.free_gib, stats.total_gib - taken_gib)


def _used(stats: PoolStats, taken_gib: float) -> float | None:
    """GiB used; of a thick pool by Cinder's records, where those say more."""
    if stats.used_gib is None or math.isinf(taken_gib):
        return None
    return stats.used_gib if stats.thin else max(stats.used_gib, taken_gib)


def _state(name: str, stats: PoolStats | None,
           service: Service | None, observed: activity.Observed) -> str:
    if service is None:
        return 'without a service'
    if not service.up or service.backend_up is False or (
            stats is not None
            and stats.capabilities.get('backend_state') == 'down'):
        return 'down'
    if not service.enabled:
        return 'disabled'
    if service.frozen:
        return 'frozen'
    if stats is None:
        return 'not known to the scheduler'
    unseen = name in observed.problems and name not in observed.pools
    return UNSEEN if unseen else 'up'


def _volume(record: Record, inventory: Inventory,
            stats: Mapping[str, PoolStats], observed: activity.Observed,
            rules: eligibility.Rules, copied: bool, now: float,
            bonds: labels.Labels, copy_mib_s: float | None,
            qemu_us: float | None) -> Volume:
    by_type = rules.kind
    home = stats.get(record.pool or '')
    seen = observed.volumes.get(record.id)
    why = eligibility.why_not(record, rules, now) or (
        Code.HALF_MADE_COPY.of() if copied else None) or (
        Code.TYPE_UNREADABLE.of() if record.volume_type
        and record.volume_type not in inventory.type_by_name
        and inventory.lacks_types else None) or _sealed(record, home, stats)
    return Volume(
        record.id, record.pool or '', record.size_gib,
        volume_type=record.volume_type,
        required_backend_name=(home.backend_name if home
                               else names.pool_name(record.pool or '')
                               or None),
        max_latency_us=by_type.slo_us, min_gain=by_type.min_gain,
        movable=why or True,
        workload=seen and seen.mean, attached=record.status == 'in-use',
        qemu_latency_us=qemu_us, name=_short(record.name),
        project_id=record.project_id, server=_server(record, rules.servers),
        copy_mib_s=copy_mib_s, same_pool=bonds.same,
        different_pool=bonds.different)


def _sealed(record: Record, home: PoolStats | None,
            stats: Mapping[str, PoolStats]) -> Reason | None:
    """Why an encrypted volume stays that is not in use, or None.

    Cinder copies it unopened, to a logical volume as plain as its own. Other
    drivers may encrypt by themselves what they create, and may have the same
    volume_backend_name.
    """
    if not record.encrypted:
        return None
    if home and all(each.volume_group for each in stats.values()
                    if each.name == home.name
                    or each.backend_name == home.backend_name):
        return None
    if home and home.volume_group:
        return Code.ENCRYPTED_MIXED.of()
    return Code.ENCRYPTED_NOT_LVM.of()


def _server(record: Record, known: Servers) -> str | None:
    """The servers that use a volume, by their names where those are known."""
    return _short(', '.join(
        known.by_id[each].name if each in known.by_id else each
        for each in record.attachments if each))


def _short(name: str | None) -> str | None:
    """A name that is no longer than Cinder's own names are."""
    return (name or '')[:_MOST_CHARACTERS] or None


def touched(found: Cluster, pools: Collection[str | None]) -> Cluster:
    """The cluster with stuck migrations on these pools and their devices."""
    devices = {pool.device_key for pool in found.pools if pool.name in pools}
    return dataclasses.replace(found, pools=tuple(
        dataclasses.replace(pool, state=TOUCHED)
        if pool.device_key in devices and pool.state == 'up' else pool
        for pool in found.pools))
