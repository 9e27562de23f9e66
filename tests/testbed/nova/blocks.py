# SPDX-License-Identifier: Apache-2.0
"""The blocks that a tenant wrote, as the logical volume holds them.

Each is stamped all over with its place and how often it was written: one that
is torn, of another place or lost is found without the server.
"""

from __future__ import annotations

import dataclasses
import json

from tests.testbed import testbed

_CHECK = """\
{python} - <<'END'
import json, os
import numpy as np
begin, area, block = 64 << 20, 64 << 20, {block_kib} << 10
with open('{device}', 'rb') as file:
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    file.seek(begin)
    words = np.frombuffer(file.read(area), '<u8').reshape(-1, block // 8)
written = words.any(axis=1)
place = begin + np.arange(len(words), dtype='u8') * np.uint64(block)
should = (place[:, None] * np.uint64(0x9e3779b97f4a7c15)
          + np.arange(0, block // 8, 2, dtype='u8'))
times = words[:, 1::2]
bad = written & ((words[:, ::2] != should).any(axis=1)
                 | (times != times[:, :1]).any(axis=1))
print(json.dumps({{'written': int(written.sum()), 'bad': int(bad.sum()),
                   'times': int(times[written & ~bad, 0].sum())}}))
END
"""


@dataclasses.dataclass(frozen=True)
class Blocks:
    """The blocks of a volume that were ever written.

    ``bad`` ones are torn or of another place; ``times`` is how many writes
    the others had, all together.
    """

    written: int
    bad: int
    times: int


def check(on: testbed.Testbed, volume: str, block_kib: int) -> Blocks:
    """The blocks of a volume that no server is writing, where it is now."""
    return parse(on.guest(on.host_of(volume).number).call(script(
        on.layout.venv / 'bin' / 'python', on.device_of(volume), block_kib),
        120))


def script(python: object, device: object, block_kib: int) -> str:
    """A bash script that looks at the blocks of a device or file."""
    return _CHECK.format(python=python, device=device, block_kib=block_kib)


def parse(said: str) -> Blocks:
    """What the script found."""
    return Blocks(**json.loads(said.strip().splitlines()[-1]))
