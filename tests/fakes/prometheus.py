# SPDX-License-Identifier: Apache-2.0
"""A Prometheus that has scraped node_exporters, and answers subqueries.

As a real one does it answers with the last sample before each step, unless
that is older than five minutes or the scrape after it failed.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses
import json
import re
from urllib import parse

from serifos.telemetry.counters import Counters
from serifos.telemetry import exporter

LOOKBACK_S = 300

_SUBQUERY = re.compile(r'(.*)\[(\d+)s:(\d+)s\] @ (\d+)', re.DOTALL)

_COUNT = re.compile(r'count by \((\w+)\) .* @ ([\d.]+)\)\)\[1s:1s\]')

Series = tuple[dict[str, str], float]
"""Labels, and the value at some time."""


@dataclasses.dataclass
class Exporter:
    """One that was scraped at some times.

    :param said: time of a scrape → LV id → its counters; None where the
        scrape failed
    :param booted: time → when the host booted
    """

    labels: Mapping[str, str]
    times: Iterable[float]
    said: Callable[[float], Mapping[str, Counters] | None]
    booted: Callable[[float], float] = lambda at: 77.0

    def at(self, step: float) -> tuple[float, list[Series]]:
        """When the last scrape was, and its series; none if it is stale."""
        times = sorted(self.times)
        nth = bisect.bisect_right(times, step) - 1
        if nth < 0 or times[nth] <= step - LOOKBACK_S:
            return 0.0, []
        volumes = self.said(times[nth])
        if volumes is None:
            return 0.0, []
        return times[nth], [
            ({**self.labels, **labels}, value)
            for labels, value in self._series(times[nth], volumes)]

    def matches(self, query: str) -> bool:
        """Whether its labels are among those that a query asks for."""
        return all(re.fullmatch(wanted.replace('\\\\', '\\'),
                                self.labels[label]) for label, wanted
                   in re.findall(r'(\w+)=~"([^"]*)"', query)
                   if label in self.labels)

    def _series(self, at: float, volumes: Mapping[str, Counters]
                ) -> Iterator[Series]:
        yield {'__name__': exporter.BOOTED}, self.booted(at)
        yield {'__name__': exporter.CLOCK}, at
        for lv_id, counters in (('', Counters(*[1.0] * 6)),
                                *volumes.items()):
            device = f'dm-{lv_id}' if lv_id else 'sda'
            for name, value in zip(exporter.COUNTERS, counters):
                yield {'__name__': name, 'device': device}, value
            if lv_id:
                yield {'__name__': exporter.INFO, 'device': device,
                       'lv_layer': '', 'lv_name': f'volume-{lv_id}',
                       'vg_name': 'vg'}, 1.0


class Prometheus:
    """What is served; ``asked`` are the queries."""

    def __init__(self, *exporters: Exporter) -> None:
        self.exporters, self.asked = exporters, []

    def answer(self, method: str, path: str, headers: Mapping[str, str],
               body: bytes) -> tuple[int, str]:
        """(status, text) of a request."""
        query = parse.parse_qs(body.decode())['query'][0]
        self.asked.append(query)
        counted = _COUNT.match(query)
        if counted is not None:
            return 200, _answer(self._devices(query, *counted.groups()))
        vector, seconds, step, at = _SUBQUERY.fullmatch(query).groups()
        found: dict[tuple[tuple[str, str], ...], list[object]] = {}
        first = int(at) - int(seconds)
        for moment in range(-(-first // int(step)) * int(step),
                            int(at) + 1, int(step)):
            for one in self.exporters:
                if one.matches(vector):
                    for labels, value in _chosen(vector, *one.at(moment)):
                        found.setdefault(tuple(labels.items()), []).append(
                            [moment, repr(value)])
        return 200, _answer(found)

    def _devices(self, query: str, label: str, at: str
                 ) -> dict[tuple[tuple[str, str], ...], list[object]]:
        return {((label, one.labels[label]),): [[float(at), str(
            len([*_chosen(query, *one.at(float(at)))]))]]
            for one in self.exporters}


def _answer(found: Mapping[tuple[tuple[str, str], ...], list[object]]) -> str:
    return json.dumps({'status': 'success', 'data': {
        'resultType': 'matrix', 'result': [
            {'metric': dict(labels), 'values': values}
            for labels, values in found.items()]}})


def _chosen(vector: str, scraped: float,
            series: list[Series]) -> Iterator[Series]:
    """The series of one scrape that a query of ours selects."""
    names = re.search(r'__name__=~"([^"]*)"', vector)[1].split('|')
    wanted = re.search(r'lv_name=~"([^"]*)"', vector)
    here = {labels['device'] for labels, _ in series
            if labels['__name__'] == exporter.INFO and (
                wanted is None or re.fullmatch(
                    wanted[1].replace('\\\\', '\\'), labels['lv_name']))}
    timed = 'timestamp(' in vector
    seen = set()
    for labels, value in series:
        if labels['__name__'] not in names or (
                wanted and labels['device'] not in here):
            continue
        if not timed:
            yield labels, value
            continue
        bare = {name: said for name, said in labels.items()
                if name not in ('__name__', 'device')}
        if tuple(bare.items()) not in seen:
            seen.add(tuple(bare.items()))
            yield bare, scraped
