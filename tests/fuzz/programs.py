# SPDX-License-Identifier: Apache-2.0
"""Parsers of what programs print about devices, as functions of bytes.

See :mod:`tests.fuzz.targets`.
"""

from __future__ import annotations

import json

from serifos.bench import device
from serifos.bench import fio_output
from serifos.bench import fio_result
from serifos.bench import lsblk
from serifos.bench import lvm
from serifos.bench import mountinfo
from serifos.bench import purge
from serifos.bench import remount
from serifos.bench import scratch
from serifos.facts import dataset
from serifos.facts.workload import Workload
from serifos.files import documents
from tests.fuzz import files


def fio(data: bytes) -> None:
    """fio's JSON of a run, as a sample of a dataset."""
    found = fio_result.parse(files.text(data))
    made = fio_result.sample([Workload(30, 16)], 15, [found])
    for figure in dataset.FIGURES:
        made.figure(figure)
    json.dumps(made.to_json(), allow_nan=False).encode()


def kept(data: bytes) -> None:
    """An output of fio that is imported."""
    output = fio_output.read(files.text(data))
    if output.runs:
        made = fio_output.combined({'x': output})
        documents.write_dataset(files.file_of(b'', 'x.jsonl'), made)


def devices(data: bytes) -> None:
    """The output of lsblk, and what is said of each device."""
    tree = lsblk.parse(files.text(data))
    for disk in tree:
        for node in disk.walk():
            found = device.find(tree, node.number)
            f'{device.refusal(found)}{found.facts}'.encode()


def volume_group(data: bytes) -> None:
    """The outputs of vgs and of lvs."""
    first, _, second = files.text(data).partition('\n\n')
    lvm.ours(second)
    lvm.parse(first)


def erasing(data: bytes) -> None:
    """The outputs of hdparm and nvme that tell how to purge a device."""
    purge.sanitize_state(files.text(data))
    purge.ata('/dev/sdx', files.text(data))


def mounted(data: bytes) -> None:
    """/proc/PID/mountinfo."""
    found = mountinfo.parse_mounts(files.text(data))
    for mount in found:
        remount.refusal(remount.Place(mount.point, True, found, {'x': found}))


def mount(data: bytes) -> None:
    """The output of findmnt."""
    scratch.parse_mounted(files.text(data))
