# SPDX-License-Identifier: Apache-2.0
"""Telemetry from a CSV file that another program appends to.

A row is the mean of what a volume did in the ``seconds`` up to ``at``,
seconds of the epoch; the other columns are volume, write_pct, block_kib,
iops and latency_us. The newest row of a volume in the window counts.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Mapping
from collections.abc import Sequence
import csv
import time

from oslo_config import cfg

from serifos import errors
from serifos.facts import activity
from serifos.facts.activity import Telemetry
from serifos.facts.workload import Workload

_MOST = {'at': 253_402_300_799, 'seconds': 604800, 'write_pct': 100,
         'block_kib': 2 ** 22, 'iops': 1e9, 'latency_us': 1e12}
"""The columns of figures, and the greatest that is believed of each."""


class Csv(Telemetry):
    """The port :class:`.facts.activity.Telemetry` over a CSV file.

    :param clock: seconds of the epoch
    """

    def __init__(self, file: str,
                 clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock

    def observe(self, places: Sequence[activity.MeasuredVolume],
                window_s: float, pools: Collection[str] = ()
                ) -> activity.Observed:
        """:raises CloudError: where the file cannot be read"""
        now = self._clock()
        newest = {volume: row for volume, row in self._rows()
                  if now - window_s <= row['at'] <= now}
        missing = {place.volume: why for place in places
                   if (why := _fault(newest.get(place.volume)))}
        return activity.Observed(
            at=max((row['at'] for row in newest.values()), default=now),
            volumes={place.volume: _activity(newest[place.volume])
                     for place in places if place.volume not in missing},
            pools={}, missing=missing, problems={})

    def _rows(self) -> list[tuple[str, Mapping[str, float]]]:
        """(volume, its figures), oldest first."""
        try:
            with open(self._file, newline='', encoding='utf-8') as file:
                rows = [(row['volume'], {name: float(row[name])
                                         for name in _MOST})
                        for row in csv.DictReader(file)]
        except (OSError, KeyError, TypeError, ValueError) as exc:
            raise errors.CloudError(
                f'{self._file} cannot be read as telemetry: {exc!r}; it '
                f'needs the columns volume, {", ".join(_MOST)}.') from None
        return sorted(rows, key=lambda row: row[1]['at'])


def _fault(row: Mapping[str, float] | None) -> str | None:
    """Why nothing is known of a volume, None where something is."""
    if row is None:
        return 'the CSV file has no row of it in the window'
    return next((f'its {name} is {row[name]:g} in the CSV file'
                 for name, most in _MOST.items()
                 if not 0 <= row[name] <= most), None)


def _activity(row: Mapping[str, float]) -> activity.Activity:
    mean = Workload(
        row['write_pct'], row['block_kib'],
        iodepth=row['iops'] * row['latency_us'] / 1e6,  # Little's law
        iops=row['iops'], latency_us=row['latency_us'])
    return activity.Activity(
        mean, row['seconds'], intervals=1,
        quiet_s=0.0 if row['iops'] else row['seconds'],
        unwritten_s=0.0 if row['iops'] * row['write_pct'] else row['seconds'])


def source(conf: cfg.ConfigOpts,
           stopped: Callable[[], bool] | None = None) -> Csv:
    """The source that ``[telemetry] source = csv`` names.

    :param stopped: whether the program is to end; for sources that wait
    """
    conf.register_opts([cfg.StrOpt('file')], group='telemetry_csv')
    if not conf.telemetry_csv.file:
        raise errors.InputError(
            'No CSV file is known; name it in [telemetry_csv] file.')
    return Csv(conf.telemetry_csv.file)
