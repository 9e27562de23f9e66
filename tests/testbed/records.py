# SPDX-License-Identifier: Apache-2.0
"""The processes that the testbed started, identified beyond their pids.

Each is the leader of a session of its own and is known by its pid and the
moment it started, so that a process that got the pid later is never touched;
whatever it started belongs to its session.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import time


@dataclasses.dataclass(frozen=True)
class Process:
    """A live process: when it started (clock ticks) and its session."""

    pid: int
    started: int
    session: int


def process(pid: int) -> Process | None:
    """None where there is none, or only its remains (a zombie)."""
    try:
        text = pathlib.Path(f'/proc/{pid}/stat').read_text()
    except OSError:
        return None
    state, *fields = text.rpartition(')')[2].split()
    if state in 'ZX':
        return None
    return Process(pid, int(fields[18]), int(fields[2]))


def processes() -> Iterator[Process]:
    for name in os.listdir('/proc'):
        if name.isdigit() and (found := process(int(name))):
            yield found


def end(found: Sequence[Process], number: int) -> None:
    """Sends a signal to each that is still the same process."""
    for one in found:
        if process(one.pid) == one:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, number)


class Records:
    """The file of what was started: name -> pid, start, boot of machine."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self._children: dict[int, subprocess.Popen] = {}

    def start(self, name: str, argv: Sequence[object], log: pathlib.Path,
              environment: Mapping[str, str] | None = None) -> None:
        """Starts a process in a session of its own; log takes all it says."""
        with self._file() as records, open(log, 'ab') as output:
            child = subprocess.Popen(
                [str(word) for word in argv], stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, cwd='/',
                env={**os.environ, **(environment or {})},
                start_new_session=True)
            self._children[child.pid] = child
            found = process(child.pid)
            records[name] = {'pid': child.pid, 'boot': _boot(),
                             'started': found.started if found else 0}

    def names(self) -> list[str]:
        with self._file() as records:
            return list(records)

    def alive(self, name: str) -> bool:
        """Whether the process itself lives, not only what it started."""
        with self._file() as records:
            record = records.get(name)
        self._reap()
        return bool(record) and any(
            found.pid == record['pid'] for found in _members(record))

    def stop(self, *names: str, number: int = signal.SIGTERM,
             seconds: float = 15) -> None:
        """Ends processes and all of their sessions, and forgets them."""
        with self._file() as records:
            wanted = [records[name] for name in names if name in records]

        def members():
            self._reap()
            return [found for record in wanted for found in _members(record)]

        until = time.monotonic() + seconds
        told: set[Process] = set()
        while left := members():
            # What was forked meanwhile hears of it, too.
            end([found for found in left if found not in told], number)
            told.update(left)
            if time.monotonic() > until:
                end(left, signal.SIGKILL)
            time.sleep(0.05)
        with self._file() as records:
            for name in names:
                records.pop(name, None)

    def _reap(self) -> None:
        # Several threads may ask at once, and find the same child ended.
        for pid, child in list(self._children.items()):
            if child.poll() is not None:
                self._children.pop(pid, None)

    @contextlib.contextmanager
    def _file(self) -> Iterator[dict]:
        """The records, locked; written back where they have changed."""
        with open(self.path, 'a+') as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = file.read()
            records = json.loads(before or '{}')
            yield records
            after = json.dumps(records, indent=1)
            if after != before:
                file.truncate(0)
                file.write(after)


def _members(record: Mapping) -> list[Process]:
    """What lives of a record's session.

    No process gets a pid that is the number of a live session, so where the
    pid is another process's now the session is over.
    """
    if record['boot'] != _boot():
        return []
    leader = process(record['pid'])
    if leader and leader.started != record['started']:
        return []
    return [found for found in processes()
            if found.session == record['pid']
            and found.started >= record['started']]


def _boot() -> str:
    return pathlib.Path(
        '/proc/sys/kernel/random/boot_id').read_text().strip()
