# SPDX-License-Identifier: Apache-2.0
"""How is a device brought back to the state it left the factory in?

The strongest way that the device offers and that concerns this device
alone: NVMe sanitize or format, ATA secure erase, discard of every block.
It is chosen without writing, shown, and done only after confirmation.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import time

from serifos.bench import command
from serifos.bench import device as dv
from serifos import errors

_PASSWORD = 'serifos'
_HOURS = 3600.0


@dataclasses.dataclass(frozen=True)
class Purge:
    """A way to purge: its name for people, its commands, and its time."""

    how: str
    commands: tuple[tuple[str, ...], ...] = ()
    timeout_s: float = 12 * _HOURS


NONE = Purge('none: the device offers no purge')


def choose_purge(device: dv.Device) -> Purge:
    """The purge that a device offers; reads it, writes nothing."""
    if device.kind == 'disk' and device.transport == 'nvme':
        chosen = _nvme(device.path)
    elif device.kind == 'disk' and device.transport in ('sata', 'ata'):
        chosen = _ata(device.path)
    else:
        chosen = None
    return chosen or _discard(device) or NONE


def purge(path: str, chosen: Purge) -> None:
    """Does it, and waits until the device says that it is done.

    The caller holds the device (:func:`serifos.bench.device.exclusive`),
    which is why the commands are told to go ahead on a device in use.

    :raises ToolError: in the failing command's own words
    """
    for argv in chosen.commands:
        command.run(argv, chosen.timeout_s)
    if chosen.how.startswith('NVMe sanitize'):
        _wait_for_sanitize(path, chosen.timeout_s)
    if chosen.how.startswith('ATA') and _security(path)['enabled']:
        raise errors.ToolError(
            f'{path} still has its password after the secure erase; unlock '
            f'it with hdparm --security-disable {_PASSWORD} {path}.')


def _nvme(path: str) -> Purge | None:
    try:
        controller = json.loads(command.run(
            ['nvme', 'id-ctrl', path, '--output-format=json']))
        namespace = json.loads(command.run(
            ['nvme', 'id-ns', path, '--output-format=json']))
    except (errors.ToolError, ValueError):
        return None
    return nvme_purge(path, controller, namespace)


def nvme_purge(path: str, controller: dict[str, object],
               namespace: dict[str, object]) -> Purge | None:
    """Sanitize or format, unless either would reach another namespace."""
    def number(facts: dict[str, object], key: str) -> int:
        return int(facts.get(key) or 0)

    alone = number(controller, 'nn') <= 1 or not _neighbours(path)
    if number(controller, 'sanicap') & 0b10 and alone:
        return Purge('NVMe sanitize (block erase)', ((
            'nvme', 'sanitize', path, '--sanact=2'),))
    reaches_all = number(controller, 'fna') & 0b11
    if number(controller, 'oacs') & 0b10 and (alone or not reaches_all):
        lbaf = number(namespace, 'flbas') & 0b1111
        return Purge('NVMe format (user data erase)', ((
            'nvme', 'format', path, '--ses=1', f'--lbaf={lbaf}', '--force'),))
    return None


def _neighbours(path: str) -> list[str]:
    name = pathlib.Path(path).name
    controller = re.match(r'nvme\d+', name)
    beside = pathlib.Path('/sys/class/block').glob(
        f'{controller[0]}*n*') if controller else []
    return [p.name for p in beside
            if p.name != name and not re.search(r'p\d+$', p.name)]


def _wait_for_sanitize(path: str, timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        log = json.loads(command.run(
            ['nvme', 'sanitize-log', path, '--output-format=json']))
        facts = next(iter(log.values())) if 'sstat' not in log else log
        state = int(facts['sstat']['status']
                    if isinstance(facts['sstat'], dict)
                    else facts['sstat']) & 0b111
        if state in (1, 4):
            return
        if state == 3:
            break
        time.sleep(1)
    raise errors.ToolError(
        f'{path} did not finish its sanitize; see nvme sanitize-log {path}.')


def _ata(path: str) -> Purge | None:
    try:
        security = _security(path)
    except errors.ToolError:
        return None
    if not security['supported']:
        return None
    if security['frozen']:
        raise errors.DeviceError(
            f'{path} is frozen by the firmware, which forbids a secure '
            'erase; suspend and resume the host, or plug the disk in again, '
            'or give --precondition skip.')
    if security['enabled'] or security['locked']:
        raise errors.DeviceError(
            f'{path} has a password already; remove it with hdparm '
            '--security-disable, or give --precondition skip.')
    return Purge('ATA secure erase', (
        ('hdparm', '--user-master', 'u', '--security-set-pass', _PASSWORD,
         path),
        ('hdparm', '--user-master', 'u', '--security-erase', _PASSWORD,
         path)))


def _security(path: str) -> dict[str, bool]:
    return parse_security(command.run(['hdparm', '-I', path]))


def parse_security(text: str) -> dict[str, bool]:
    """The Security section of ``hdparm -I`` as facts."""
    section = re.search(r'^Security:.*?\n((?:[ \t].*\n?)*)', text, re.M)
    lines = [line.split() for line in
             (section[1] if section else '').splitlines()]
    return {fact: [fact] in lines
            for fact in ('supported', 'enabled', 'locked', 'frozen')}


def _discard(device: dv.Device) -> Purge | None:
    kname = pathlib.Path(device.path).resolve().name
    for queue in (f'/sys/class/block/{kname}/queue',
                  f'/sys/class/block/{kname}/../queue'):
        most = pathlib.Path(queue, 'discard_max_bytes')
        if most.exists() and int(most.read_text()) > 0:
            return Purge('discard of every block (blkdiscard)', ((
                'blkdiscard', '--force', device.path),))
    return None
