# SPDX-License-Identifier: Apache-2.0
"""The initial RAM file system of a QEMU guest.

An archive in cpio's "newc" format, which the kernel unpacks: busybox, the
modules, and a script that runs a program among the machine's own files.
They are mounted read-only under a layer of memory, so that whatever the
guest writes is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import pathlib
import stat

ROOT_TAG = 'root'
INIT = f'''#!/bin/busybox sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root OPENBLAS_NUM_THREADS=1
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir /dev/shm
mount -t tmpfs tmpfs /dev/shm
ln -s /proc/self/fd /dev/fd
for module in $(cat /modules/order); do
    # What this processor has no instructions for is no loss.
    insmod /modules/$module || echo "$module was not loaded"
done
mount -t tmpfs tmpfs /memory
mkdir /memory/new /memory/work
mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose \\
    {ROOT_TAG} /lower
mount -t overlay -o lowerdir=/lower,upperdir=/memory/new,\\
workdir=/memory/work overlay /root
for directory in dev sys proc; do
    mount --rbind /$directory /root/$directory
done
mount -t tmpfs tmpfs /root/run
stty -F /dev/ttyS1 raw
set -- $(sed 's/.* guest=//' /proc/cmdline)
echo "the program of the guest begins"
timeout -s KILL $1 chroot /root /usr/bin/env -C $2 $3 -m $4 \\
    > /dev/ttyS1 < /dev/null
echo "the program of the guest ended with $?"
poweroff -n -f
'''


def build(busybox: pathlib.Path, modules: Sequence[pathlib.Path]) -> bytes:
    """The archive; the modules are loaded in the order given."""
    files = {'init': INIT.encode(), 'bin/busybox': busybox.read_bytes(),
             'modules/order': '\n'.join(m.name for m in modules).encode(),
             **{f'modules/{m.name}': m.read_bytes() for m in modules}}
    return archive(files, ('bin', 'modules', 'proc', 'sys', 'dev', 'memory',
                           'lower', 'root'))


def archive(files: Mapping[str, bytes], folders: Sequence[str]) -> bytes:
    """Files by their path, all of them executable, after the folders."""
    return b''.join([
        *(_entry(name, stat.S_IFDIR | 0o755, b'') for name in folders),
        *(_entry(name, stat.S_IFREG | 0o755, body)
          for name, body in files.items()),
        _entry('TRAILER!!!', 0, b'')])


def _entry(name: str, mode: int, body: bytes) -> bytes:
    # inode, mode, uid, gid, links, mtime, size, two device numbers, those
    # of a device node, length of the name with its NUL, checksum
    fields = (0, mode, 0, 0, 1, 0, len(body), 0, 0, 0, 0, len(name) + 1, 0)
    head = b'070701' + b''.join(b'%08X' % field for field in fields)
    return _padded(head + name.encode() + b'\0') + _padded(body)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
