# SPDX-License-Identifier: Apache-2.0
"""The purges that a device offers, from the output of nvme and hdparm."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
import dataclasses
import re

from serifos import errors
from serifos.files import strict_json

PASSWORD = 'serifos'
"""What an ATA device is locked with while it erases itself."""

_SANITIZE = {1: ('block erase', 2), 0: ('crypto erase', 4),
             2: ('overwrite', 3)}
_WAIT_S = 24 * 3600
_MOST_BITS = 2 ** 32 - 1


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
