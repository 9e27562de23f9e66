# SPDX-License-Identifier: Apache-2.0
"""The mark of a volume: 16 MiB at its end that no tenant writes.

Their checksum shows whether a migration kept the data.
"""

from __future__ import annotations

from tests.testbed import testbed

_BYTES = 16 * 2 ** 20


def write(on: testbed.Testbed, volume: str) -> str:
    """Fills the mark with random bytes: their SHA-256."""
    _run(on, volume, 'dd if=/dev/urandom of={device} bs=1M seek={mib} '
         'count=16 oflag=direct conv=notrunc status=none')
    return checksum(on, volume)


def checksum(on: testbed.Testbed, volume: str) -> str:
    """The SHA-256 of the mark, read where the volume is now."""
    said = _run(on, volume, 'dd if={device} bs=1M skip={mib} iflag=direct '
                'status=none | sha256sum')
    return said.split()[0]


def begin(on: testbed.Testbed, volume: str) -> int:
    """Where the mark begins, in bytes from the volume's beginning."""
    return on.api.volume(volume)['size'] * 2 ** 30 - _BYTES


def _run(on: testbed.Testbed, volume: str, script: str) -> str:
    return on.guest(on.host_of(volume).number).call(
        'set -o pipefail\n' + script.format(
            device=on.device_of(volume), mib=begin(on, volume) // 2 ** 20))
