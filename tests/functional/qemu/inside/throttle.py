# SPDX-License-Identifier: Apache-2.0
"""Checks inside a guest: what Cinder's limit on copies does to a copy.

The commands are those of Cinder 29 (cinder/privsep/cgroup.py,
cinder/volume/throttling.py and _copy_volume_with_path), which takes control
groups for version 2 where /sys/fs/cgroup/cgroup.controllers is there.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import time
from typing import Any

from tests.functional.inside import report

GROUP = 'cinder-volume-copy'
MIB = 64
LIMIT = 8 * 2 ** 20
"""volume_copy_bps_limit, bytes a second: eight seconds for the copy."""

SOURCE, TARGET = '/dev/vda', '/dev/vdb'
_CGROUPS = pathlib.Path('/sys/fs/cgroup')


def _number(path: str) -> str:
    found = os.stat(path).st_rdev
    return f'{os.major(found)}:{os.minor(found)}'


def _copy(*prefix: str) -> dict[str, Any]:
    """Cinder's dd, and how long it took."""
    began = time.monotonic()
    done = subprocess.run(
        [*prefix, 'dd', f'if={SOURCE}', f'of={TARGET}',
         f'count={MIB * 2 ** 20}', 'bs=1M', 'iflag=count_bytes,direct',
         'oflag=direct'], capture_output=True, text=True)
    return {'code': done.returncode, 'words': done.stderr,
            'mib_per_s': MIB / (time.monotonic() - began)}


def unified() -> dict[str, Any]:
    """Version 2, which Debian, Ubuntu and RHEL 9 mount."""
    report.sh('mount', '-t', 'cgroup2', 'cgroup2', str(_CGROUPS))
    assert (_CGROUPS / 'cgroup.controllers').is_file()
    report.sh('cgcreate', '-g', f'io:{GROUP}')
    for path, key in (SOURCE, 'rbps'), (TARGET, 'wbps'):
        # Cinder writes its limit as a fraction.
        report.sh('cgset', '-r', f'io.max={_number(path)} {key}={LIMIT}.0',
                  GROUP)
    found = {'io.max': (_CGROUPS / GROUP / 'io.max').read_text(),
             'free': _copy(),
             'blkio': _copy('cgexec', '-g', f'blkio:{GROUP}'),
             'io': _copy('cgexec', '-g', f'io:{GROUP}')}
    os.rmdir(_CGROUPS / GROUP)
    report.sh('umount', str(_CGROUPS))
    return found


def legacy() -> dict[str, Any]:
    """Version 1, by systemd.unified_cgroup_hierarchy=0 on the command line."""
    report.sh('mount', '-t', 'tmpfs', 'cgroup', str(_CGROUPS))
    (_CGROUPS / 'blkio').mkdir()
    report.sh('mount', '-t', 'cgroup', '-o', 'blkio', 'cgroup',
              str(_CGROUPS / 'blkio'))
    report.sh('cgcreate', '-g', f'blkio:{GROUP}')
    for path, way in (SOURCE, 'read'), (TARGET, 'write'):
        report.sh('cgset', '-r', f'blkio.throttle.{way}_bps_device='
                  f'{_number(path)} {LIMIT}', GROUP)
    return {'free': _copy(),
            'blkio': _copy('cgexec', '-g', f'blkio:{GROUP}')}


if __name__ == '__main__':
    report.main(unified, legacy)
