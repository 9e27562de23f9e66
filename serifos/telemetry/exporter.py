# SPDX-License-Identifier: Apache-2.0
"""What does a node_exporter say of the logical volumes of its host?

Its disk counters know devices (``dm-3``), and the join with
``node_disk_device_mapper_info`` tells which logical volume that is. Only
Cinder's own, ``volume-<name_id>``, and only the topmost layer: a volume
with a snapshot has ``real`` and ``cow`` beneath it, a thin pool ``tpool``.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
import dataclasses

from prometheus_client import parser

from serifos.telemetry import counters as cn

PREFIX = 'volume-'
INFO = 'node_disk_device_mapper_info'
BOOTED = 'node_boot_time_seconds'
CLOCK = 'node_time_seconds'
COUNTERS = (
    'node_disk_reads_completed_total', 'node_disk_writes_completed_total',
    'node_disk_read_bytes_total', 'node_disk_written_bytes_total',
    'node_disk_read_time_seconds_total',
    'node_disk_write_time_seconds_total')
"""In the order of the fields of :class:`.counters.Counters`."""

NO_DISKS = 'its node_exporter shows no node_disk_*_total (diskstats)'
NO_INFO = (f'its node_exporter shows no {INFO}; it must be 1.5 or later and '
           'see /run/udev')

_OURS = (*COUNTERS, INFO, BOOTED, CLOCK)


@dataclasses.dataclass(frozen=True, slots=True)
class Sample:
    """One line of an exposition, whoever handed it over."""

    name: str
    labels: Mapping[str, str]
    value: float


def parse(text: str) -> list[Sample]:
    """The samples of an exposition that are of use here.

    :raises ValueError: where the text is no exposition
    """
    lines = '\n'.join(line for line in text.splitlines()
                      if line.startswith(_OURS)) + '\n'
    return [Sample(s.name, s.labels, s.value)
            for family in parser.text_string_to_metric_families(lines)
            for s in family.samples]


def reading(at: float, samples: Iterable[Sample]) -> cn.Reading:
    """The join of devices with logical volumes.

    :param at: when the samples were taken, seconds of the epoch
    """
    values: dict[tuple[str, str], list[float]] = {}
    lvs: dict[str, list[tuple[str, str]]] = {}
    started, clock, mapped = None, None, False
    for sample in samples:
        device = sample.labels.get('device', '')
        if sample.name == BOOTED:
            started = sample.value
        elif sample.name == CLOCK:
            clock = sample.value
        elif sample.name == INFO:
            mapped = True
            for lv_id, group in _ours(sample):
                lvs.setdefault(lv_id, []).append((group, device))
        else:
            values.setdefault((device, sample.name), []).append(sample.value)
    faults = {lv_id: text for lv_id, where in lvs.items()
              if (text := _fault(where, values))}
    return cn.Reading(
        at, {lv_id: _counters(where[0][1], values)
             for lv_id, where in lvs.items() if lv_id not in faults},
        faults, started, _trouble({device for device, _ in values}, mapped),
        clock)


def _trouble(devices: Collection[str], mapped: bool) -> str | None:
    """Why nothing is known; a host without any LV is known to be empty."""
    if not devices:
        return NO_DISKS
    unmapped = not mapped and any(d.startswith('dm-') for d in devices)
    return NO_INFO if unmapped else None


def _ours(sample: Sample) -> Iterator[tuple[str, str]]:
    name = sample.labels.get('lv_name', '')
    if name.startswith(PREFIX) and not sample.labels.get('lv_layer'):
        yield name.removeprefix(PREFIX), sample.labels.get('vg_name', '?')


def _counters(device: str,
              values: Mapping[tuple[str, str], list[float]]) -> cn.Counters:
    return cn.Counters(*(values[device, name][0] for name in COUNTERS))


def _fault(where: list[tuple[str, str]],
           values: Mapping[tuple[str, str], list[float]]) -> str | None:
    """Why the counters of an LV cannot be used."""
    if len(where) > 1:
        return ('there are several LVs of its name, in '
                f'{" and ".join(sorted(group for group, _ in where))}')
    device = where[0][1]
    for name in COUNTERS:
        found = values.get((device, name), ())
        if len(found) != 1:
            return (f'node_exporter shows {name} of its device {device} '
                    f'{len(found)} times' if found else
                    f'node_exporter shows no {name} of its device {device}')
    if not _counters(device, values).are_sane:
        return f'a counter of its device {device} is no figure'
    return None
