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
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import math
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
from serifos.telemetry.history import amounts
from serifos.telemetry import http
from serifos.telemetry import window

COUNTED = ('disk.device.read.requests', 'disk.device.write.requests',
           'disk.device.read.bytes', 'disk.device.write.bytes')
TIMED = ('disk.device.read.latency', 'disk.device.write.latency')
"""Together in the order of the fields of :class:`.counters.Counters`; the
latencies are nanoseconds, summed over all requests."""

_AT_ONCE = 100
_NS = 1e9

Series = Mapping[float, float]
"""Seconds of the epoch → value."""


class Gnocchi:
    """The port :class:`.activity.Telemetry` over Gnocchi.

    :param session: of :func:`.http.session`
    :param url: what stands before ``/v1``
    :param attachments: asked each time: volume id → (instance id, device),
        the device as Cinder or Nova has it (``/dev/vdb``)
    :param granularity_s: of the archive policy to read; a window shorter
        than two of them is never known
    """

    def __init__(self, session: ks.Session, url: str,
                 attachments: Callable[[], Mapping[str, tuple[str, str]]], *,
                 granularity_s: float = 300.0,
                 clock: Callable[[], float] = time.time) -> None:
        self._session = session
        self._url = f'{url.rstrip("/")}/v1'
        self._attachments = attachments
        self._granularity_s = granularity_s
        self._clock = clock

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        """:raises CloudError: where Gnocchi or Cinder cannot be asked"""
        now = self._clock()
        places, readings = self._all(places, now, window_s)
        return window.observed(
            places, readings, now=now, window_s=window_s,
            interval_s=self._granularity_s, of=lambda place: place.volume)

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> hs.Series:
        """The port :class:`.facts.history.History` over what it keeps.

        Of volumes where they are attached now; where the time of requests
        is not polled, only latency and outstanding requests are unknown.
        """
        if step_s % self._granularity_s:
            raise errors.InputError(
                f'Gnocchi has no slots of {step_s} s; give a multiple of '
                f'[telemetry] gnocchi_granularity, {self._granularity_s:g} '
                's.')
        places, readings = self._all(places, self._clock(), max(
            0.0, self._clock() - begin), timed=False)
        return amounts.series(places, readings, begin, end, step_s,
                              longest_s=1.5 * self._granularity_s)

    def _all(self, places: Sequence[activity.MeasuredVolume], now: float,
             window_s: float, timed: bool = True) -> tuple[
                 list[activity.MeasuredVolume], dict[str, list[cn.Reading]]]:
        """The places, and volume → its readings.

        :param timed: whether requests whose time is unknown are unknown
        """
        attachments = self._attachments()
        # QEMU's counters of a disk have nothing of what is copied.
        places = [dataclasses.replace(place, since=0.0) for place in places]
        names = {place.volume: _name(*attachments[place.volume])
                 for place in places if place.volume in attachments}
        resources = self._resources(sorted(set(names.values())))
        readings = {}
        for place in places:
            readings[place.volume] = self._readings(
                place, names.get(place.volume), resources, now, window_s,
                timed)
            if self._clock() - now > self._granularity_s:
                raise errors.CloudError(
                    f'{http.shown(self._url)} is too slow: in '
                    f'{self._granularity_s:g} s it answered for '
                    f'{len(readings)} of {len(places)} volumes.')
        return places, readings

    def _readings(self, place: activity.MeasuredVolume, name: str | None,
                  resources: Mapping[str, list[fields.Field]],
                  now: float, window_s: float,
                  needs_time: bool) -> list[cn.Reading]:
        """The readings of a volume, or one with the fault of it."""
        since = now - window.reach_s(window_s, self._granularity_s)
        try:
            metrics = _metrics(name, resources)
            counted = [self._measures(metrics[name], since)
                       for name in COUNTED]
            timed = [self._measures(metrics[name], since)
                     for name in TIMED if name in metrics]
        except _Unknown as exc:
            return [cn.Reading(now, fault=str(exc))]
        if not all(counted):
            return []
        if len(timed) < len(TIMED):
            unknown = math.nan
            if needs_time:
                if not _is_still(counted, window_s + self._granularity_s / 2):
                    return [cn.Reading(now, fault=_NO_LATENCY)]
                unknown = 0.0
            timed = [dict.fromkeys(counted[0], unknown)] * len(TIMED)
        return [cn.Reading(at, {place.lv_id: counters})
                for at, counters in _joined(counted, timed)]

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

    def _measures(self, metric: str, since: float) -> Series:
        """:raises _Unknown: where they are none"""
        try:
            rows = self._ask(
                f'metric/{parse.quote(metric, safe="")}/measures', params={
                    'start': times.text(since).removesuffix('Z'),
                    'aggregation': 'mean', 'refresh': 'false',
                    'granularity': f'{self._granularity_s:g}'})
            return dict(map(_measure, rows))
        except http.Missing:
            raise _Unknown(f'Gnocchi has no metric {metric} any more'
                           ) from None
        except ValueError as exc:
            raise _Unknown(
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


class _Unknown(Exception):
    """Why a volume is not known."""


_NO_LATENCY = (
    'it is not idle, and how long its requests take is not measured; let '
    'Ceilometer poll disk.device.read.latency and disk.device.write.latency')


def _name(instance: str, device: str) -> str:
    """How Ceilometer names a disk."""
    return f'{instance}-{device.removeprefix("/dev/")}'


def _metrics(name: str | None,
             resources: Mapping[str, list[fields.Field]]
             ) -> Mapping[str, str]:
    """Name → id of the metrics of a disk; None is attached to nothing."""
    if name is None:
        raise _Unknown('it is not attached to one instance, and Ceilometer '
                       'sees nothing else')
    found = resources.get(name, [])
    if len(found) != 1:
        raise _Unknown(f'Gnocchi has {len(found) or "no"} resource'
                       f'{"s" if found else ""} {name} of type '
                       'instance_disk')
    try:
        metrics = found[0]['metrics'].texts()
    except ValueError as exc:
        raise _Unknown(f'the resource {name} in Gnocchi cannot be read: '
                       f'{exc}') from None
    for wanted in COUNTED:
        if wanted not in metrics:
            raise _Unknown(f'Gnocchi has no {wanted} of {name}')
    return metrics


def _measure(row: Any) -> tuple[float, float]:
    """The time and the value of a row.

    :raises ValueError: where it is not time, granularity and number
    """
    try:
        at, _, value = row
        seconds = times.parse(at)
    except (TypeError, ValueError):
        raise ValueError('a measure has no time') from None
    if not (cn.is_time(seconds) and cn.is_figure(value)):
        raise ValueError('a measure is out of range')
    return seconds, value


def _is_still(counted: Sequence[Series], window_s: float) -> bool:
    """Whether no request was completed in the window."""
    return all(len({value for at, value in series.items()
                    if at >= max(series) - window_s}) == 1
               for series in counted[:2])


def _joined(counted: Sequence[Series], timed: Sequence[Series]) -> list[
        tuple[float, cn.Counters]]:
    """The counters at times that all series have; ns become s."""
    times = set.intersection(*(set(s) for s in (*counted, *timed)))
    found = ((at, cn.Counters(*(s[at] for s in counted),
                              *(s[at] / _NS for s in timed)))
             for at in sorted(times))
    return [(at, counters) for at, counters in found if all(
        cn.is_figure(value) or value is math.nan
        for value in counters.values)]
