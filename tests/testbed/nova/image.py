# SPDX-License-Identifier: Apache-2.0
"""The disk that a server boots: a kernel, busybox and the tenant's program.

syslinux on a FAT file system, in the one partition of an MBR. It goes onto
the root volume as it is, so there is no image service.
"""

from __future__ import annotations

import gzip
import hashlib
import pathlib
import shutil
import struct
import subprocess
import tempfile

from tests.testbed import initramfs
from tests.testbed import kernel
from tests.testbed import layout

PACKAGE = 'linux-image-cloud-amd64'
MODULES = ('virtio_pci', 'virtio_blk')

MIB = 40
SECTOR = 512
BEGIN = 2048
"""The partition's first sector."""

MBR = pathlib.Path('/usr/lib/syslinux/mbr/mbr.bin')
_INSIDE = pathlib.Path(__file__).with_name('vm')

_SYSLINUX = """\
DEFAULT server
PROMPT 0
SERIAL 0 115200
LABEL server
  LINUX vmlinuz
  INITRD initrd.gz
  APPEND console=ttyS0 rdinit=/init quiet mitigations=off nokaslr \
no_timer_check tsc=reliable lpj=4000000 random.trust_cpu=on
"""


def fetch() -> pathlib.Path:
    """The disk, out of the cache where it is there."""
    try:
        booted = kernel.fetch(PACKAGE, MODULES)
    except OSError as error:
        raise layout.Missing(f'there is no kernel for servers: {error}.')
    key = hashlib.sha256(b''.join(
        path.read_bytes() for path in (
            pathlib.Path(__file__), booted.image, *_INSIDE.iterdir()))
    ).hexdigest()[:16]
    kept = kernel.cache() / f'server-{key}.img'
    if not kept.exists():
        with tempfile.TemporaryDirectory(dir=kept.parent) as name:
            scratch = pathlib.Path(name)
            _build(scratch, booted)
            (scratch / 'disk').rename(kept)
    return kept


def _build(scratch: pathlib.Path, booted: kernel.Kernel) -> None:
    tenant = scratch / 'tenant'
    _run('gcc', '-O2', '-s', '-static', '-pthread', '-o', tenant,
         _INSIDE / 'tenant.c')
    busybox = shutil.which('busybox')
    assert busybox  # layout.Missing has been raised otherwise
    (scratch / 'initrd.gz').write_bytes(gzip.compress(initramfs.archive({
        'init': (_INSIDE / 'init').read_bytes(),
        'bin/busybox': pathlib.Path(busybox).read_bytes(),
        'bin/tenant': tenant.read_bytes(),
        'modules/order': '\n'.join(
            path.name for path in booted.modules).encode(),
        **{f'modules/{path.name}': path.read_bytes()
           for path in booted.modules},
    }, ('bin', 'modules', 'proc', 'sys', 'dev', 'run'))))
    (scratch / 'syslinux.cfg').write_text(_SYSLINUX)
    disk = scratch / 'disk'
    disk.write_bytes(_master_boot_record())
    with open(disk, 'r+b') as file:
        file.truncate(MIB * 2 ** 20)
    _run('mkfs.vfat', '-F', '16', '--offset', BEGIN, disk,
         (MIB * 2 ** 20 - BEGIN * SECTOR) // 1024)
    offset = BEGIN * SECTOR
    for path in (booted.image, scratch / 'initrd.gz',
                 scratch / 'syslinux.cfg'):
        _run('mcopy', '-i', f'{disk}@@{offset}', path, '::/')
    _run('syslinux', '--install', '--offset', offset, disk)


def _master_boot_record() -> bytes:
    """syslinux's code, and one active partition of FAT16."""
    sectors = MIB * 2 ** 20 // SECTOR - BEGIN
    entry = struct.pack('<B3sB3sII', 0x80, b'\xfe\xff\xff', 0x06,
                        b'\xfe\xff\xff', BEGIN, sectors)
    return (MBR.read_bytes()[:440].ljust(446, b'\0') + entry + bytes(48)
            + b'\x55\xaa')


def _run(*argv: object) -> None:
    done = subprocess.run([str(word) for word in argv], text=True,
                          capture_output=True)
    if done.returncode:
        raise layout.TestbedError(
            f'{argv[0]} failed: {done.stderr.strip()[-500:]}')
