# SPDX-License-Identifier: Apache-2.0
"""Checks of what keeps volumes from being placed or moved, with remedies.

Each check takes facts and yields findings; none means that all is well. They
are what ``serifos-status upgrade check`` prints.
"""

from __future__ import annotations

import collections
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
import enum
from typing import NamedTuple

from serifos.balancer import join
from serifos.facts import activity
from serifos.facts.cluster import Cluster
from serifos.facts import fields
from serifos.facts.inventory import Inventory
from serifos.facts import names
from serifos.facts import phrases
from serifos.facts import times
from serifos.model.model import Model
from serifos.model.model import P90_OF_MAE
from serifos.model import verdict

MOST_AHEAD_S = 5.0
"""How far a clock may be ahead of ours."""

SILENT_S = 120.0
"""Seconds without a heartbeat; Cinder sends one every ten by default."""

_NAMED = 8
"""Letters and figures at least by which the beginning of a name is known."""

_ROOM = 1.05

CINDER_CONF = '/etc/cinder/cinder.conf'


class Level(enum.IntEnum):
    """As the codes of oslo.upgradecheck."""

    NOTE = 0
    WARNING = 1
    FAILURE = 2


class Paste(NamedTuple):
    """Lines that fix a finding, once words in capitals are replaced.

    :param host: on which; empty for the one that asks
    :param file: into which; a shell where it is empty
    :param section: of the file; empty for a shell
    :param restart: the service that has to read the file again
    """

    host: str
    file: str
    section: str
    lines: tuple[str, ...]
    restart: str = ''


FIRST = Paste('', '', '', ('serifos-balancer observe --window 60',
                           'serifos-balancer plan'))
"""A first observation and plan, once the rest is in place."""


class Finding(NamedTuple):
    """:param text: a sentence or two: what is wrong, and how to fix it"""

    level: Level
    text: str
    paste: Paste | None = None


def note(text: str) -> Finding:
    """Nothing is wrong, but not everything was looked at."""
    return Finding(Level.NOTE, text)


def warning(text: str, paste: Paste | None = None) -> Finding:
    """Serifos works, but not for all, or not as well."""
    return Finding(Level.WARNING, text, paste)


def failure(text: str, paste: Paste | None = None) -> Finding:
    """Serifos cannot place or move volumes until this is fixed."""
    return Finding(Level.FAILURE, text, paste)


def models_of(inventory: Inventory,
              known: Collection[str]) -> dict[str, str]:
    """The model that each pool uses, where it has one: pool → name.

    :param known: the names of the files in the models directory
    """
    return {pool.name: model for pool in inventory.pools
            if (model := join.model_of(pool, known)) is not None}


def models(inventory: Inventory, used: Mapping[str, str],
           usable: Mapping[str, Model],
           broken: Mapping[str, str]) -> Iterator[Finding]:
    """Whether each pool has a model that can be used.

    :param used: of :func:`models_of`
    :param usable: those that can be read, by name
    :param broken: why others cannot, a sentence each
    """
    for pool in inventory.pools:
        if pool.name in used:
            continue
        if pool.model:
            yield warning(
                f'Pool {pool.name} names a model {fields.shown(pool.model)}, '
                f'a name that {names.model_fault(pool.model)}; change '
                'serifos_model in its extra_capabilities.')
        else:
            yield warning(
                f'Pool {pool.name} names no model, and no volume comes or '
                'goes there; set serifos_model in its extra_capabilities in '
                'cinder.conf, and run serifos-model build on its host, or '
                'serifos-model learn where no device is free.',
                Paste(names.host(pool.name), CINDER_CONF,
                      names.backend(pool.name).partition('@')[2],
                      ('extra_capabilities = {"serifos_model": "MODEL"}',),
                      'cinder-volume'))
    for name, why in broken.items():
        pools = sum(model == name for model in used.values())
        yield warning(f'{why} {_pools(pools)} it.')
    if inventory.pools and not usable:
        yield failure('No pool has a model that can be used; run '
                      'serifos-model build on each host, or serifos-model '
                      'learn once serifos-balancer run has observed volumes '
                      'for half an hour.')
    for name, model in usable.items():
        judged = verdict.verdict(model)
        if judged.grade == verdict.Grade.POOR:
            yield warning(
                f'The model {name} is {judged.headline}; measure more runs '
                '(serifos-model build), or fit it to live observations '
                '(serifos-model learn).')


FAR = 1 + verdict.FAIR * P90_OF_MAE
"""The factor beyond which a 99th percentile identifies no hot pool, 1.5."""


def tails(usable: Mapping[str, Model], figure: str) -> Iterator[Finding]:
    """Whether models of a 99th percentile can identify a hot pool.

    :param figure: of a run, such as write_p99_us
    """
    for name, model in usable.items():
        quality = model.tails[figure].quality if figure in model.tails else {}
        error = quality.get('mre', 0.0)
        if quality.get('factor', 1 + error * P90_OF_MAE) > FAR:
            off = verdict.within(model.tails[figure]) or (
                f'{verdict.percent(error)} off')
            yield warning(
                f'In {figure} the model {name} is only {off}, '
                'by which [balancer] hot_by compares pools; measure more '
                'runs and fit them with --tails, or take another hot_by.')


def _pools(count: int) -> str:
    return '1 pool names' if count == 1 else f'{count} pools name'


def devices(inventory: Inventory, used: Mapping[str, str],
            usable: Mapping[str, Model]) -> Iterator[Finding]:
    """Whether pools can be on the devices that they and their models name."""
    hosts: dict[str, set[str]] = collections.defaultdict(set)
    of_device: dict[str, set[str]] = collections.defaultdict(set)
    for pool in inventory.pools:
        if pool.device is not None:
            hosts[pool.device].add(names.host(pool.name))
            of_device[pool.device].add(used.get(pool.name, ''))
    for device, found in hosts.items():
        if len(found) > 1:
            yield failure(
                f'Pools of {_all(found)} have the same serifos_device '
                f'{device}, as if they shared a disk; give each disk a name '
                'of its own, such as its serial number.')
        if len(some := of_device[device] - {''}) > 1:
            yield warning(
                f'Pools on serifos_device {device} name the models '
                f'{_all(some)}; they share one disk, and one model fits it.')
    for pool in inventory.pools:
        model = usable.get(used.get(pool.name, ''))
        size = None if model is None else (model.device or {}).get('size_gib')
        if size and pool.total_gib > _ROOM * size and not pool.thin:
            yield warning(
                f'Pool {pool.name} has {pool.total_gib:.0f} GiB, and its '
                f'model {used[pool.name]} was measured on a device of '
                f'{size:.0f} GiB; build a model of the device that is there.')


def fits(inventory: Inventory, used: Mapping[str, str],
         usable: Mapping[str, Model],
         disks: Mapping[str, Collection[activity.Disk]]) -> Iterator[Finding]:
    """Whether each model was measured on a device that its hosts have.

    By its serial number, else by its name: udev and lsblk write names
    differently, and cut them off.

    :param disks: host → its disks, of those that are known
    """
    for pool in inventory.pools:
        model = usable.get(used.get(pool.name, ''))
        name = None if model is None else (model.device or {}).get('model')
        there = disks.get(names.host(pool.name), ())
        if not isinstance(name, str) or not _plain(name) or not there:
            continue
        serial = (model.device or {}).get('serial')
        if any((serial and disk.serial == serial)
               or _alike(disk.model, name) for disk in there):
            continue
        yield warning(
            f'Pool {pool.name} has the model {used[pool.name]}, measured on '
            f'{name}; its host has no such disk, but '
            f'{_all({disk.model for disk in there})}. Build a model of the '
            'device that is there (serifos-model build).')


def unchecked(inventory: Inventory, used: Mapping[str, str],
              usable: Mapping[str, Model],
              disks: Mapping[str, Collection[activity.Disk]]
              ) -> Iterator[Finding]:
    """The facts that :func:`fits` could not compare."""
    hosts = {names.host(pool.name) for pool in inventory.pools
             if (model := usable.get(used.get(pool.name, ''))) is not None
             and (model.device or {}).get('model')}
    for host in sorted(hosts - disks.keys()):
        yield note(
            f'Nothing reports a model name for every disk of {host}, so '
            'whether the models of its pools were measured on a device that '
            'it has was not checked.')


def _plain(name: str) -> str:
    return ''.join(filter(str.isalnum, name.lower()))


def _alike(one: str, other: str) -> bool:
    """Whether one name is the other, or the beginning of it."""
    shorter, longer = sorted(map(_plain, (one, other)), key=len)
    return shorter == longer or (
        len(shorter) >= _NAMED and longer.startswith(shorter))


def _all(found: Collection[str]) -> str:
    return ', '.join(sorted(found))


def services(inventory: Inventory, now: float) -> Iterator[Finding]:
    """Whether Cinder's clocks and ours agree, by its services' heartbeats.

    :param now: by our clock, seconds of the epoch
    """
    beats = {service.host: service.updated_at for service in
             inventory.services if service.updated_at is not None}
    ahead = max(beats.values(), default=now) - now
    if ahead > MOST_AHEAD_S:
        yield failure(
            f'By the clock of this host, Cinder\'s last heartbeat comes '
            f'{ahead:.0f} s in the future; synchronize the clocks (chrony, '
            'NTP).')
    if beats and -ahead > SILENT_S:
        yield failure(
            'No service of Cinder has sent a heartbeat for '
            f'{phrases.duration(-ahead)}; the clocks disagree, or none runs.')
    for service in inventory.services:
        home = service.cluster or service.host
        serves = inventory.service_of(home)
        if serves is not None and not service.up and not serves.up:
            yield warning(f'{home} is down; no volume moves while volumes '
                          'live there.')


def observation(seen: Cluster | None, now: float,
                most_s: float) -> Iterator[Finding]:
    """Whether ``cluster.json`` is of now.

    :param most_s: seconds after which the scheduler takes it for stale
    """
    if seen is None or seen.observed_at is None:
        yield failure('There is no observation yet, and the scheduler goes '
                      'without Serifos; start serifos-balancer run.',
                      FIRST)
        return
    age = now - times.parse(seen.observed_at)
    if age > most_s:
        yield failure(
            f'The observation is {phrases.duration(age)} old, and the '
            'scheduler goes without Serifos; is serifos-balancer running?')
    elif age < -MOST_AHEAD_S:
        yield failure(
            f'The observation is {-age:.0f} s in the future by the clock of '
            'this host; synchronize the clocks (chrony, NTP).')


def telemetry(observed: activity.Observed) -> Iterator[Finding]:
    """Whether each pool is seen."""
    for pool, why in sorted(observed.problems.items()):
        yield warning(f'Pool {pool}: {why}')
