# SPDX-License-Identifier: Apache-2.0
"""What the testbed needs of this machine, and what is left of it."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

from tests.testbed import layout

_HERE = pathlib.Path(__file__).parent
PACKAGES = _HERE / 'packages.txt'
NOVA_PACKAGES = _HERE / 'nova' / 'packages.txt'


def check(where: layout.Layout, nova: bool) -> None:
    """Missing, with one sentence, where it cannot."""
    if os.geteuid():
        raise layout.Missing('the testbed needs root; run it by sudo.')
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        raise layout.Missing(
            'the testbed needs /dev/net/tun, which this machine lacks; '
            "load the kernel's module tun, or give it to the container.")
    for path in (PACKAGES, NOVA_PACKAGES) if nova else (PACKAGES,):
        for line in path.read_text().splitlines():
            name, _, package = line.partition('=')
            if not (line.startswith('#') or which(name)
                    or os.path.exists(name)):
                raise layout.Missing(
                    f'the testbed needs {name}; install the Debian package '
                    f'{package}.')
    for name in ('cinder-volume', 'nova-compute') if nova else (
            'cinder-volume',):
        if not (where.venv / 'bin' / name).exists():
            raise layout.Missing(f'there is no {name} in {where.venv}; '
                                 'tools/testbed installs it.')
    make_shim(where.shim)


def which(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}"
                        ':/usr/sbin:/sbin')


def make_shim(shim: pathlib.Path) -> None:
    """Compiles shim.c, where it is newer than what is there."""
    source = pathlib.Path(__file__).with_name('shim.c')
    if shim.exists() and shim.stat().st_mtime > source.stat().st_mtime:
        return
    done = subprocess.run(
        ['gcc', '-O2', '-shared', '-fPIC', '-o', shim, source],
        capture_output=True, text=True)
    if done.returncode:
        raise layout.Missing(f'gcc cannot compile {source}: '
                             f'{done.stderr.strip()}')


def left() -> list[str]:
    """Lines on memory and disks; on processes killed for want of memory."""
    found = [line for name, first in (
        ('meminfo', ('MemTotal:', 'MemAvailable:')),
        ('vmstat', ('oom_kill ',)))
        for line in pathlib.Path('/proc', name).read_text().splitlines()
        if line.startswith(first)]
    for path in '/tmp', '/var/tmp', '/dev/shm':
        if os.path.isdir(path):
            usage = shutil.disk_usage(path)
            found.append(f'{path}: {usage.free / 2 ** 30:.1f} of '
                         f'{usage.total / 2 ** 30:.1f} GiB free')
    return found
