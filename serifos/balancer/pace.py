# SPDX-License-Identifier: Apache-2.0
"""The pace of migrations: time windows, GiB a day, measured rates."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import datetime
import math
from typing import Any

from serifos.conf.windows import Window
from serifos.facts.cluster import Cluster
from serifos.facts import fields
from serifos.facts import journal
from serifos.facts.refusals import Code
from serifos.facts import times
from serifos.plan import affinity
from serifos.plan.limits import Copying
from serifos.plan.limits import Limits

_HOUR_S, _DAY_S = 3600.0, 86400.0
_SHARED = ' with the volumes that it shares a pool with'
_LATEST = 20
"""Migrations of each sort from whose times rates are learnt."""


@dataclasses.dataclass(frozen=True)
class Pace:
    """The bounds that an operator sets on migrations in mode ``auto``.

    :param windows: in which they may begin; none for at any time
    """

    windows: tuple[Window, ...] = ()
    max_gib_per_hour: float | None = None
    max_gib_per_day: float | None = None

    def closed(self, now: float) -> str | None:
        """Why no migration may begin now, or None."""
        at = datetime.datetime.fromtimestamp(now, datetime.UTC)
        if not self.windows or any(each.has(at) for each in self.windows):
            return None
        return (f'it is {self.windows[0].clock(at)}, outside of [balancer] '
                f'windows {", ".join(map(str, self.windows))}')

    def bounded(self, found: Cluster) -> Cluster:
        """The cluster, in which volumes larger than a limit stay.

        And those that are with what they share a pool with.
        """
        name, most = min(
            (('max_gib_per_hour', self.max_gib_per_hour),
             ('max_gib_per_day', self.max_gib_per_day)),
            key=lambda each: math.inf if each[1] is None else each[1])
        if most is None:
            return found
        bundles, sizes = affinity.bundles(found), collections.Counter[str]()
        for volume in found.volumes:
            sizes[bundles.get(volume.id, volume.id)] += volume.size_gib
        return dataclasses.replace(found, volumes=tuple(
            dataclasses.replace(volume, movable=Code.TOO_LARGE.of(
                gib=gib, shared=_SHARED if volume.id in bundles else '',
                option=name, most=most))
            if volume.movable is True and (gib := sizes[
                bundles.get(volume.id, volume.id)]) > most else volume
            for volume in found.volumes))

    def exceeded(self, size_gib: float, entries: Sequence[journal.Entry],
                 now: float) -> str | None:
        """Why so many GiB more may not be moved yet, or None."""
        for name, most, span_s in (
                ('max_gib_per_hour', self.max_gib_per_hour, _HOUR_S),
                ('max_gib_per_day', self.max_gib_per_day, _DAY_S)):
            if most is None:
                continue
            had = moved_gib(entries, now - span_s)
            if had + size_gib > most:
                return (f'{had:g} GiB were moved and {size_gib:g} GiB would '
                        f'be more than [balancer] {name}, {most:g}')
        return None


def moved_gib(entries: Iterable[journal.Entry], since: float) -> float:
    """GiB whose migration was requested since then and not refused."""
    asked: dict[str, list[tuple[float, float]]] = {}
    for entry in entries:
        if entry.kind == 'request':
            asked.setdefault(entry.facts['volume'], []).append(
                (times.parse(entry.at), entry.facts['size_gib']))
        elif entry.kind == 'outcome' and (
                entry.facts['result'] in journal.NOTHING_DONE
                and asked.get(entry.facts['volume'])):
            asked[entry.facts['volume']].pop()
    return sum(gib for each in asked.values()
               for at, gib in each if at > since)


def copy_rate(asked: journal.Entry, result: str,
              copied_s: float | None) -> dict[str, Any]:
    """Facts of an outcome: what was estimated of the copy, and its rate.

    :param copied_s: from the request until the volume was on its target;
        what it takes from there the source is wiped and deleted
    """
    if result not in journal.MOVED or not copied_s:
        return {}
    return {'copied_s': round(copied_s, 1),
            'estimated_s': asked.facts.get('estimated_s'),
            'mib_per_s': round(1024 * asked.facts['size_gib'] / copied_s, 1)}


def learnt(entries: Iterable[journal.Entry], usual: Copying) -> Copying:
    """How long the latest migrations that succeeded took for each GiB.

    Detached volumes, volumes in use and wiping, each by their own.

    :param usual: where there is none yet
    """
    asked: dict[str, journal.Entry] = {}
    had: dict[str, list[tuple[float, float]]] = {
        'detached': [], 'attached': [], 'wiping': []}
    for entry in entries:
        if entry.kind == 'request':
            asked[entry.facts['volume']] = entry
        elif entry.kind == 'outcome':
            request = asked.pop(entry.facts['volume'], None)
            if request is None or entry.facts[
                'result'] not in journal.MOVED or (
                    request.facts['size_gib'] <= 0):
                continue
            gib, all_s = request.facts['size_gib'], entry.facts['seconds']
            copied_s = fields.finite(entry.facts.get('copied_s'))
            had['attached' if _was_in_use(request) else 'detached'].append(
                (all_s if copied_s is None else copied_s, gib))
            if copied_s is not None:
                had['wiping'].append((all_s - copied_s, gib))
    return dataclasses.replace(usual, **{
        name: _mean(each[-_LATEST:]) for name, each in had.items() if each})


def at_learnt_rates(limits: Limits,
                    entries: Iterable[journal.Entry]) -> Limits:
    """The limits of plans, with the rates of the latest migrations."""
    return dataclasses.replace(
        limits, copying=learnt(entries, limits.copying))


def _mean(had: Sequence[tuple[float, float]]) -> float:
    """Seconds for each GiB, of (seconds, GiB) each."""
    return max(0.0, sum(seconds for seconds, _ in had)) / sum(
        gib for _, gib in had)


def _was_in_use(request: journal.Entry) -> bool:
    seen = request.facts.get('seen')
    return isinstance(seen, Mapping) and seen.get('status') == 'in-use'
