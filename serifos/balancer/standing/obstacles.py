# SPDX-License-Identifier: Apache-2.0
"""Why nothing may be moved now, and what is left out, a sentence each."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterator

from serifos.facts import activity
from serifos.facts import cluster
from serifos.facts import fields
from serifos.facts.inventory import Inventory
from serifos.facts import names
from serifos.facts import settings
from serifos.plan import eligibility


def hindrances(inventory: Inventory, found: cluster.Cluster,
               models: Collection[str], least: int,
               over: Collection[str] = ()) -> Iterator[str]:
    """Why nothing may be moved now, a sentence each.

    :param models: the names of the usable ones
    :param least: pools that have to be seen, with a model
    :param over: volumes whose migrations nobody goes on with
    """
    yield from in_flight(inventory, over)
    homes = {volume.pool for volume in found.volumes}
    for pool in found.pools:
        service = inventory.service_of(pool.name)
        if pool.state == 'down' and pool.name in homes and (
                service is None or service.enabled):
            yield f'Pool {pool.name} is down.'
    lively = [pool for pool in found.pools
              if pool.state == 'up' and pool.model in models]
    if len(lively) < least:
        touched = sum(pool.state == cluster.TOUCHED for pool in found.pools)
        yield (f'{len(lively)} of {len(found.pools)} pools are up, seen by '
               'telemetry and have a model'
               + f', {touched} are {cluster.TOUCHED}' * bool(touched)
               + f'; moves need {least}.')


def in_flight(inventory: Inventory,
              over: Collection[str] = ()) -> Iterator[str]:
    """The migrations under way, ours or others', a sentence each.

    A volume that cannot be read may be migrating.

    :param over: volumes whose migrations nobody goes on with
    """
    for unread in inventory.unread:
        if unread.migration_status not in eligibility.AT_REST:
            yield unread.sentence()
    for record in inventory.records:
        if record.id in over or eligibility.leftover_of(record) in over:
            continue
        if eligibility.migrating(record) and not eligibility.hidden(record):
            yield (f'Volume {record.id} on {record.pool} is being migrated '
                   f'({record.migration_status}).')
        elif (source := eligibility.leftover_of(record)) is not None:
            yield (f'The old copy of volume {source} on {record.pool} is '
                   f'{record.status}.')


def gaps(inventory: Inventory, observed: activity.Observed,
         found: cluster.Cluster) -> Iterator[str]:
    """What is unknown and therefore left out of a plan, a sentence each."""
    named = {stats.name: stats.model for stats in inventory.pools}
    for unread in inventory.unread:
        yield unread.sentence()
    yield from settings.faults(inventory)
    for pool in found.pools:
        if pool.state == cluster.UNSEEN:
            yield (f'Pool {pool.name} is left out: '
                   f'{observed.problems[pool.name]}')
        elif pool.name in observed.problems:
            yield f'Pool {pool.name}: {observed.problems[pool.name]}'
        elif pool.state != 'up':
            yield f'Pool {pool.name} is left out: it is {pool.state}.'
        elif pool.model is None and named.get(pool.name):
            model = named[pool.name]
            yield (f'Pool {pool.name} is left out: it names a model '
                   f'{fields.shown(model)}, a name that '
                   f'{names.model_fault(model)}.')
        elif pool.model is None:
            yield (f'Pool {pool.name} is left out: it names no model; set '
                   'serifos_model in its extra_capabilities.')
