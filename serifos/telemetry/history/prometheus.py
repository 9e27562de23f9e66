# SPDX-License-Identifier: Apache-2.0
"""What volumes did over days, from a Prometheus server.

It is asked for the counters as they were every five minutes, and for the
times at which these were scraped: so a rate is that between two scrapes,
and an exporter or a Prometheus that was silent makes a gap, not a volume
that is idle and then busier than it was. Resets and hosts that were
restarted are found as in what serifos scrapes itself.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses

import numpy as np
from oslo_log import log as logging

from serifos import errors
from serifos.facts import activity
from serifos.facts.history import Series
from serifos.facts import times
from serifos.telemetry import counters
from serifos.telemetry import exporter
from serifos.telemetry.history import amounts
from serifos.telemetry import merged
from serifos.telemetry import promql
from serifos.telemetry import window

LOG = logging.getLogger(__name__)

_APART_S = 300
"""Between two of the counters that are asked for, at most."""

_FEW = 100
"""Volumes that a query names; of more it asks for all there are."""

_MOST_COUNTERS = 20_000
"""That are asked for at once, by slots and volumes; eight samples each."""

Named = Callable[[Collection[str], Sequence[promql.Exporter]],
                 Mapping[str, Sequence[promql.Exporter]]]
"""The hosts that are wanted, and exporters → host, or another name, and its
exporters."""


@dataclasses.dataclass(frozen=True)
class Past:
    """The port :class:`.facts.history.History` over a Prometheus.

    :param interval_s: its scrape_interval
    """

    server: promql.Server
    interval_s: float
    named: Named

    def read(self, places: Sequence[activity.MeasuredVolume], begin: float,
             end: float, step_s: int) -> Series:
        """As :meth:`.facts.history.History.read`.

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
                   ) -> Mapping[str, Sequence[promql.Exporter]]:
        """Host → its exporters at the steps from one time to another.

        And one more, since the newest of the last step was taken before.
        """
        seconds = until + apart_s - since
        # Prometheus 3 leaves out what lies at the beginning itself.
        during = (f'[{seconds + apart_s // 2}s:{apart_s}s] @ '
                  f'{until + apart_s}')
        known = promql.exporters(
            self.server.ask(query + during) for query in self._queries(
                () if len(places) > _FEW else places))
        return self.named(window.hosts(places, ()), known)

    def _queries(self, places: Sequence[activity.MeasuredVolume]
                 ) -> Iterator[str]:
        """Counters with the names of volumes; clocks; times of scrapes.

        :param places: whose counters are wanted; none for all there are
        """
        of = self.server.of
        if places:
            names = sorted({exporter.PREFIX + name for place in places
                            for name in (place.volume, place.lv_id)})
            lvs = '|'.join(map(promql.literal, names))
            wanted = of((exporter.INFO,), 'lv_layer=""', f'lv_name=~"{lvs}"')
            yield wanted
            yield (f'({of(exporter.COUNTERS)} and '
                   f'ignoring({",".join(promql.OF_LVS)}) {wanted})')
        else:
            yield of((*exporter.COUNTERS, exporter.INFO))
        yield of((exporter.BOOTED, exporter.CLOCK))
        yield ('max without(device) (timestamp('
               f'{of(exporter.COUNTERS[:1])}))')


def _merged(its: Sequence[promql.Exporter],
            longest_s: float) -> list[counters.Reading]:
    """The readings of a host by its exporters."""
    return merged.readings(
        [list(_readings(one)) for one in its], longest_s,
        lambda nths: promql.double([its[nth].labels for nth in nths]))


def _readings(one: promql.Exporter) -> Iterator[counters.Reading]:
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
                'What volumes of %s did from %s to %s is not all known: %s',
                host, times.text(its[0].at), times.text(its[-1].at),
                its[-1].fault)
