# SPDX-License-Identifier: Apache-2.0
"""The disks of a storage host, as its node_exporter names them.

``node_disk_info`` has the model and the serial number by which udev knows a
disk; nothing tells which disk a volume group is on.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping

from serifos.facts import activity
from serifos.telemetry import exposition

INFO = 'node_disk_info'

_MADE = ('dm-', 'loop', 'md', 'nbd', 'ram', 'rbd', 'sr', 'zram')
"""How names of devices begin that are no disks."""

_MOST_CHARACTERS = 128


def parse(data: bytes) -> tuple[activity.Disk, ...]:
    """The disks of an exposition.

    :raises ValueError: where it is none
    """
    return of(sample.labels for sample in exposition.samples(data, [INFO]))


def of(several: Iterable[Mapping[str, str]]) -> tuple[activity.Disk, ...]:
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
