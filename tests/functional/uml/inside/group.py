# SPDX-License-Identifier: Apache-2.0
"""Checks inside a guest: builds in a volume group that has tenants."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import json
import os
import pathlib
import signal
from typing import Any

from serifos.bench import device
from serifos.bench import lvm
from tests.functional.inside import pattern
from tests.functional.inside import report

GROUP = 'guest'
DISKS = '/dev/ubda', '/dev/ubdb'
TENANTS = {
    'tenant': (),
    'tagged': ('--addtag', lvm.TAG),  # with our tag, without our name
    f'{lvm.TAG}-7': ()}               # with our name, without our tag
BUILD = ('build', GROUP, '--full', '--write-pcts', '0,50,100', '--rounds',
         '1', '--lv-size-gib', '0.03125', '--kind', 'outstanding')
PAIRS = (*BUILD, '--counts', '2', '--block-kibs', '4')
# Emulated processors start two fios too far apart for a run that counts.
SINGLES = (*BUILD, '--counts', '1', '--block-kibs', '4,16')
QUICK = ('--runtime', '0.5', '--precondition', 'skip')
LONG = ('--runtime', '60', '--precondition', 'skip')


def _volumes() -> dict[str, str]:
    """Names → tags, of all volumes in the group."""
    rows = json.loads(report.sh(
        'lvs', '--reportformat', 'json', '-o', 'lv_name,lv_tags', GROUP))
    return {row['lv_name']: row['lv_tags'] for row in rows['report'][0]['lv']}


def _scratch() -> dict[str, str]:
    return {name: tags for name, tags in _volumes().items()
            if name not in TENANTS}


def _word() -> tuple[str, str]:
    return '--yes-destroy', lvm.identify(GROUP).uuid


def _state() -> dict[str, Any]:
    """What tenants' volumes hold, and our scratch volumes that are left."""
    return {'tenants': {name: pattern.left(f'/dev/{GROUP}/{name}')
                        for name in TENANTS},
            'scratch': _scratch()}


def _begun(*options: str) -> report.Serifos:
    """A build, once its fio runs."""
    build = report.Serifos(*PAIRS, *options, *_word())
    report.until(lambda: build.ended()
                 or (len(_scratch()) == 2 and bool(_fios())))
    return build


def _fios() -> list[str]:
    found = []
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            if (process / 'comm').read_text().strip() == 'fio':
                found.append(process.name)
        except OSError:
            pass  # it has ended meanwhile
    return found


def group_set_up() -> Any:
    report.sh('pvcreate', '-q', *DISKS)
    report.sh('vgcreate', '-q', GROUP, *DISKS)
    for name, tags in TENANTS.items():
        report.sh('lvcreate', '-q', '-L', '32M', '-n', name, *tags, GROUP)
        pattern.write(f'/dev/{GROUP}/{name}')
    return _state()


def group_refusals() -> Any:
    return {
        'volume': device.refusal(
            device.identify(f'/dev/mapper/{GROUP}-tenant')),
        'physical volume': device.refusal(device.identify(DISKS[0])),
        'wrong word': report.serifos(*PAIRS, '--yes-destroy', 'tenant'),
        'too big': report.serifos(*PAIRS, *_word(), '--lv-size-gib', '0.2'),
        **_state()}


def group_killed() -> Any:
    build = _begun('--name', 'killed', *LONG)
    os.kill(build.pid, signal.SIGKILL)
    ended = build.end()
    report.until(lambda: not _fios(), 20)
    return {**ended, **_state()}


def group_measured() -> Any:
    """A whole build after the killed one, and the volumes that it had."""
    build = report.Serifos(*SINGLES, '--name', 'measured', *QUICK, *_word())
    seen: set[tuple[str, str]] = set()
    with contextlib.suppress(TimeoutError):
        report.until(
            lambda: seen.update(_scratch().items()) or build.ended())
    runs = pathlib.Path('measured.jsonl')
    return {**build.end(), 'seen': sorted(seen), **_state(),
            'dataset': runs.read_text() if runs.exists() else '',
            'model': pathlib.Path('measured.json').exists()}


def group_interrupted() -> Any:
    build = _begun('--name', 'interrupted', *QUICK)
    os.kill(build.pid, signal.SIGINT)
    return {**build.end(), **_state()}


def group_with_a_volume_of_our_name() -> Any:
    report.sh('lvcreate', '-q', '-L', '32M', '-n', f'{lvm.TAG}-1', GROUP)
    return {**report.serifos(*PAIRS, '--name', 'clash', *QUICK, *_word()),
            **_state()}


CHECKS: tuple[Callable[[], Any], ...] = (
    group_set_up, group_refusals, group_killed, group_measured,
    group_interrupted, group_with_a_volume_of_our_name)

if __name__ == '__main__':
    report.main(*CHECKS)
