# SPDX-License-Identifier: Apache-2.0
"""The kernel that a guest boots, and the modules that it loads.

Debian's own, taken out of its package without installing it: nothing of
the machine's own boot is touched. Kernel and modules stay in a cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

PACKAGE = 'linux-image-amd64'
WANTED = (
    'virtio_pci', '9pnet_virtio', '9p', 'overlay',
    'crc32c_generic', 'crc32c_intel', 'crct10dif_generic',
    'crc64_rocksoft_generic', 'ext4',
    'nvme', 'ahci', 'sd_mod', 'virtio_blk', 'virtio_scsi', 'dm_mod')
"""The root filesystem; the checksums of ext4, and ext4; disks; LVM."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """An image to boot, and modules in the order in which they load."""

    image: pathlib.Path
    modules: tuple[pathlib.Path, ...]


def fetch(package: str = PACKAGE,
          wanted: Sequence[str] = WANTED) -> Kernel:
    """Debian's newest kernel, out of the cache where it is there.

    :param package: the one that depends on the newest
    :param wanted: modules
    :raises OSError: where it cannot be had
    """
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / 'lock', 'w') as file:
        # Servers that boot at the same time ask for it at the same time.
        fcntl.flock(file, fcntl.LOCK_EX)
        version = _version(package)
        kept = cache() / version.replace('=', '_')
        if not kept.is_dir():
            with tempfile.TemporaryDirectory(dir=cache()) as name:
                scratch = pathlib.Path(name)
                _keep(_unpack(version, scratch), scratch / 'kept', wanted)
                (scratch / 'kept').rename(kept)
    return Kernel(kept / 'vmlinuz', _in_order(_by_name(kept), wanted))


def _version(package: str) -> str:
    """Name and version, such as linux-image-6.1.0-56-amd64=6.1.192-2."""
    for update in (False, True):
        if update:
            _run('apt-get', '-qq', 'update')
        name = re.search(r'Depends: (linux-image-\S+)',
                         _run('apt-cache', 'depends', package))
        if name:
            version = re.search(r'Candidate: (\S+)',
                                _run('apt-cache', 'policy', name[1]))
            return f'{name[1]}={version[1]}' if version else name[1]
    raise OSError(f'apt knows no package {package}')


def cache() -> pathlib.Path:
    """Where tests keep what takes long to fetch or to make."""
    home = os.environ.get('XDG_CACHE_HOME') or '~/.cache'
    return pathlib.Path(home).expanduser() / 'serifos-test'


def _unpack(package: str, scratch: pathlib.Path) -> pathlib.Path:
    # apt's own user may not write into our directory.
    _run('apt-get', '-qq', '-o', 'APT::Sandbox::User=root', 'download',
         package, cwd=scratch)
    deb, = scratch.glob('*.deb')
    _run('dpkg-deb', '--extract', str(deb), str(scratch / 'all'))
    return scratch / 'all'


def _keep(tree: pathlib.Path, kept: pathlib.Path,
          wanted: Sequence[str]) -> None:
    kept.mkdir()
    image, = (tree / 'boot').glob('vmlinuz-*')
    shutil.copy(image, kept / 'vmlinuz')
    for path in _in_order(_by_name(tree / 'lib/modules'), wanted):
        shutil.copy(path, kept)


def _by_name(tree: pathlib.Path) -> dict[str, pathlib.Path]:
    return {path.stem.replace('-', '_'): path for path in tree.rglob('*.ko')}


def _in_order(modules: Mapping[str, pathlib.Path],
              wanted: Sequence[str]) -> tuple[pathlib.Path, ...]:
    return tuple(dict.fromkeys(
        path for name in wanted for path in _after_its_needs(name, modules)))


def _after_its_needs(name: str, modules: Mapping[str, pathlib.Path]
                     ) -> Iterator[pathlib.Path]:
    path = modules.get(name)
    if path is None:
        raise OSError(f'the kernel has no module {name}')
    needs = re.search(rb'\0depends=([^\0]+)\0', path.read_bytes())
    for need in needs[1].decode().split(',') if needs else ():
        yield from _after_its_needs(need.replace('-', '_'), modules)
    yield path


def _run(*argv: str, cwd: pathlib.Path | None = None) -> str:
    try:
        return subprocess.run(argv, cwd=cwd, check=True, text=True,
                              capture_output=True, timeout=300).stdout
    except subprocess.SubprocessError as exc:
        raise OSError(
            f'{" ".join(argv)}: {getattr(exc, "stderr", "") or exc}') from exc
