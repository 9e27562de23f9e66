# SPDX-License-Identifier: Apache-2.0
"""Queries to a Prometheus server, and its answers.

Only ``/api/v1/query`` is asked and nothing but a query is sent, which Aetos
knows as well.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re
from typing import Any

from keystoneauth1.session import Session
from oslo_log import log as logging

from serifos import errors
from serifos.facts import fields
from serifos.telemetry import counters
from serifos.telemetry import exporter
from serifos.telemetry import http

LOG = logging.getLogger(__name__)

OF_LVS = ('lv_layer', 'lv_name', 'name', 'uuid', 'vg_name')
"""Labels that tell what a device is."""

_OF_SERIES = frozenset(('__name__', 'device', *OF_LVS))
"""Labels that distinguish the series of one exporter."""

Labels = Mapping[str, str]
Answer = list[tuple[Labels, list[Any]]]
"""The labels of each series, and its pairs of a time and a value."""


@dataclasses.dataclass(frozen=True)
class Server:
    """A Prometheus server, or an Aetos in front of it.

    :param url: of its queries
    :param selector: label matchers of every query
    """

    session: Session
    url: str
    selector: str
    clock: Callable[[], float]

    def of(self, names: Iterable[str], *matchers: str) -> str:
        """A query for the series of these names."""
        return '{%s}' % ','.join(filter(None, (
            f'__name__=~"{"|".join(names)}"', *matchers, self.selector)))

    def ask(self, query: str) -> Answer:
        """The series of a query of a range vector.

        :raises CloudError: where there is no answer, or not of Prometheus
        """
        doc = fields.Field(http.json(http.ask(
            self.session, self.url, 'POST', data={'query': query})))
        try:
            for warning in doc['warnings'].array_if_any()[:9]:
                LOG.warning('Prometheus says: %s',
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
            moments = found.setdefault(group, {})
            try:
                for at, value in _values(pairs):
                    moments.setdefault(at, []).append(exporter.MetricSample(
                        labels.get('__name__', ''), labels, value))
            except ValueError as exc:
                strange[group] = (
                    f'what Prometheus sent of it cannot be read: {exc}')
    return [Exporter(dict(group), moments, strange.get(group))
            for group, moments in found.items()]


def double(several: Sequence[Labels]) -> str:
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


def literal(name: str) -> str:
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
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2
                and counters.is_time(pair[0]) and isinstance(pair[1], str)):
            raise ValueError('a sample is not a pair of a time and a number')
        yield float(pair[0]), float(pair[1])
