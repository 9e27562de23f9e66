# SPDX-License-Identifier: Apache-2.0
"""Notes of what is to be restored, for the case that a command is killed.

They lie in a directory that a restart of the machine empties, as it undoes
what they describe. While a command is at it, it holds its note locked; so a
note that nobody holds was left by one that did not end as it should have.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import re
from typing import Any

from serifos import errors
from serifos.facts import fields
from serifos.facts import strict_json
from serifos.files import atomic

FOLDER = pathlib.Path('/run/serifos-model')
SCHEMA = 'serifos-put-back/1'

_MOST = 2 ** 16


@dataclasses.dataclass(frozen=True)
class Note:
    """The place of a note.

    :param what: is changed, such as mount
    :param name: of the thing, such as /srv/x
    """

    what: str
    name: str
    folder: pathlib.Path = FOLDER

    @property
    def path(self) -> pathlib.Path:
        """Names that differ have notes that differ."""
        plain = re.sub('[^A-Za-z0-9]+', '-', self.name).strip('-')[:80]
        digest = hashlib.sha256(self.name.encode()).hexdigest()[:8]
        return self.folder / f'{self.what}-{plain}-{digest}.json'

    def write(self, doc: Mapping[str, Any]) -> None:
        """:raises InputError: where it cannot be written"""
        atomic.replace(self.path, json.dumps(
            {'schema': SCHEMA, 'name': self.name, **doc}) + '\n')

    def read(self) -> fields.Field | None:
        """The note, None where there is none.

        :raises FormatError: where it is none of ours
        """
        if not os.path.lexists(self.path):
            return None
        doc = strict_json.read(
            atomic.read_text(self.path, 'note', _MOST), str(self.path),
            errors.FormatError)
        if (doc['schema'].value, doc['name'].value) != (SCHEMA, self.name):
            raise errors.FormatError(
                f'{self.path} is not a note of this serifos on {self.name}; '
                'look at it, and remove it.')
        return doc

    def remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else has it meanwhile.

        :raises DeviceError: where another command has it
        """
        lock = self.path.with_suffix('.lock')
        try:
            self.folder.mkdir(mode=0o755, exist_ok=True)
            fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
                         | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise errors.DeviceError(
                f'{self.folder}, where serifos notes what it has to put '
                f'back, cannot be used: {exc.strerror}; run as root.'
            ) from None
        try:
            if not _locked(fd, lock):
                raise errors.DeviceError(
                    f'Another command of serifos changes the {self.what} of '
                    f'{self.name} for its runs; wait for its end.')
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
        finally:
            os.close(fd)


def _locked(fd: int, lock: pathlib.Path) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it before may have removed it.
        return os.path.samestat(os.fstat(fd), os.stat(lock))
    except OSError:
        return False
