# SPDX-License-Identifier: Apache-2.0
"""Purge of a device, by NVMe, ATA or discard commands.

What a device offers is read and chosen first, and shown; :func:`purge`
does it and checks that the old data is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import fcntl
import os
import pathlib
import re
import secrets
import signal
import struct
import threading
import time

from oslo_log import log

from serifos.bench import command
from serifos.bench.device import Device
from serifos.bench import sizes
from serifos import errors
from serifos.facts import strict_json

LOG = log.getLogger(__name__)

NAMES = ('format', 'sanitize', 'secure-erase', 'discard', 'none')

_BLKDISCARD = 0x1277
_DISCARD_AT_ONCE = 32 * sizes.GIB
_MARK_BYTES = 4096

PASSWORD = 'serifos'
"""What an ATA device is locked with while it erases itself."""

_SANITIZE = {1: ('block erase', 2), 0: ('crypto erase', 4),
             2: ('overwrite', 3)}
_WAIT_S = 24 * 3600
_MOST_BITS = 2 ** 32 - 1


def choose_purge(device: Device,
                 asked: str = 'auto') -> Purge:
    """The purge that a device offers, or the one that was asked for.

    NVMe format is taken before sanitize: it is limited to the namespace.

    :raises DeviceError: where it does not offer what was asked for, or a
        frozen ATA device has to be woken first
    """
    if asked in ('discard', 'none'):
        offered = {}
    elif _is_nvme(device):
        offered = _nvme(device.path)
    elif device.kind == 'disk' and device.transport in ('sata', 'ata'):
        offered = _ata(device.path)
    else:
        offered = {}
    if _discards(device):
        offered['discard'] = Purge(
            'discard', 'discard (TRIM) of the whole device')
    offered['none'] = Purge(
        'none', 'no purge: the device offers none')
    if asked == 'none':
        return Purge('none', 'no purge, as was asked for')
    if asked != 'auto' and asked not in offered:
        raise errors.DeviceError(
            f'{device.path} does not offer the purge {asked}; it offers '
            f'{", ".join(offered)}.')
    return next(iter(offered.values())) if asked == 'auto' else offered[asked]


def purge(device: Device, chosen: Purge, fd: int) -> str:
    """Purges a device; everything on it is gone.

    Marks are written before and looked for afterwards, so that a purge
    that did nothing is noticed.

    :param fd: the device, opened by :func:`serifos.bench.device.held`
    :returns: what was done and seen, for the user
    :raises ToolError: where it failed or left the marks in place
    """
    if chosen.name == 'none':
        return chosen.words
    LOG.info('purging %s: %s', device.path, chosen.words)
    try:
        marks = _mark(fd, device.size_bytes)
    except OSError as exc:
        raise errors.ToolError(
            f'{device.path} cannot be written ({exc.strerror}); see the '
            'kernel log for the cause.') from None
    with _uninterrupted():
        _ACTS[chosen.name](device, chosen, fd)
    left = [at for at, mark in marks.items()
            if _read(fd, at, len(mark)) == mark]
    if not left:
        return f'{chosen.words}: done, the old data is gone'
    if chosen.name == 'discard':  # a device may take it as advice only
        return (f'{chosen.words}: done, but {len(left)} of {len(marks)} '
                'marks are still there')
    raise errors.ToolError(
        f'The purge of {device.path} ({chosen.words}) reported success '
        'and left the data in place; choose another by --purge.')


def discard(fd: int, size_bytes: int) -> None:
    """Discards every block of an open device.

    By ioctl on our own descriptor: blkdiscard would have to be forced, as
    it finds the device held.

    :raises OSError: where the device does not take it
    """
    for at in range(0, size_bytes, _DISCARD_AT_ONCE):
        length = min(_DISCARD_AT_ONCE, size_bytes - at)
        fcntl.ioctl(fd, _BLKDISCARD, struct.pack('QQ', at, length))


def _nvme(path: str) -> dict[str, Purge]:
    if not command.found('nvme'):
        LOG.warning('nvme-cli is not installed, so that the format and '
                    'sanitize of %s are not considered', path)
        return {}
    controller = bit_fields(
        command.run(['nvme', 'id-ctrl', path, '-o', 'json']),
        'nvme id-ctrl', ('oacs', 'fna'), ('sanicap',))
    namespace = bit_fields(
        command.run(['nvme', 'id-ns', path, '-o', 'json']),
        'nvme id-ns', ('flbas', 'dps'))
    # With namespace management there may be some that are not attached.
    every = ['--all'] if controller['oacs'] & 8 else []
    listing = command.run(['nvme', 'list-ns', path, *every])
    namespaces = re.findall(r':\s*0x[0-9a-f]+', listing, re.I)
    return nvme(path, controller, namespace, len(namespaces))


def _is_nvme(device: Device) -> bool:
    return device.kind == 'disk' and re.fullmatch(
        r'nvme\d+n\d+', device.name) is not None


def _ata(path: str) -> dict[str, Purge]:
    if not command.found('hdparm'):
        LOG.warning('hdparm is not installed, so that the secure erase of '
                    '%s is not considered', path)
        return {}
    return ata(path, command.run(['hdparm', '-I', path]))


def _discards(device: Device) -> bool:
    # A partition's queue is its disk's.
    for above in ('', '..'):
        limit = pathlib.Path('/sys/class/block', device.name).resolve() \
            / above / 'queue/discard_max_bytes'
        with contextlib.suppress(OSError, ValueError):
            return int(limit.read_text()) > 0
    return False


def _run(device: Device, chosen: Purge, fd: int) -> None:
    for argv in chosen.commands:
        command.run(argv, chosen.timeout_s)


def _erase(device: Device, chosen: Purge, fd: int) -> None:
    try:
        _run(device, chosen, fd)
    finally:
        state = command.run(['hdparm', '-I', device.path])
        if not re.search(r'^\s*not\s+enabled', state, re.M):
            command.run(['hdparm', '--user-master', 'u', '--security-disable',
                         PASSWORD, device.path])


def _sanitize(device: Device, chosen: Purge, fd: int) -> None:
    start, look = chosen.commands
    command.run(start, chosen.timeout_s)
    deadline = time.monotonic() + chosen.timeout_s
    while (state := sanitize_state(command.run(look))) == 2:
        if time.monotonic() > deadline:
            raise errors.ToolError(
                f'The sanitize of {device.path} still runs after '
                f'{chosen.timeout_s / 3600:g} h; wait for its end (nvme '
                'sanitize-log), then run the command again.')
        time.sleep(1)
    if state == 3:
        raise errors.ToolError(
            f'The sanitize of {device.path} failed; see nvme sanitize-log, '
            'or choose another by --purge.')


def _discard(device: Device, chosen: Purge, fd: int) -> None:
    try:
        discard(fd, device.size_bytes)
    except OSError as exc:
        raise errors.ToolError(
            f'The discard of {device.path} failed ({exc.strerror}); '
            'choose another purge by --purge.') from None


_ACTS: Mapping[str, Callable[[Device, Purge, int], None]] = {
    'format': _run, 'sanitize': _sanitize, 'secure-erase': _erase,
    'discard': _discard}


def _mark(fd: int, size_bytes: int) -> dict[int, bytes]:
    places: Sequence[int] = [size_bytes * part // 8 // _MARK_BYTES
                             * _MARK_BYTES for part in range(8)]
    marks = {at: secrets.token_bytes(_MARK_BYTES) for at in places
             if at + _MARK_BYTES <= size_bytes}
    for at, mark in marks.items():
        os.pwrite(fd, mark, at)
    os.fsync(fd)
    return marks


def _read(fd: int, at: int, length: int) -> bytes:
    # The device is asked, not the page cache.
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    with contextlib.suppress(OSError):  # what cannot be read is gone too
        return os.pread(fd, length, at)
    return b''


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C: an interrupted purge may leave a device locked."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.signal(number, signal.SIG_IGN)
            for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


@dataclasses.dataclass(frozen=True)
class Purge:
    """A way to purge a device, chosen and not yet done.

    :param name: one of :data:`serifos.bench.purge.NAMES`
    :param words: what the user is told of it beforehand
    :param commands: what will be run, in order
    """

    name: str
    words: str
    commands: tuple[tuple[str, ...], ...] = ()
    timeout_s: float = 3600


def bit_fields(text: str, source: str, names: Sequence[str],
               optional: Sequence[str] = ()) -> dict[str, int]:
    """Bit fields of what ``nvme ... -o json`` printed.

    :param optional: what older devices lack
    :raises ToolError: where one is missing, or is not a bit field
    """
    doc = strict_json.read(text, source)
    return {name: doc[name].whole(0, _MOST_BITS) for name in (
        *names, *(name for name in optional if name in doc.object()))}


def nvme(path: str, controller: Mapping[str, int],
         namespace: Mapping[str, int], namespaces: int) -> dict[str, Purge]:
    """What an NVMe device offers.

    :param controller: ``nvme id-ctrl -o json``
    :param namespace: ``nvme id-ns -o json``
    :param namespaces: how many the subsystem has; what would erase those
        of others is not offered
    """
    alone = namespaces == 1
    offers = {}
    if controller['oacs'] & 2 and (alone or not controller['fna'] & 3):
        flbas, dps = namespace['flbas'], namespace['dps']
        offers['format'] = Purge(
            'format', 'NVMe format of the namespace, user data erase', ((
                'nvme', 'format', path, '--ses=1', '--force',
                f'--lbaf={flbas & 15 | (flbas >> 5 & 3) << 4}',
                f'--ms={flbas >> 4 & 1}', f'--pi={dps & 7}',
                f'--pil={dps >> 3 & 1}', '--timeout=3600000'),))
    actions = [how for bit, how in _SANITIZE.items()
               if controller.get('sanicap', 0) >> bit & 1]
    if actions and alone:
        words, action = actions[0]
        offers['sanitize'] = Purge(
            'sanitize', f'NVMe sanitize, {words}',
            (('nvme', 'sanitize', path, f'--sanact={action}'),
             ('nvme', 'sanitize-log', path)), _WAIT_S)
    return offers


def sanitize_state(text: str) -> int:
    """The status in ``nvme sanitize-log``: 1 done, 2 running, 3 failed.

    :raises ToolError: where the text does not say
    """
    found = re.search(r'\(SSTAT\)\s*:\s*(0x[0-9a-f]{1,8}|[0-9]{1,9})\b', text,
                      re.I)
    if found is None:
        raise errors.ToolError(
            'nvme sanitize-log does not say whether the sanitize still '
            'runs; check the device yourself before the device is used.')
    return int(found[1], 16 if found[1][:2] in ('0x', '0X') else 10) & 7


def ata(path: str, text: str) -> dict[str, Purge]:
    """What an ATA device offers by ``hdparm -I``.

    :raises DeviceError: where security is frozen, or a password is set
    """
    section = re.search(r'^Security:\s*\n((?:[ \t]+.*\n?)*)', text, re.M)
    lines = [' '.join(line.split())
             for line in (section[1] if section else '').splitlines()]
    if 'supported' not in lines:
        return {}
    if 'enabled' in lines or 'locked' in lines:
        raise errors.DeviceError(
            f'{path} has an ATA password set; lift it first (hdparm '
            '--security-disable PASSWORD), or take --purge discard.')
    if 'frozen' in lines:
        raise errors.DeviceError(
            f"{path}'s ATA security is frozen by the firmware, so it cannot "
            'be erased; suspend and resume the machine (rtcwake -m mem -s '
            '5) or replug its power, or take --purge discard.')
    minutes = re.search(r'\b([0-9]{1,5})min for SECURITY ERASE UNIT', text)
    erase = ('hdparm', '--user-master', 'u')
    return {'secure-erase': Purge(
        'secure-erase', f'ATA secure erase (password {PASSWORD} meanwhile)'
        + (f', about {minutes[1]} min' if minutes else ''),
        ((*erase, '--security-set-pass', PASSWORD, path),
         (*erase, '--security-erase', PASSWORD, path)),
        max(3600.0, 180.0 * int(minutes[1]) if minutes else _WAIT_S))}
