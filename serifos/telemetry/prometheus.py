# SPDX-License-Identifier: Apache-2.0
"""Source of telemetry: a Prometheus server that scrapes the storage hosts.

It is asked for the samples themselves (a range vector), so that the join
with LV names and resets are the same arithmetic as without it. Aetos,
OpenStack's Prometheus behind Keystone, is asked alike.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import ipaddress
import itertools
import math
import time
from typing import Any

from keystoneauth1 import session as ks
from oslo_log import log as logging

from serifos import errors
from serifos.facts import activity
from serifos.facts import fields
from serifos.telemetry import counters as cn
from serifos.telemetry import exporter
from serifos.telemetry import exposition
from serifos.telemetry import http
from serifos.telemetry import window

LOG = logging.getLogger(__name__)

_OF_SERIES = frozenset((
    '__name__', 'device', 'lv_layer', 'lv_name', 'name', 'uuid', 'vg_name'))
"""Labels that distinguish the series of one exporter."""

Labels = Mapping[str, str]


class Prometheus:
    """The port :class:`.activity.Telemetry` over a Prometheus server.

    :param session: of :func:`.http.session`
    :param url: what stands before ``/api/v1/query``
    :param label: names the storage host
    :param hosts: Cinder's host → the whole value of that label, where a
        comparison of names does not do
    :param selector: more label matchers, ``job="node"``
    :param interval_s: its scrape_interval
    """

    def __init__(self, session: ks.Session, url: str, *,
                 label: str = 'instance',
                 hosts: Mapping[str, str] | None = None, selector: str = '',
                 interval_s: float = 15.0,
                 clock: Callable[[], float] = time.time) -> None:
        self._session = session
        self._url = f'{url.rstrip("/")}/api/v1/query'
        self._label = label
        self._hosts = dict(hosts or {})
        self._selector = selector.strip().strip(',')
        self._interval_s = interval_s
        self._clock = clock

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        """:raises CloudError: where the server cannot be asked"""
        known = self._readings(window.reach_s(window_s, self._interval_s))
        return window.observed(
            places, {host: self._of(host, known)
                     for host in window.hosts(places, pools)},
            now=self._clock(), window_s=window_s,
            interval_s=self._interval_s, empty=pools)

    def _readings(self, seconds: float) -> list[
            tuple[Labels, list[cn.Reading]]]:
        """The labels of each exporter, and its readings."""
        found: dict[frozenset[tuple[str, str]],
                    dict[float, list[exposition.MetricSample]]] = {}
        strange: dict[frozenset[tuple[str, str]], str] = {}
        for labels, pairs in itertools.chain(
                self._ask(exporter.COUNTERS + (exporter.INFO,), seconds),
                self._ask((exporter.BOOTED, exporter.CLOCK), seconds)):
            group = frozenset((name, value) for name, value in labels.items()
                              if name not in _OF_SERIES)
            moments = found.setdefault(group, {})
            try:
                for at, value in _values(pairs):
                    moments.setdefault(at, []).append(exposition.MetricSample(
                        labels.get('__name__', ''), labels, value))
            except ValueError as exc:
                strange[group] = (
                    f'what Prometheus sent of it cannot be read: {exc}')
        now = self._clock()
        return [(dict(group), [cn.Reading(now, fault=strange[group])]
                 if group in strange else
                 [exporter.reading(at, moments[at]) for at in sorted(moments)])
                for group, moments in found.items()]

    def _ask(self, names: Sequence[str], seconds: float) -> list[
            tuple[Labels, list[Any]]]:
        """The series of these names with their samples of so many seconds.

        :raises CloudError: where there is no answer, or not of Prometheus
        """
        matchers = ','.join(filter(None, (
            f'__name__=~"{"|".join(names)}"', self._selector)))
        query = f'{{{matchers}}}[{math.ceil(seconds)}s]'
        doc = fields.Field(http.json(http.ask(
            self._session, self._url, 'POST', data={'query': query})))
        try:
            for warning in doc['warnings'].array_if_any()[:9]:
                LOG.warning('Prometheus says: %s',
                            errors.one_line(str(warning)))
            return _series(doc['data']['result'])
        except ValueError as exc:
            raise errors.CloudError(
                f'{http.shown(self._url)} does not answer as a Prometheus '
                f'does ({exc}); is the URL right?') from None

    def _of(self, host: str,
            known: Sequence[tuple[Labels, list[cn.Reading]]]) -> list[
                cn.Reading]:
        """The readings of the exporter on a host."""
        values = [labels.get(self._label, '') for labels, _ in known]
        nths = _matching(self._hosts.get(host), host, values)
        if len(nths) == 1:
            return known[nths[0]][1]
        return [cn.Reading(self._clock(), fault=self._why(
            host, [known[nth][0] for nth in nths]))]

    def _why(self, host: str, several: Sequence[Labels]) -> str:
        if not several:
            return (f'Prometheus has no node_exporter whose label '
                    f'{self._label} names it; set [telemetry] '
                    'prometheus_label or prometheus_hosts')
        apart = sorted('{%s}' % ', '.join(
            f'{name}="{value}"' for name, value in sorted(labels.items()))
            for labels in several)
        return (f'Prometheus has {len(several)} node_exporters of it, '
                f'{" and ".join(apart)}; choose by [telemetry] '
                'prometheus_selector')


def _series(result: fields.Field) -> list[tuple[Labels, list[Any]]]:
    """The labels and the values of each series.

    :raises ValueError: where the result is not a range vector
    """
    return [({name: str(value)
              for name, value in series['metric'].object().items()},
             series['values'].array()) for series in result.items()]


def _values(pairs: Sequence[Any]) -> Iterator[tuple[float, float]]:
    """Times and values of samples.

    :raises ValueError: where they are not pairs of a time and a number
    """
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2
                and cn.is_time(pair[0]) and isinstance(pair[1], str)):
            raise ValueError('a sample is not a pair of a time and a number')
        yield float(pair[0]), float(pair[1])


def _matching(wanted: str | None, host: str,
              values: Sequence[str]) -> list[int]:
    """Where the values name a host: all of its name, else its first part."""
    if wanted is not None:
        return [n for n, value in enumerate(values) if value == wanted]
    names = [_without_port(value) for value in values]
    whole = [n for n, name in enumerate(names) if name == host.lower()]
    return whole or [n for n, name in enumerate(names)
                     if name and _short(name) == _short(host.lower())]


def _without_port(value: str) -> str:
    name, colon, port = value.lower().rpartition(':')
    bare = name if colon and port.isdigit() else value.lower()
    return bare.strip('[]')


def _short(name: str) -> str:
    """What stands before the first dot; an address has no short form."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name.partition('.')[0]
