# SPDX-License-Identifier: Apache-2.0
"""Source of telemetry: Ceilometer's metrics of attached volumes in Gnocchi.

Ceilometer reads libvirt's counters of each disk of each instance; its
resource is ``<instance>-<vdX>``, and Nova's attachments tell which volume
that is. Its default polling has no latency, so what is outstanding stays
unknown unless a volume is idle or ``disk.device.{read,write}.latency`` are
polled too.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import functools
import itertools
import time
from typing import Any
from typing import TypeVar

from keystoneauth1.session import Session

from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import Telemetry
from serifos.facts import fields
from serifos.facts.history import Series
from serifos.facts import times
from serifos.telemetry import amounts
from serifos.telemetry.counters import Counters
from serifos.telemetry.counters import Reading
from serifos.telemetry import gnocchi_disks as disks
from serifos.telemetry import http
from serifos.telemetry import window

_AT_ONCE = 100
"""Volumes that are asked for at once."""

_MEASURES = 50_000
"""Of one answer, some 3 MiB of JSON."""

T = TypeVar('T')

_MOST_APART = 2.5
"""Granularities between two measures; more is a gap."""


class Gnocchi(Telemetry):
    """The port :class:`.facts.activity.Telemetry` over Gnocchi.

    :param session: of :func:`.http.session`
    :param url: what stands before ``/v1``
    :param attachments: asked each time: volume id → (instance id, device,
        since), the device as Cinder or Nova has it (``/dev/vdb``), the time
        in seconds of the epoch
    :param granularity_s: of the archive policy to read; a window shorter
        than two of them is never known
    """

    def __init__(self, session: Session, url: str,
                 attachments: Callable[
                     [], Mapping[str, tuple[str, str, float]]], *,
                 granularity_s: float,
                 clock: Callable[[], float] = time.time) -> None:
        self._session = session
        self._url = f'{url.rstrip("/")}/v1'
        self._attachments = attachments
        self._granularity_s = granularity_s
        self.settled_s = max(self.settled_s, 3 * granularity_s)
        self._clock = clock

    @property
    def history(self) -> Gnocchi:
        """It keeps what Ceilometer measured."""
        return self

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        """:raises CloudError: where Gnocchi or Cinder cannot be asked"""
        now = self._clock()
        begin = now - window.reach_s(window_s, self._granularity_s)
        readings: dict[str, list[Reading]] = {}
        for place, found in self._counters(places, begin, functools.partial(
                disks.counters, window_s=window_s + self._granularity_s / 2)):
            readings[place.volume] = [
                Reading(now, fault=found)] if isinstance(found, str) else [
                    Reading(at, {place.lv_id: counters})
                    for at, counters in found]
        return dataclasses.replace(window.observed(
            [dataclasses.replace(place, since=0.0) for place in places],
            readings, now=now, window_s=window_s,
            interval_s=self._granularity_s, of=lambda place: place.volume),
            in_qemu=True)

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """The port :class:`.facts.activity.History` over what it keeps.

        One volume after another, since it was attached. Their latency is
        QEMU's: the time that throttled requests wait is left out.
        """
        if step_s <= 0 or step_s % self._granularity_s:
            raise errors.InputError(
                f'Gnocchi has no slots of {step_s} s; give a multiple of '
                '[telemetry] gnocchi_granularity, '
                f'{self._granularity_s:g} s.')
        longest_s = _MOST_APART * self._granularity_s
        found = Series.empty([place.volume for place in places], begin, end,
                             step_s)
        for column, (place, known) in enumerate(self._counters(
                places, found.begin - longest_s, disks.any_counters)):
            if isinstance(known, str):
                continue
            here = activity.MeasuredVolume(
                place.volume, place.volume, place.pool, place.since)
            found.sums[:, :, column] = amounts.series(
                [here], {here.host: [
                    Reading(at, {here.lv_id: counters})
                    for at, counters in disks.without_waiting(
                        [(at, its) for at, its in known if at >= here.since],
                        place.caps)]},
                found.begin, found.end, step_s, longest_s=longest_s
            ).sums[:, :, 0]
        return found

    def _counters(self, places: Sequence[activity.MeasuredVolume],
                  begin: float, joined: disks.Joined) -> Iterator[tuple[
                      activity.MeasuredVolume,
                      list[tuple[float, Counters]] | str]]:
        """Places, and their counters since then, or why they are unknown.

        Before ``since`` of a place another volume may have been there.

        :param joined: makes counters of what was counted and timed
        :raises CloudError: where Gnocchi or Cinder cannot be asked
        """
        attached = self._attachments()
        began = self._clock()
        names = {volume: disks.name(instance, device) for volume, (
            instance, device, _) in attached.items()}
        resources = self._resources(sorted({
            names[place.volume] for place in places if place.volume in names}))
        each = self._at_once(began - begin)
        for first in range(0, len(places), each):
            some = places[first:first + each]
            wanted = [_metrics(names.get(place.volume), resources)
                      for place in some]
            told = iter(self._measured([*itertools.chain(*wanted)], begin))
            for place, its in zip(some, wanted):
                # QEMU's counters of a disk have nothing of what is copied.
                yield dataclasses.replace(place, since=attached.get(
                    place.volume, ('', '', 0.0))[2]), _counters(
                        [*itertools.islice(told, len(its))], joined)
            if self._clock() - began > self._granularity_s:
                raise errors.CloudError(
                    f'{http.shown(self._url)} is too slow: in '
                    f'{self._granularity_s:g} s it answered for '
                    f'{first + len(some)} of {len(places)} volumes.')

    def _at_once(self, seconds: float) -> int:
        """Volumes whose measures of such a time are one answer."""
        each = len(disks.COUNTED + disks.TIMED) * max(
            1, seconds / self._granularity_s)
        return max(1, min(_AT_ONCE, int(_MEASURES // each)))

    def _measured(self, wanted: Sequence[Mapping[str, str] | str],
                  begin: float) -> list[Mapping[str, Any] | str]:
        """The rows of each resource's metrics by their names.

        :param wanted: name → id of each one's metrics, or why these are
            unknown, which is told as it is
        """
        ids = sorted({metric for metrics in wanted
                      if not isinstance(metrics, str)
                      for metric in metrics.values()})
        try:
            rows = self._rows(ids, begin) if ids else {}
        except http.Refused:
            # One metric that is gone, or kept otherwise, spoils the answer.
            if len(wanted) == 1:
                return [
                    'Gnocchi has no measures of its disk of each '
                    f'{self._granularity_s:g} s; is that a granularity of '
                    'their archive policy?']
            half = len(wanted) // 2
            return [*self._measured(wanted[:half], begin),
                    *self._measured(wanted[half:], begin)]
        return [metrics if isinstance(metrics, str) else {
            name: rows.get(metric) for name, metric in metrics.items()}
            for metrics in wanted]

    def _rows(self, metrics: Sequence[str], begin: float) -> dict[str, Any]:
        """Metric → what is told of it; of several by one question."""
        found = self._ask(
            'aggregates', 'POST', dict, params={
                'start': times.text(begin).removesuffix('Z'),
                'granularity': f'{self._granularity_s:g}'},
            json={'operations': ['metric', *(
                [metric, disks.METHOD] for metric in metrics)]}
        ).get('measures')
        if not isinstance(found, dict):
            raise self._other()
        return found

    def _resources(self, names: Sequence[str]) -> dict[
            str, list[fields.Field]]:
        """``<instance>-<vdX>`` → the resources of that name."""
        found: dict[str, list[fields.Field]] = {}
        for start in range(0, len(names), _AT_ONCE):
            rows = self._ask(
                'search/resource/instance_disk', 'POST', list,
                json={'in': {'original_resource_id':
                             names[start:start + _AT_ONCE]}})
            try:
                for resource in map(fields.Field, rows):
                    found.setdefault(
                        resource['original_resource_id'].name(),
                        []).append(resource)
            except ValueError as exc:
                raise errors.CloudError(
                    f'{http.shown(self._url)} does not answer as Gnocchi '
                    f'does ({exc}); is the URL right?') from None
        return found

    def _ask(self, path: str, method: str, kind: type[T],
             **others: Any) -> T:
        """:raises CloudError: where there is no answer, or of no such kind"""
        found = http.json(http.ask(
            self._session, f'{self._url}/{path}', method, **others))
        if not isinstance(found, kind):
            raise self._other()
        return found

    def _other(self) -> errors.CloudError:
        return errors.CloudError(
            f'{http.shown(self._url)} does not answer as Gnocchi does; is '
            'the URL right?')


def _metrics(disk: str | None, resources: Mapping[str, list[fields.Field]]
             ) -> list[Mapping[str, str] | str]:
    """As :func:`.gnocchi_disks.metrics` of each resource of a disk.

    Or why they are unknown.

    :param disk: None for that of a volume that is attached to nothing
    """
    if disk is None:
        return ['it is not attached to one instance, and Ceilometer sees '
                'nothing else']
    found: list[Mapping[str, str] | str] = []
    for resource in resources.get(disk, ()):
        try:
            found.append(disks.metrics(disk, resource))
        except disks.Unknown as exc:
            found.append(str(exc))
    return found or [
        f'Gnocchi has no resource {disk} of type instance_disk']


def _counters(found: Sequence[Mapping[str, Any] | str], joined: disks.Joined
              ) -> list[tuple[float, Counters]] | str:
    """The counters by all resources of a disk, or why they are unknown."""
    known = [its for its in found if not isinstance(its, str)]
    if not known:
        return str(found[-1])
    try:
        counted, timed = ([
            disks.series(name, [its[name] for its in known if name in its])
            for name in names if any(name in its for its in known)]
            for names in (disks.COUNTED, disks.TIMED))
        return joined(counted, timed) if all(counted) else []
    except disks.Unknown as exc:
        return str(exc)
