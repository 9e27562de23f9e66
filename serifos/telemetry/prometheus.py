# SPDX-License-Identifier: Apache-2.0
"""Source of telemetry: a Prometheus server that scrapes the storage hosts.

It is asked for the samples themselves (a range vector), so that the join
with LV names and resets are the same arithmetic as without it. Aetos,
OpenStack's Prometheus behind Keystone, is asked alike.

Of days it is asked for the counters as they were every five minutes, and for
the times at which these were scraped: so a rate is that between two scrapes,
and an exporter or a Prometheus that was silent makes a gap, not a volume
that is idle and then busier than it was. Only ``/api/v1/query`` is asked and
nothing but a query is sent, which Aetos knows as well.
"""

from __future__ import annotations

import bisect
import collections
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import ipaddress
import itertools
import math
import operator
import re
import time
from typing import Any

from keystoneauth1.session import Session
import numpy as np
from oslo_log import log as logging

from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import Telemetry
from serifos.facts import fields
from serifos.facts.history import Series
from serifos.facts import times
from serifos.telemetry import amounts
from serifos.telemetry import counters
from serifos.telemetry.counters import Reading
from serifos.telemetry import exporter
from serifos.telemetry import http
from serifos.telemetry import window

LOG = logging.getLogger(__name__)

_APART_S = 300
"""Between two of the counters that are asked for, at most."""

_FEW = 100
"""Volumes that a query names; of more it asks for all there are."""

_MOST_COUNTERS = 20_000
"""That are asked for at once, by slots and volumes; eight samples each."""

MOST_DEVICES = 5_000
"""Whose samples are asked for at once: 50 MiB at an interval of 15 s."""

_INSTANT_S = 0.001
"""How finely Prometheus keeps times."""

_OF_LVS = ('lv_layer', 'lv_name', 'name', 'uuid', 'vg_name')
"""Labels that tell what a device is."""

_OF_SERIES = frozenset(('__name__', 'device', *_OF_LVS))
"""Labels that distinguish the series of one exporter."""

_NO_PAIR = 'a sample is not a pair of a time and a number'

Labels = Mapping[str, str]
Answer = list[tuple[Labels, list[Any]]]
"""The labels of each series, and its pairs of a time and a value."""


@dataclasses.dataclass(frozen=True)
class Server:
    """A Prometheus server, or an Aetos in front of it.

    :param url: of its queries
    :param label: names the storage host
    :param selector: label matchers of every query
    """

    session: Session
    url: str
    label: str
    selector: str
    clock: Callable[[], float]

    def of(self, names: Iterable[str], *matchers: str) -> str:
        """A query for the series of these names."""
        return '{%s}' % ','.join(filter(None, (
            f'__name__=~"{"|".join(names)}"', *matchers, self.selector)))

    def devices(self, during: str) -> dict[str, int]:
        """Value of the label → devices that exporters so named showed."""
        return {labels.get(self.label, ''): max(
            int(number) for _, number in _values(pairs))
            for labels, pairs in self.ask(
                f'count by ({self.label}) (last_over_time('
                f'{self.of(exporter.COUNTERS[:1])}{during}))[1s:1s]')}

    def named(self, values: Iterable[str]) -> str:
        """A label matcher for these values."""
        return f'{self.label}=~"{"|".join(map(_literal, sorted(values)))}"'

    def ask(self, query: str) -> Answer:
        """The series of a query of a range vector.

        :raises CloudError: where there is no answer, or not of Prometheus
        """
        doc = fields.Field(http.json(http.ask(
            self.session, self.url, 'POST', data={'query': query})))
        try:
            for warning in doc['warnings'].array_if_any()[:9]:
                LOG.warning('Prometheus warns: %s',
                            errors.one_line(str(warning)))
            return _series(doc['data']['result'])
        except ValueError as exc:
            raise errors.CloudError(
                f'{http.shown(self.url)} does not answer as a Prometheus '
                f'does ({exc}); is the URL right?') from None


@dataclasses.dataclass(frozen=True)
class Exporter:
    """What an answer says of one exporter.

    :param moments: time → the samples of it
    :param fault: why they cannot be read
    """

    labels: Labels
    moments: Mapping[float, Sequence[exporter.MetricSample]]
    fault: str | None = None


def exporters(answers: Iterable[Answer]) -> list[Exporter]:
    """The exporters whose series these answers have."""
    found: dict[frozenset[tuple[str, str]],
                dict[float, list[exporter.MetricSample]]] = {}
    strange: dict[frozenset[tuple[str, str]], str] = {}
    for answer in answers:
        for labels, pairs in answer:
            group = frozenset((name, value) for name, value in labels.items()
                              if name not in _OF_SERIES)
            moments = found.setdefault(group, collections.defaultdict(list))
            name = labels.get('__name__', '')
            try:
                for at, value in _values(pairs):
                    moments[at].append(
                        exporter.MetricSample(name, labels, value))
            except ValueError as exc:
                strange[group] = (
                    f'what Prometheus sent of it cannot be read: {exc}')
    return [Exporter(dict(group), moments, strange.get(group))
            for group, moments in found.items()]


def scraped_twice(several: Sequence[Labels]) -> str:
    """The reason why exporters scraped at once cannot be used; or None.

    :param several: their labels, of which those that differ are told
    """
    shared = set.intersection(*(set(labels.items()) for labels in several))
    apart = sorted('{%s}' % ', '.join(
        f'{name}="{value}"' for name, value in sorted(
            labels.items() - shared)) for labels in several)
    return (f'Prometheus has {len(several)} node_exporters of it at the same '
            f'time, {" and ".join(apart)}; choose one in [telemetry] '
            'prometheus_selector, by a label that stays when its pod is '
            'replaced')


def _literal(name: str) -> str:
    """A name as a regular expression within a string of PromQL."""
    return re.escape(name).replace('\\', '\\\\').replace('"', '\\"')


def _series(result: fields.Field) -> Answer:
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
    if {*map(type, pairs)} - {list} or {*map(len, pairs)} - {2}:
        raise ValueError(_NO_PAIR)
    times, said = zip(*pairs) if pairs else ((), ())
    if not ({*map(type, times)} <= {int, float} and {*map(type, said)} <= {str}
            and all(map(counters.is_time, {min(times), max(times)} if times
                        else ()))):
        raise ValueError(_NO_PAIR)
    return zip(map(float, times), map(float, said))


Named = Callable[[Collection[str], Sequence[Exporter]],
                 Mapping[str, Sequence[Exporter]]]
"""The hosts that are wanted, and exporters → host, or another name, and its
exporters."""


class Prometheus(Telemetry):
    """The port :class:`.facts.activity.Telemetry` over a Prometheus server.

    :param session: of :func:`.http.session`
    :param url: what stands before ``/api/v1/query``
    :param label: names the storage host
    :param hosts: Cinder's host → the whole value of that label, where a
        comparison of names does not do
    :param selector: more label matchers, ``job="node"``
    :param interval_s: its scrape_interval
    """

    def __init__(self, session: Session, url: str, *,
                 label: str,
                 hosts: Mapping[str, str] | None = None, selector: str = '',
                 interval_s: float,
                 clock: Callable[[], float] = time.time) -> None:
        self._server = Server(
            session, f'{url.rstrip("/")}/api/v1/query', label,
            selector.strip().strip(','), clock)
        self._label = label
        self._hosts = dict(hosts or {})
        self._interval_s = interval_s
        self._clock = clock
        self.history = Past(self._server, interval_s, self._named)

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        """:raises CloudError: where the server cannot be asked"""
        hosts, now = window.hosts(places, pools), self._clock()
        seconds = math.ceil(window.reach_s(window_s, self._interval_s))
        readings: window.Readings
        if len(places) > MOST_DEVICES:
            readings = self._in_batches(hosts, seconds, now)
        else:
            readings = self._readings(hosts, f'[{seconds}s]')
            now = self._clock()
        return window.observed(
            places, readings, now=now, window_s=window_s,
            interval_s=self._interval_s, empty=pools)

    def _in_batches(self, hosts: Collection[str], seconds: int,
                    now: float) -> Batches:
        """The readings of hosts, which are asked for some at a time."""
        devices = self._server.devices(f'[{seconds}s] @ {now:.3f}')
        find = Names(devices).find
        values = {host: find(self._hosts.get(host), host) for host in hosts}
        return Batches(
            batches({host: sum(devices[value] for value in its)
                     for host, its in values.items() if its}),
            lambda batch: self._readings(
                batch, f'[{seconds}s] @ {now:.3f}',
                self._server.named({value for host in batch
                                    for value in values[host]})),
            self._of([]))

    def disks(self, hosts: Collection[str]
              ) -> dict[str, tuple[activity.Disk, ...]]:
        """Host → its disks, of those whose exporter tells them.

        :raises CloudError: where the server cannot be asked
        """
        during = f'[{math.ceil(window.reach_s(300, self._interval_s))}s]'
        several = [labels for labels, _ in self._server.ask(
            self._server.of([exporter.DISK_INFO]) + during)]
        find = Names(labels.get(self._label, '') for labels in several).find
        found = {}
        for host in hosts:
            its = find(self._hosts.get(host), host)
            found[host] = exporter.disks_of(
                labels for labels in several
                if labels.get(self._label, '') in its)
        return {host: its for host, its in found.items() if its}

    def _readings(self, hosts: Collection[str], during: str,
                  *matchers: str) -> dict[str, list[Reading]]:
        """Host → its readings during that time."""
        ask, of = self._server.ask, self._server.of
        found = self._named(hosts, exporters(
            ask(of(names, *matchers) + during) for names in (
                (*exporter.COUNTERS, exporter.INFO),
                (exporter.BOOTED, exporter.CLOCK))))
        return {host: self._of(found[host]) for host in hosts}

    def _of(self, its: Sequence[Exporter]) -> list[Reading]:
        """The readings of a host by the exporters that it matches."""
        fault = self._fault(its)
        if fault is not None:
            return [Reading(self._clock(), fault=fault)]
        return merged_readings(
            [[exporter.reading(at, one.moments[at])
              for at in sorted(one.moments)] for one in its],
            amounts.longest_s(self._interval_s),
            lambda nths: scraped_twice([its[nth].labels for nth in nths]))

    def _fault(self, its: Sequence[Exporter]) -> str | None:
        """The reasons why exporters that a host matches are not read."""
        if not its:
            return (f'Prometheus has no node_exporter whose label '
                    f'{self._label} names it; set [telemetry] '
                    'prometheus_label or prometheus_hosts')
        names = sorted({_without_port(self._value(one)) for one in its})
        if len(names) > 1:
            # Perhaps other hosts: a boot time of theirs would be believed.
            return (f'Prometheus has node_exporters of {" and ".join(names)}, '
                    'and either may be it; choose one in [telemetry] '
                    'prometheus_hosts')
        return next((one.fault for one in its if one.fault), None)

    def _named(self, hosts: Collection[str],
               known: Sequence[Exporter]
               ) -> dict[str, list[Exporter]]:
        """Host → its exporters, those of hosts that are not wanted too."""
        by_value: dict[str, list[Exporter]] = {}
        for one in known:
            by_value.setdefault(self._value(one), []).append(one)
        find = Names(by_value).find
        values = {host: find(self._hosts.get(host), host) for host in hosts}
        for value in by_value.keys() - {*itertools.chain(*values.values())}:
            values.setdefault(f'{_without_port(value)}/', []).append(value)
        return {host: [one for value in its for one in by_value[value]]
                for host, its in values.items()}

    def _value(self, one: Exporter) -> str:
        return one.labels.get(self._label, '')


class Names:
    """Values of a label, by the hosts that they name."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = frozenset(values)
        self._by_name: dict[str, list[str]] = {}
        self._by_short: dict[str, list[str]] = {}
        for value in sorted(self._values):
            name = _without_port(value)
            self._by_name.setdefault(name, []).append(value)
            if name:
                self._by_short.setdefault(_short(name), []).append(value)

    def find(self, wanted: str | None, host: str) -> list[str]:
        """Those that name a host: all of its name, else its first part.

        :param wanted: the only one, where an operator set it
        """
        if wanted is not None:
            return [wanted] if wanted in self._values else []
        name = host.lower()
        return [*(self._by_name.get(name)
                  or self._by_short.get(_short(name), ()))]


class Batches(Mapping[str, Sequence[Reading]]):
    """Host → its readings, asked for with those of its batch.

    Only those of the last batch are in memory.

    :param unknown: the readings of other hosts
    """

    def __init__(self, several: Iterable[Sequence[str]],
                 read: Callable[[Sequence[str]],
                                Mapping[str, Sequence[Reading]]],
                 unknown: Sequence[Reading]) -> None:
        self._batch = {host: batch for batch in several for host in batch}
        self._read, self._unknown = read, unknown
        self._last: Mapping[str, Sequence[Reading]] = {}

    def __getitem__(self, host: str) -> Sequence[Reading]:
        if host not in self._batch:
            return self._unknown
        if host not in self._last:
            self._last = self._read(self._batch[host])
        return self._last[host]

    def __iter__(self) -> Iterator[str]:
        return iter(self._batch)

    def __len__(self) -> int:
        return len(self._batch)


def batches(devices: Mapping[str, int]) -> list[list[str]]:
    """The keys in order, as many together as have few devices.

    In the order of the pools of hosts that are so named.
    """
    found: list[list[str]] = []
    left = 0
    for key in sorted(devices, key=lambda key: f'{key}@'):
        if devices[key] > left or not found:
            found.append([])
            left = MOST_DEVICES
        found[-1].append(key)
        left -= devices[key]
    return found


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


@dataclasses.dataclass(frozen=True)
class Past:
    """The port :class:`.facts.activity.History` over a Prometheus.

    :param interval_s: its scrape_interval
    """

    server: Server
    interval_s: float
    named: Named

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """As :meth:`.facts.activity.History.read`.

        No more is asked for at once than an answer may hold.
        """
        apart_s = _APART_S if step_s and not step_s % _APART_S else step_s
        if step_s < 0 or not max(1, self.interval_s) <= apart_s <= _APART_S:
            raise errors.InputError(
                f'Prometheus is not asked for slots of {step_s} s; give a '
                f'multiple of {_APART_S} s, or less than that but not than '
                f'its scrape_interval, {self.interval_s:g} s.')
        found = Series.empty([place.volume for place in places], begin,
                             end, step_s)
        if not places:
            return found
        longest_s = max(1.5 * apart_s, amounts.longest_s(self.interval_s))
        lost: dict[str, list[counters.Reading]] = {
            host: [] for host in window.hosts(places, ())}
        at_once = apart_s * max(1, _MOST_COUNTERS // (len(places) + _FEW))
        for since in range(found.begin, found.end, at_once):
            until = min(since + at_once, found.end)
            readings = {
                host: _merged(its, longest_s) for host, its in
                self._exporters(places, since, until, apart_s).items()}
            for host, its in lost.items():
                its += [r for r in readings.get(host, ()) if r.fault]
            seen = amounts.series(places, readings, since, until, apart_s,
                                  longest_s=longest_s)
            slots = (np.array(seen.begins) - found.begin) // step_s
            np.add.at(found.sums, np.s_[:, slots], seen.sums)
        _tell(lost)
        return found

    def _exporters(self, places: Sequence[activity.MeasuredVolume],
                   since: int, until: int, apart_s: int
                   ) -> Mapping[str, Sequence[Exporter]]:
        """Host → its exporters at the steps from one time to another.

        And one more, since the newest of the last step was taken before.
        """
        seconds = until + apart_s - since
        # Prometheus 3 leaves out what lies at the beginning itself.
        during = (f'[{seconds + apart_s // 2}s:{apart_s}s] @ '
                  f'{until + apart_s}')
        matchers = [()] if len(places) <= MOST_DEVICES else [
            (self.server.named(batch),) for batch in batches(
                self.server.devices(f'[{seconds}s] @ {until + apart_s}'))]
        known = exporters(
            self.server.ask(query + during) for its in matchers
            for query in self._queries(
                () if len(places) > _FEW else places, its))
        return self.named(window.hosts(places, ()), known)

    def _queries(self, places: Sequence[activity.MeasuredVolume],
                 matchers: Sequence[str]) -> Iterator[str]:
        """Counters with the names of volumes; clocks; times of scrapes.

        :param places: whose counters are wanted; none for all there are
        :param matchers: of the exporters that are asked for
        """
        def of(names: Iterable[str], *others: str) -> str:
            return self.server.of(names, *others, *matchers)
        if places:
            names = sorted({exporter.PREFIX + name for place in places
                            for name in (place.volume, place.lv_id)})
            lvs = '|'.join(map(_literal, names))
            wanted = of((exporter.INFO,), 'lv_layer=""', f'lv_name=~"{lvs}"')
            yield wanted
            yield (f'({of(exporter.COUNTERS)} and '
                   f'ignoring({",".join(_OF_LVS)}) {wanted})')
        else:
            yield of((*exporter.COUNTERS, exporter.INFO))
        yield of((exporter.BOOTED, exporter.CLOCK))
        yield ('max without(device) (timestamp('
               f'{of(exporter.COUNTERS[:1])}))')


def _merged(its: Sequence[Exporter],
            longest_s: float) -> list[counters.Reading]:
    """The readings of a host by its exporters."""
    return merged_readings(
        [list(_readings(one)) for one in its], longest_s,
        lambda nths: scraped_twice([its[nth].labels for nth in nths]))


def _readings(one: Exporter) -> Iterator[counters.Reading]:
    """The readings of an exporter, each at the time of its scrape.

    One that shows none of the volumes that were asked for was there too.
    """
    if one.fault is not None:
        yield from (counters.Reading(at, fault=one.fault)
                    for at in one.moments)
        return
    for _, samples in sorted(one.moments.items()):
        scraped = [sample.value for sample in samples if not sample.name]
        if len(scraped) == 1 and counters.is_time(scraped[0]):
            found = exporter.reading(scraped[0], samples)
            yield (counters.Reading(scraped[0])
                   if found.fault == exporter.NO_DISKS
                   else found)


def _tell(lost: Mapping[str, Sequence[counters.Reading]]) -> None:
    """Logs what is left out of the past of hosts."""
    for host, its in sorted(lost.items()):
        if its:
            LOG.warning(
                'The history of the volumes of %s has gaps from %s to %s: %s',
                host, times.text(its[0].at), times.text(its[-1].at),
                its[-1].fault)


def merged_readings(several: Sequence[Sequence[counters.Reading]],
                    longest_s: float, why: Callable[[Sequence[int]], str]
                    ) -> list[counters.Reading]:
    """The readings of a host by exporters that followed one another.

    A pod that is replaced, or a job that is renamed, gives the series of a
    host other labels: the counters go on, and so does what is known. Only
    where two exporters were read at the same time is it not known which one
    is right.

    :param several: those of each of its exporters, oldest first
    :param longest_s: between two readings; more is a gap
    :param why: what is wrong where these, by their numbers, were read at
        the same time
    """
    spans = [_spans(its, longest_s) for its in several]
    starts, ends = map(sorted, zip(*itertools.chain(*spans), strict=True)
                       ) if any(spans) else ((), ())
    double = [{at for start, end in its for at in (start, end)
               if bisect.bisect_left(starts, end)
               - bisect.bisect_right(ends, start) > 1} for its in spans]
    those = [nth for nth, times in enumerate(double) if times]
    fault = why(those) if those else None
    return sorted(
        (counters.Reading(reading.at, fault=fault) if reading.at in times
         else reading for its, times in zip(several, double)
         for reading in its), key=operator.attrgetter('at'))


def _spans(its: Sequence[counters.Reading],
           longest_s: float) -> list[tuple[float, float]]:
    """The time for which each reading stands: since the one before it."""
    times = [reading.at for reading in its]
    return [(since if at - since <= longest_s else at - _INSTANT_S, at)
            for since, at in itertools.pairwise([float('-inf'), *times])]
