# SPDX-License-Identifier: Apache-2.0
"""A User-Mode Linux that runs one Python module on disks of its own.

It is a process of this machine, a hundred times as fast as a QEMU without
KVM, and knows one sort of disk, which has no serial and nothing to purge. It
boots as the hosts of the testbed do and sees the files of this machine
read-only; what the module printed as JSON is its result.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from tests.functional import machine
from tests.testbed import guest as testbed_guest
from tests.testbed import layout
from tests.testbed import machine as testbed_machine

_HERE = pathlib.Path(__file__).parent
_TESTBED = layout.INSIDE
ROOT = _HERE.parents[2]
PROGRAMS = ('linux.uml', 'busybox', 'udevadm', 'lvcreate', 'fio', 'gcc')
_BOOT_S = 60
_MEMORY_MIB = 1024
_MIB = 2 ** 20


def lacking() -> str | None:
    """Why no guest can run here, or None."""
    if os.geteuid() != 0:
        return 'only root reads all the files that a guest is lent'
    missing = [name for name in PROGRAMS if not machine.which(name)]
    return f'{", ".join(missing)} not installed' if missing else None


def run(module: str, disks_mib: Sequence[int], seconds: int,
        ) -> dict[str, Any]:
    """Boots, runs the module for at most so many seconds, powers off.

    :param disks_mib: sizes of /dev/ubda, /dev/ubdb and so on
    :raises AssertionError: with the console where it printed no JSON
    """
    # In the checkout: /tmp may live in memory, which a guest would hide.
    with tempfile.TemporaryDirectory(dir=ROOT, prefix='.guest-') as name:
        place = pathlib.Path(name)
        shutil.copytree(_TESTBED, place / 'inside')
        shutil.copy(_HERE / 'inside' / 'start.sh', place / 'inside')
        # Without it a guest dies on a processor with AMX.
        shim = place / 'shim.so'
        testbed_machine.make_shim(shim)
        disks = []
        for letter, mib in zip('abcdefgh', disks_mib):
            image = place / f'ubd{letter}.img'
            image.touch()
            os.truncate(image, mib * _MIB)
            disks.append(f'ubd{letter}={image}')
        with (open(place / 'console', 'wb') as console,
              contextlib.suppress(subprocess.TimeoutExpired)):
            subprocess.run(
                ['linux.uml', f'mem={_MEMORY_MIB}M', 'umid=guest',
                 f'uml_dir={place}', 'root=/dev/root', 'rootfstype=hostfs',
                 'rootflags=/', 'ro', f'init={place}/inside/init.sh', *disks,
                 'con=null', 'con0=null,fd:1', 'con1=null', 'quiet',
                 f'TESTBED_STATE={place}', f'GUEST_MODULE={module}',
                 f'GUEST_PYTHON={sys.executable}', f'GUEST_ROOT={ROOT}',
                 f'GUEST_SECONDS={seconds}'],
                stdin=subprocess.DEVNULL, stdout=console,
                stderr=subprocess.STDOUT, timeout=seconds + _BOOT_S,
                env={**os.environ, 'LD_PRELOAD': str(shim), 'TMPDIR': str(
                    testbed_guest.memory_directory(place, _MEMORY_MIB))})
        return _said(place)


def _said(place: pathlib.Path) -> dict[str, Any]:
    try:
        return json.loads((place / 'said').read_text())
    except (OSError, ValueError):
        console = (place / 'console').read_text(errors='replace')
        raise AssertionError(
            f'The guest printed no result; its console ends with:\n'
            f'{console[-6000:]}') from None
