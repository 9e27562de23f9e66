# SPDX-License-Identifier: Apache-2.0
"""Source of telemetry: a Prometheus server that scrapes the storage hosts.

It is asked for the samples themselves (a range vector), so that the join
with LV names and resets are the same arithmetic as without it. Aetos,
OpenStack's Prometheus behind Keystone, is asked alike.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import ipaddress
import math
import time

from keystoneauth1.session import Session

from serifos.facts import activity
from serifos.facts.telemetry import Telemetry
from serifos.telemetry.counters import Reading
from serifos.telemetry import disks
from serifos.telemetry import exporter
from serifos.telemetry.history import amounts
from serifos.telemetry.history import prometheus as past
from serifos.telemetry import merged
from serifos.telemetry import promql
from serifos.telemetry import window


class Prometheus(Telemetry):
    """The port :class:`.facts.telemetry.Telemetry` over a Prometheus server.

    :param session: of :func:`.http.session`
    :param url: what stands before ``/api/v1/query``
    :param label: names the storage host
    :param hosts: Cinder's host → the whole value of that label, where a
        comparison of names does not do
    :param selector: more label matchers, ``job="node"``
    :param interval_s: its scrape_interval
    """

    def __init__(self, session: Session, url: str, *,
                 label: str = 'instance',
                 hosts: Mapping[str, str] | None = None, selector: str = '',
                 interval_s: float = 15.0,
                 clock: Callable[[], float] = time.time) -> None:
        self._server = promql.Server(
            session, f'{url.rstrip("/")}/api/v1/query',
            selector.strip().strip(','), clock)
        self._label = label
        self._hosts = dict(hosts or {})
        self._interval_s = interval_s
        self._clock = clock
        self.history = past.Past(self._server, interval_s, self._named)

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        """:raises CloudError: where the server cannot be asked"""
        known = self._exporters(window.reach_s(window_s, self._interval_s))
        return window.observed(
            places, {host: self._of(host, known)
                     for host in window.hosts(places, pools)},
            now=self._clock(), window_s=window_s,
            interval_s=self._interval_s, empty=pools)

    def disks(self, hosts: Collection[str]
              ) -> dict[str, tuple[activity.Disk, ...]]:
        """Host → its disks, of those whose exporter tells them.

        :raises CloudError: where the server cannot be asked
        """
        during = f'[{math.ceil(window.reach_s(300, self._interval_s))}s]'
        several = [labels for labels, _ in self._server.ask(
            self._server.of([disks.INFO]) + during)]
        values = sorted({labels.get(self._label, '') for labels in several})
        found = {}
        for host in hosts:
            its = [values[nth] for nth in _matching(
                self._hosts.get(host), host, values)]
            found[host] = disks.of(labels for labels in several if labels.get(
                self._label, '') in its)
        return {host: its for host, its in found.items() if its}

    def _exporters(self, seconds: float) -> list[promql.Exporter]:
        """What the exporters said in the last seconds."""
        ask, of = self._server.ask, self._server.of
        during = f'[{math.ceil(seconds)}s]'
        return promql.exporters(ask(of(names) + during) for names in (
            (*exporter.COUNTERS, exporter.INFO),
            (exporter.BOOTED, exporter.CLOCK)))

    def _of(self, host: str,
            known: Sequence[promql.Exporter]) -> list[Reading]:
        """The readings of a host."""
        its = [known[nth] for nth in self._nths(host, known)]
        fault = self._fault(its)
        if fault is not None:
            return [Reading(self._clock(), fault=fault)]
        return merged.readings(
            [[exporter.reading(at, one.moments[at])
              for at in sorted(one.moments)] for one in its],
            amounts.longest_s(self._interval_s),
            lambda nths: promql.double([its[nth].labels for nth in nths]))

    def _fault(self, its: Sequence[promql.Exporter]) -> str | None:
        """The reasons why exporters that a host matches are not read."""
        if not its:
            return (f'Prometheus has no node_exporter whose label '
                    f'{self._label} names it; set [telemetry] '
                    'prometheus_label or prometheus_hosts')
        names = sorted({self._name(one) for one in its})
        if len(names) > 1:
            # Perhaps other hosts: a boot time of theirs would be believed.
            return (f'Prometheus has node_exporters of {" and ".join(names)}, '
                    'and either may be it; choose one in [telemetry] '
                    'prometheus_hosts')
        return next((one.fault for one in its if one.fault), None)

    def _named(self, hosts: Collection[str],
               known: Sequence[promql.Exporter]
               ) -> dict[str, list[promql.Exporter]]:
        """Host → its exporters, those of hosts that are not wanted too."""
        found = {host: self._nths(host, known) for host in hosts}
        taken = {nth for nths in found.values() for nth in nths}
        for nth, one in enumerate(known):
            if nth not in taken:
                found.setdefault(f'{self._name(one)}/', []).append(nth)
        return {host: [known[nth] for nth in nths]
                for host, nths in found.items()}

    def _nths(self, host: str, known: Sequence[promql.Exporter]) -> list[int]:
        return _matching(self._hosts.get(host), host, [
            one.labels.get(self._label, '') for one in known])

    def _name(self, one: promql.Exporter) -> str:
        return _without_port(one.labels.get(self._label, ''))


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
