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
import time
from typing import Any
from urllib import parse

from keystoneauth1 import session as ks

from serifos import errors
from serifos.facts import activity
from serifos.facts import fields
from serifos.facts import history as hs
from serifos.facts import times
from serifos.telemetry import counters as cn
from serifos.telemetry import gnocchi_disks as disks
from serifos.telemetry.history import gnocchi as past
from serifos.telemetry import http
from serifos.telemetry import window

_AT_ONCE = 100


class Gnocchi:
    """The port :class:`.activity.Telemetry` over Gnocchi.

    :param session: of :func:`.http.session`
    :param url: what stands before ``/v1``
    :param attachments: asked each time: volume id → (instance id, device,
        since), the device as Cinder or Nova has it (``/dev/vdb``), the time
        in seconds of the epoch
    :param granularity_s: of the archive policy to read; a window shorter
        than two of them is never known
    """

    def __init__(self, session: ks.Session, url: str,
                 attachments: Callable[
                     [], Mapping[str, tuple[str, str, float]]], *,
                 granularity_s: float = 300.0,
                 clock: Callable[[], float] = time.time) -> None:
        self._session = session
        self._url = f'{url.rstrip("/")}/v1'
        self._attachments = attachments
        self.granularity_s = granularity_s
        self._clock = clock

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        """:raises CloudError: where Gnocchi or Cinder cannot be asked"""
        now = self._clock()
        begin = now - window.reach_s(window_s, self.granularity_s)
        readings: dict[str, list[cn.Reading]] = {}
        for place, found in self.counters(places, begin, functools.partial(
                disks.counters, window_s=window_s + self.granularity_s / 2)):
            readings[place.volume] = [
                cn.Reading(now, fault=found)] if isinstance(found, str) else [
                    cn.Reading(at, {place.lv_id: counters})
                    for at, counters in found]
        return dataclasses.replace(window.observed(
            [dataclasses.replace(place, since=0.0) for place in places],
            readings, now=now, window_s=window_s,
            interval_s=self.granularity_s, of=lambda place: place.volume),
            in_qemu=True)

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> hs.Series:
        """The port :class:`.facts.history.History` over what it keeps."""
        return past.read(self, places, begin, end, step_s)

    def counters(self, places: Sequence[activity.MeasuredVolume],
                 begin: float, joined: disks.Joined) -> Iterator[tuple[
                     activity.MeasuredVolume,
                     list[tuple[float, cn.Counters]] | str]]:
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
        for nth, place in enumerate(places, 1):
            _, _, since = attached.get(place.volume, ('', '', 0.0))
            # QEMU's counters of a disk have nothing of what is copied.
            place = dataclasses.replace(place, since=since)
            try:
                yield place, self._counters(
                    disks.metrics(names.get(place.volume), resources), begin,
                    joined)
            except disks.Unknown as exc:
                yield place, str(exc)
            if self._clock() - began > self.granularity_s:
                raise errors.CloudError(
                    f'{http.shown(self._url)} is too slow: in '
                    f'{self.granularity_s:g} s it answered for '
                    f'{nth} of {len(places)} volumes.')

    def _counters(self, metrics: Mapping[str, str], begin: float,
                  joined: disks.Joined) -> list[tuple[float, cn.Counters]]:
        counted, timed = ([
            self._measures(metrics[name], begin) for name in names
            if name in metrics] for names in (disks.COUNTED, disks.TIMED))
        return joined(counted, timed) if all(counted) else []

    def _resources(self, names: Sequence[str]) -> dict[
            str, list[fields.Field]]:
        """``<instance>-<vdX>`` → the resources of that name."""
        found: dict[str, list[fields.Field]] = {}
        for start in range(0, len(names), _AT_ONCE):
            rows = self._ask(
                'search/resource/instance_disk', 'POST',
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

    def _measures(self, metric: str, since: float) -> disks.Series:
        """:raises disks.Unknown: where they are none"""
        try:
            rows = self._ask(
                f'metric/{parse.quote(metric, safe="")}/measures', params={
                    'start': times.text(since).removesuffix('Z'),
                    'aggregation': 'mean', 'refresh': 'false',
                    'granularity': f'{self.granularity_s:g}'})
            return dict(map(disks.measure, rows))
        except http.Missing:
            raise disks.Unknown(f'Gnocchi has no metric {metric} any more'
                                ) from None
        except ValueError as exc:
            raise disks.Unknown(
                f'the measures of metric {metric} in Gnocchi cannot be read: '
                f'{exc}') from None

    def _ask(self, path: str, method: str = 'GET', **others: Any) -> list[
            Any]:
        """:raises CloudError: where there is no answer, or no list"""
        rows = http.json(http.ask(
            self._session, f'{self._url}/{path}', method, **others))
        if not isinstance(rows, list):
            raise errors.CloudError(
                f'{http.shown(self._url)} does not answer as Gnocchi does; '
                'is the URL right?')
        return rows
