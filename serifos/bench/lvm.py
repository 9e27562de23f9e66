# SPDX-License-Identifier: Apache-2.0
"""Scratch logical volumes in a volume group that others use.

Only volumes with our tag and name are ever discarded, filled or removed;
physical volumes and the volumes of others are never touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import dataclasses
import os
import re

from serifos.bench import command
from serifos.bench import sizes
from serifos import errors
from serifos.facts import fields
from serifos.facts import strict_json

TAG = 'serifos-scratch'
_NAME = re.compile(f'{TAG}-[0-9]+')

_CONFIG = (
    'log { verbose=0 silent=0 command_names=0 prefix="" report_command_log=0 }'
    ' report { list_item_separator="," prefixes=0 quoted=1 columns_as_rows=0 '
    'compact_output=0 compact_output_cols="" }')
"""Settings of lvm.conf that change what LVM prints, as read here."""


@dataclasses.dataclass(frozen=True)
class VolumeGroup:
    """A volume group as LVM reports it; sizes are bytes."""

    name: str
    uuid: str
    size: int
    free: int
    extent: int
    physical_volumes: tuple[str, ...]

    @property
    def facts(self) -> dict[str, str]:
        return {'volume group': self.name, 'UUID': self.uuid,
                'size': sizes.gib(self.size), 'free': sizes.gib(self.free),
                'holders': ', '.join(self.physical_volumes)}


def identify(name: str) -> VolumeGroup:
    """:raises DeviceError: where there is no such volume group"""
    try:
        text = _run(_report(
            'vgs', 'vg_name,vg_uuid,vg_size,vg_free,vg_extent_size,pv_name',
            name))
    except errors.ToolError as exc:
        if os.path.isfile(name):
            raise errors.DeviceError(
                f'{name} is a file and no volume group (a dataset that is to '
                'be read ends in .jsonl, and a scratch file that is to be '
                f'made is written file:PATH): {exc}') from None
        raise errors.DeviceError(
            f'There is no volume group {name} (write /dev/{name} for a '
            f'device, file:{name} for a scratch file): {exc}') from None
    return parse(text)


def parse(text: str) -> VolumeGroup:
    """A volume group from the report of vgs, one row for each PV.

    :raises ToolError: where this is not what vgs prints
    """
    rows = _rows(text, 'vgs', 'vg')
    if not rows:
        raise errors.ToolError('vgs reports no volume group.')
    first = rows[0]
    return VolumeGroup(
        first['vg_name'].text(), first['vg_uuid'].text(),
        first['vg_size'].whole(), first['vg_free'].whole(),
        first['vg_extent_size'].whole(1),
        tuple(row['pv_name'].text() for row in rows))


def refuse_if_small(group: VolumeGroup, count: int, size: int) -> None:
    """:raises DeviceError: where the scratch volumes do not fit"""
    extents = -(-size // group.extent)
    if group.free < count * extents * group.extent:
        raise errors.DeviceError(
            f'Volume group {group.name} has {sizes.gib(group.free)} '
            f'free, and {count} scratch volumes of {sizes.gib(size)} '
            'do not fit; give a smaller --lv-size-gib or fewer --counts.')


@contextlib.contextmanager
def scratch(group: str, count: int,
            size: int) -> Iterator[dict[str, int]]:
    """Path → descriptor of ``count`` new volumes, removed at the end.

    Scratch volumes that an interrupted build left are removed first.
    Ours are kept open, so that another build cannot take them for such.
    """
    _remove(group)
    with contextlib.ExitStack() as stack:
        stack.callback(_remove, group)
        opened = {}
        for i in range(count):
            _run(create_command(group, i, size))
            path = f'/dev/{group}/{TAG}-{i}'
            opened[path] = _held(path)
            stack.callback(os.close, opened[path])
        yield opened


def _held(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as exc:
        raise errors.DeviceError(
            f'{path}, which was made for this build, cannot be opened '
            f'exclusively ({exc.strerror}).') from None


def create_command(group: str, index: int, size: int) -> list[str]:
    return ['lvcreate', '--yes', '--wipesignatures', 'y', '--addtag', TAG,
            '--name', f'{TAG}-{index}', '--size', f'{size}b', group]


def remove_command(group: str, name: str) -> list[str]:
    return ['lvremove', '--yes', f'{group}/{name}']


def _remove(group: str) -> None:
    for name in ours(_run(_report('lvs', 'lv_name,lv_tags', group))):
        _run(remove_command(group, name))


def ours(text: str) -> list[str]:
    """Names of the volumes in a report of lvs that carry tag and name.

    :raises ToolError: where this is not what lvs prints
    """
    return [row['lv_name'].text() for row in _rows(text, 'lvs', 'lv')
            if TAG in row['lv_tags'].text().split(',')
            and _NAME.fullmatch(row['lv_name'].text())]


def _report(program: str, columns: str, group: str) -> list[str]:
    return [program, '--reportformat', 'json', '--units', 'b',
            '--nosuffix', '--options', columns, group]


def _run(argv: Sequence[str]) -> str:
    try:
        return command.run([argv[0], '--config', _CONFIG, *argv[1:]])
    except errors.ToolError as exc:  # a person has no use for all of it
        raise errors.ToolError(
            str(exc).replace(f' --config {_CONFIG}', '')) from None


def _rows(text: str, program: str, key: str) -> list[fields.Field]:
    reports = strict_json.read(text, program)['report'].items()
    return [row for report in reports
            for row in report[key].items()]
