# SPDX-License-Identifier: Apache-2.0
"""Scratch logical volumes of our own in somebody's volume group.

Only volumes with our tag are ever discarded, filled or removed; physical
volumes and the volumes of others are never touched.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import json
from typing import Any

from serifos.bench import command
from serifos import errors

TAG = 'serifos-scratch'


@dataclasses.dataclass(frozen=True)
class VolumeGroup:
    """A volume group as LVM reports it; sizes are bytes."""

    name: str
    uuid: str
    size: int
    free: int
    physical_volumes: tuple[str, ...]

    @property
    def facts(self) -> dict[str, str]:
        return {'volume group': self.name, 'uuid': self.uuid,
                'size': f'{self.size / 2 ** 30:.1f} GiB',
                'free': f'{self.free / 2 ** 30:.1f} GiB',
                'physical volumes': ', '.join(self.physical_volumes)}


def identify(name: str) -> VolumeGroup:
    """:raises DeviceError: where there is no such volume group"""
    try:
        text = command.run(_report('vgs', 'vg_name,vg_uuid,vg_size,vg_free,'
                                   'pv_name', name))
    except errors.ToolError as exc:
        raise errors.DeviceError(
            f'There is no volume group {name}: {exc}') from None
    return parse(text)


def parse(text: str) -> VolumeGroup:
    """A volume group from the report of vgs, one row for each PV."""
    rows = _rows(text, 'vg')
    return VolumeGroup(
        rows[0]['vg_name'], rows[0]['vg_uuid'], int(rows[0]['vg_size']),
        int(rows[0]['vg_free']), tuple(row['pv_name'] for row in rows))


def refuse_if_small(group: VolumeGroup, count: int, size: int) -> None:
    """:raises DeviceError: where the scratch volumes do not fit"""
    if group.free < count * size:
        raise errors.DeviceError(
            f'Volume group {group.name} has {group.free / 2 ** 30:.1f} GiB '
            f'free and {count} scratch volumes of {size / 2 ** 30:.1f} GiB '
            'do not fit; give a smaller --lv-size-gib.')


@contextlib.contextmanager
def scratch(group: str, count: int, size: int) -> Iterator[tuple[str, ...]]:
    """Paths of ``count`` new volumes, removed again at the end.

    Scratch volumes that an interrupted build left are removed first.
    """
    _remove(group)
    try:
        for i in range(count):
            command.run(create_command(group, i, size))
        yield tuple(f'/dev/{group}/{TAG}-{i}' for i in range(count))
    finally:
        _remove(group)


def create_command(group: str, index: int, size: int) -> list[str]:
    return ['lvcreate', '--yes', '--wipesignatures', 'y', '--addtag', TAG,
            '--name', f'{TAG}-{index}', '--size', f'{size}b', group]


def _remove(group: str) -> None:
    text = command.run(_report(
        'lvs', 'lv_name,lv_tags', '--select', f'lv_tags={TAG}', group))
    for name in ours(text):
        command.run(['lvremove', '--yes', '--select', f'lv_tags={TAG}',
                     f'{group}/{name}'])


def ours(text: str) -> list[str]:
    """Names of the volumes in a report of lvs that carry tag and name."""
    return [row['lv_name'] for row in _rows(text, 'lv')
            if TAG in row['lv_tags'].split(',')
            and row['lv_name'].startswith(f'{TAG}-')]


def _report(program: str, columns: str, *rest: str) -> list[str]:
    return [program, '--reportformat', 'json', '--units', 'b',
            '--nosuffix', '--options', columns, *rest]


def _rows(text: str, key: str) -> list[dict[str, Any]]:
    return [row for report in json.loads(text)['report']
            for row in report[key]]
