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
import re
import time
from typing import Any

from keystoneauth1 import session as ks
from oslo_log import log as logging

from serifos import errors
from serifos.facts import activity
from serifos.facts import fields
from serifos.facts import history as hs
from serifos.telemetry import counters as cn
from serifos.telemetry import exporter
from serifos.telemetry import exposition
from serifos.telemetry.history import amounts
from serifos.telemetry import http
from serifos.telemetry import window

LOG = logging.getLogger(__name__)

_OF_LVS = ('lv_layer', 'lv_name', 'name', 'uuid', 'vg_name')
"""Labels that tell what a device is."""

_OF_SERIES = frozenset(('__name__', 'device', *_OF_LVS))
"""Labels that distinguish the series of one exporter."""

_APART_S = 300
"""Between two of the counters that make the history, at most."""

_FEW = 50
"""Volumes that a question may name; for more it asks for all there are."""

_MOST_COUNTERS = 20_000
"""That are asked for at once, by slots and volumes; eight samples each."""

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
        seconds = math.ceil(window.reach_s(window_s, self._interval_s))
        known = self._readings(f'[{seconds}s]')
        return window.observed(
            places, {host: self._of(host, known)
                     for host in window.hosts(places, pools)},
            now=self._clock(), window_s=window_s,
            interval_s=self._interval_s, empty=pools)

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> hs.Series:
        """The port :class:`.facts.history.History` over what it keeps.

        The counters are asked for at every five minutes, or at every slot
        where these are shorter, and no more of them at once than an answer
        may hold.
        """
        apart_s = _APART_S if step_s % _APART_S == 0 else step_s
        if not self._interval_s <= apart_s <= _APART_S:
            raise errors.InputError(
                f'Prometheus is not asked for slots of {step_s} s; give a '
                f'multiple of {_APART_S} s, or less than that but not than '
                f'its scrape_interval, {self._interval_s:g} s.')
        found = hs.Series.empty([place.volume for place in places], begin,
                                end, step_s)
        at_once = max(1, _MOST_COUNTERS // (len(places) + _FEW)) * step_s
        for since in range(found.begin, found.end, at_once):
            until = min(since + at_once, found.end)
            seen = amounts.series(
                places, self._past(places, until, until - since, apart_s),
                since, until, apart_s, longest_s=1.5 * apart_s
            ).rolled_up(step_s)
            slot = (since - found.begin) // step_s
            found.sums[:, slot:slot + seen.count] = seen.sums
        return found

    def _past(self, places: Sequence[activity.MeasuredVolume], until: int,
              seconds: int, apart_s: int) -> dict[str, list[cn.Reading]]:
        """Host → its readings; exporters of no known host by a number."""
        names = {exporter.PREFIX + name for place in places
                 for name in (place.volume, place.lv_id)}
        only = '' if len(places) > _FEW else ','.join((
            'lv_layer=""', f'lv_name=~"{"|".join(map(_literal, names))}"'))
        known = self._readings(f'[{seconds + apart_s}s:{apart_s}s]', only,
                               time=until)
        found = {host: self._of(host, known)
                 for host in window.hosts(places, ())}
        ours = set(map(id, found.values()))
        return found | {f'{nth}:': readings
                        for nth, (_, readings) in enumerate(known)
                        if id(readings) not in ours}

    def _readings(self, during: str, only: str = '', **others: int) -> list[
            tuple[Labels, list[cn.Reading]]]:
        """The labels of each exporter, and its readings.

        :param during: a range of PromQL
        :param only: matchers of the volumes that are wanted
        :param others: parameters of the query
        """
        found: dict[frozenset[tuple[str, str]],
                    dict[float, list[exposition.MetricSample]]] = {}
        strange: dict[frozenset[tuple[str, str]], str] = {}
        for labels, pairs in itertools.chain.from_iterable(
                self._ask(during, query, others)
                for query in self._queries(only)):
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

    def _queries(self, only: str) -> Iterator[str]:
        """What is asked: counters with the names of volumes, and clocks."""
        def of(*matchers: str) -> str:
            return '{%s}' % ','.join(filter(None, (
                *matchers, self._selector)))

        def named(*names: str) -> str:
            return f'__name__=~"{"|".join(names)}"'
        if only:
            wanted = of(named(exporter.INFO), only)
            yield wanted
            yield (f'({of(named(*exporter.COUNTERS))} and '
                   f'ignoring({",".join(_OF_LVS)}) {wanted})')
        else:
            yield of(named(*exporter.COUNTERS, exporter.INFO))
        yield of(named(exporter.BOOTED, exporter.CLOCK))

    def _ask(self, during: str, query: str,
             others: Mapping[str, int]) -> list[tuple[Labels, list[Any]]]:
        """The series of a query with their samples of a range.

        :raises CloudError: where there is no answer, or not of Prometheus
        """
        doc = fields.Field(http.json(http.ask(
            self._session, self._url, 'POST',
            data={'query': query + during, **others})))
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


def _literal(name: str) -> str:
    """A name as a regular expression within a string of PromQL."""
    return re.escape(name).replace('\\', '\\\\').replace('"', '\\"')


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
