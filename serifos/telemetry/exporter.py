# SPDX-License-Identifier: Apache-2.0
"""Counters of the logical volumes of a host, from its node_exporter.

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
from collections.abc import Sequence
import functools
import re
from typing import NamedTuple

from prometheus_client import parser

from serifos.facts import activity
from serifos.telemetry import counters

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

NAMES = (*COUNTERS, INFO, BOOTED, CLOCK)
"""All metrics that are read."""

_DEVICE = re.compile(r'[\w!.+-]{1,64}', re.ASCII)
_LVM = re.compile(r'[\w.+-]{1,127}', re.ASCII)
"""How LVM names groups and volumes."""

MOST_LINES = 70_000
"""Lines of wanted names: an LV has seven, so that is 10,000 of them."""

MOST_BYTES = 4096
"""Of such a line."""

_NO_FLOAT = re.compile(r'(?<=[\s}])[0-9]{309,}')
"""A figure of so many digits, at which the parser ends with an error."""

_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="[^"\\{}#,=\x00-\x1f]*"'
_NUMBER = r'[0-9]{1,300}(?:\.[0-9]{1,300})?(?:e[+-][0-9]{1,3})?'
_PLAIN = re.compile(
    r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(%(label)s(?:,%(label)s)*)\})? '
    r'(%(number)s)' % {'label': _LABEL, 'number': _NUMBER})
"""A line as node_exporter writes them: no escapes, no time, no spare space.
The parser reads all others, and needs four times as long."""

_PAIR = re.compile('([^",=]+)="([^"]*)"')

DISK_INFO = 'node_disk_info'

_MADE = ('dm-', 'loop', 'md', 'nbd', 'ram', 'rbd', 'sr', 'zram')
"""How names of devices begin that are no disks."""

_MOST_CHARACTERS = 128


def parse(data: bytes) -> list[MetricSample]:
    """The samples of an exposition that are read here.

    :raises ValueError: where it is not an exposition
    """
    return samples(data, NAMES)


def reading(at: float,
            samples: Iterable[MetricSample]) -> counters.Reading:
    """The join of devices with logical volumes.

    An impossible value is a fault of its volume, or of the host.

    :param at: when the samples were taken, seconds of the epoch
    """
    values: dict[str, dict[str, list[float]]] = {
        name: {} for name in COUNTERS}
    times: dict[str, list[float]] = {BOOTED: [], CLOCK: []}
    lvs: dict[str, list[tuple[str, str]]] = {}
    mapped = False
    for name, labels, value in samples:
        if name in values:
            values[name].setdefault(
                labels.get('device', ''), []).append(value)
        elif name in times:
            times[name].append(value)
        elif name == INFO:
            mapped = True
            for lv_id, group in _ours(labels):
                lvs.setdefault(lv_id, []).append((group, labels['device']))
    fault = _strange_time(times) or _trouble(
        set().union(*values.values()), mapped)
    if fault is not None:
        return counters.Reading(at, fault=fault)
    found = {lv_id: _counters(where, values) for lv_id, where in lvs.items()}
    return counters.Reading(
        at, {lv_id: its for lv_id, its in found.items()
             if not isinstance(its, str)},
        {lv_id: its for lv_id, its in found.items() if isinstance(its, str)},
        next(iter(times[BOOTED]), None),
        clock=next(iter(times[CLOCK]), None))


def _strange_time(times: Mapping[str, Sequence[float]]) -> str | None:
    for name, found in times.items():
        if len(found) > 1:
            return f'its node_exporter shows {name} {len(found)} times'
        if not all(map(counters.is_time, found)):
            return f'its {name} {found[0]:g} is not a time'
    return None


def _trouble(devices: Collection[str], mapped: bool) -> str | None:
    """Why the volumes are unknown; a host without LVs is known to be empty."""
    known = filter(_DEVICE.fullmatch, devices)
    first = next(known, None)
    if first is None:
        return NO_DISKS
    unmapped = not mapped and any(
        device.startswith('dm-') for device in (first, *known))
    return NO_INFO if unmapped else None


def _ours(labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    name, group = labels.get('lv_name', ''), labels.get('vg_name', '')
    if (name.startswith(PREFIX) and not labels.get('lv_layer')
            and _LVM.fullmatch(name)
            and _DEVICE.fullmatch(labels.get('device', ''))):
        yield name.removeprefix(PREFIX), (
            group if _LVM.fullmatch(group) else '?')


def _counters(where: list[tuple[str, str]],
              values: Mapping[str, Mapping[str, list[float]]]
              ) -> counters.Counters | str:
    """The counters of an LV, or why they cannot be used."""
    if len(where) > 1:
        return ('there are several LVs of its name, in '
                f'{" and ".join(sorted(group for group, _ in where))}')
    device = where[0][1]
    several = [values[name].get(device, ()) for name in COUNTERS]
    if {*map(len, several)} != {1}:
        name, found = next((name, found) for name, found in zip(
            COUNTERS, several) if len(found) != 1)
        return (f'node_exporter shows {name} of its device {device} '
                f'{len(found)} times' if found else
                f'node_exporter shows no {name} of its device {device}')
    its = counters.Counters(*[found[0] for found in several])
    if not its.are_sane:
        return f'a counter of its device {device} is out of range'
    return its


class MetricSample(NamedTuple):
    """A sample: name, labels and value."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples(data: bytes, wanted: Sequence[str]) -> list[MetricSample]:
    """The samples of these names, in their order.

    :param data: what an exporter answered, UTF-8
    :raises ValueError: with a clause, where such a line is not a sample, or
        there are too many
    """
    found: list[MetricSample] = []
    for line in _lines_of(tuple(wanted)).finditer(
            '\n' + data.decode(errors='replace')):
        if len(found) == MOST_LINES:
            raise ValueError(f'more than {MOST_LINES} lines of disks')
        name, device, value = line.groups()
        found.append(MetricSample(name, {'device': device}, float(value))
                     if name else _sample(line[0].strip('\r\n')))
    return found


@functools.cache
def _lines_of(names: tuple[str, ...]) -> re.Pattern[str]:
    """Lines of these names; name, device and value of counters of disks.

    Each with the line end before it, which is found without trying others.
    """
    either = '|'.join(names)
    return re.compile(
        rf'\n(?:({either})\{{device="([\w!.+-]{{1,64}})"\}} ({_NUMBER})$'
        rf'|(?:{either})(?![\w:]).*)', re.ASCII | re.MULTILINE)


def _sample(line: str) -> MetricSample:
    size = len(line.encode())
    if size > MOST_BYTES:
        raise ValueError(f'a line of {size} bytes')
    plain = _PLAIN.fullmatch(line)
    if plain is not None:
        said = plain[2] or ''
        labels = dict(_PAIR.findall(said))
        if len(labels) == said.count('='):
            return MetricSample(plain[1], labels, float(plain[3]))
    line = _NO_FLOAT.sub('+Inf', line)
    try:
        family, = parser.text_string_to_metric_families(f'{line}\n')
        sample, = family.samples
        return MetricSample(sample.name, sample.labels, float(sample.value))
    except Exception:  # it raises what its own steps happen to raise
        raise ValueError(f'the line {line[:80]!r} is not a sample') from None


def parse_disks(data: bytes) -> tuple[activity.Disk, ...]:
    """The disks of an exposition.

    :raises ValueError: where it is none
    """
    return disks_of(
        sample.labels for sample in samples(data, [DISK_INFO]))


def disks_of(several: Iterable[Mapping[str, str]]
             ) -> tuple[activity.Disk, ...]:
    """The disks, from labels; none where one of them has no model.

    Devices that the kernel makes of others are left out, and volumes that are
    attached by iSCSI, as during a migration.
    """
    found = [activity.Disk(labels.get('model', '')[:_MOST_CHARACTERS],
                           labels.get('serial', '')[:_MOST_CHARACTERS])
             for labels in several
             if not labels.get('device', '').startswith(_MADE)
             and 'iscsi' not in labels.get('path', '')]
    return tuple(dict.fromkeys(found)) if all(
        disk.model for disk in found) else ()
