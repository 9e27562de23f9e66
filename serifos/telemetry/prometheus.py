# SPDX-License-Identifier: Apache-2.0
"""What does a Prometheus that scrapes the storage hosts remember of them?

It is asked for the samples themselves (a range vector), so that the join
with LV names, resets and the busiest intervals are the same arithmetic as
without it. Aetos, OpenStack's Prometheus behind Keystone, is asked alike.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import ipaddress
import itertools
import math
import time
from typing import Any

from keystoneauth1 import session as ks
from oslo_log import log as logging

from serifos import activity as act
from serifos import errors
from serifos.telemetry import counters as cn
from serifos.telemetry import exporter
from serifos.telemetry import history
from serifos.telemetry import http

LOG = logging.getLogger(__name__)

_OF_SERIES = frozenset((
    '__name__', 'device', 'lv_layer', 'lv_name', 'name', 'uuid', 'vg_name'))
"""Labels that tell the series of one exporter apart."""

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

    def observe(self, places: Sequence[act.Place], window_s: float,
                pools: Collection[str] = ()) -> act.Observed:
        """:raises CloudError: where the server cannot be asked"""
        seconds = window_s + (
            history.STALE_INTERVALS + 1) * self._interval_s
        try:
            known = self._readings(seconds)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise errors.CloudError(
                f'{http.shown(self._url)} does not answer as a Prometheus '
                'does; is the URL right?') from None
        return history.observed(
            places, {host: self._of(host, known)
                     for host in history.hosts(places, pools)},
            now=self._clock(), window_s=window_s,
            interval_s=self._interval_s, empty=pools)

    def _readings(self, seconds: float) -> list[
            tuple[Labels, list[cn.Reading]]]:
        """What tells exporters apart, and the readings of each."""
        found: dict[frozenset[tuple[str, str]],
                    dict[float, list[exporter.Sample]]] = {}
        for series in itertools.chain(
                self._ask(exporter.COUNTERS + (exporter.INFO,), seconds),
                self._ask((exporter.BOOTED, exporter.CLOCK), seconds)):
            labels = series['metric']
            moments = found.setdefault(frozenset(
                (name, value) for name, value in labels.items()
                if name not in _OF_SERIES), {})
            for at, value in series['values']:
                moments.setdefault(float(at), []).append(exporter.Sample(
                    labels['__name__'], labels, float(value)))
        return [(dict(group), [exporter.reading(at, moments[at])
                               for at in sorted(moments)])
                for group, moments in found.items()]

    def _ask(self, names: Sequence[str],
             seconds: float) -> list[dict[str, Any]]:
        """The series of these names with their samples of so many seconds.

        :raises CloudError: where there is no answer, or no JSON
        """
        matchers = ','.join(filter(None, (
            f'__name__=~"{"|".join(names)}"', self._selector)))
        query = f'{{{matchers}}}[{math.ceil(seconds)}s]'
        doc = http.json(http.ask(self._session, self._url, 'POST',
                                 data={'query': query}))
        for warning in doc.get('warnings', ()):
            LOG.warning('Prometheus says: %s', warning)
        return doc['data']['result']

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
