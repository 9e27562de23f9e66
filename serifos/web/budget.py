# SPDX-License-Identifier: Apache-2.0
"""Limits on the time and the bytes of an HTTP exchange.

A timeout of requests is one of silence: a server that sends a byte now and
then, in its headers or its body, keeps whoever asks for ever. Here every
wait for a connection and for bytes ends at one deadline, and what comes in
is counted before anything is made of it. The system's resolver of names
has bounds of its own and is not interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
import contextlib
import errno
import io
import os
import select
import socket
import threading
import time
from typing import Any

_SLICE_S = 0.2
"""How often it is looked whether we are stopped."""

_mine = threading.local()


class CutOff(Exception):
    """Why an exchange was broken off by us, a clause."""


class Budget:
    """The limits of one question, its login, retries and redirects included.

    :param seconds: from now on
    :param max_bytes: that may be received, headers too
    :param stopped: whether nobody waits for the answer any more
    """

    def __init__(self, seconds: float, max_bytes: int,
                 stopped: Callable[[], bool] | None = None) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._max_bytes = max_bytes
        self._received = 0
        self._stopped = stopped

    def left_s(self) -> float:
        """:raises CutOff: where no time is left, or we are stopped"""
        if self._stopped is not None and self._stopped():
            raise CutOff('we were stopped before it answered')
        left = self._end - time.monotonic()
        if left <= 0:
            raise CutOff(
                f'there was no whole answer within {self._seconds:g} s')
        return left

    def receive(self, sock: socket.socket, buffer: memoryview) -> int:
        """As ``recv_into``.

        :raises CutOff: at the deadline, at a stop, or at too many bytes
        """
        while True:
            sock.settimeout(self._slice_s())
            with contextlib.suppress(TimeoutError):
                count = sock.recv_into(buffer)
                break
        self._received += count
        if self._received > self._max_bytes:
            raise CutOff('its answer is longer than '
                         f'{self._max_bytes / 2 ** 20:g} MiB')
        return count

    def connect(self, host: str, port: int,
                options: Sequence[tuple[Any, ...]] = (),
                source: tuple[str, int] | None = None) -> socket.socket:
        """A connection to any of a host's addresses, all in their share.

        :param options: for ``setsockopt``
        :raises OSError: where there is none
        :raises CutOff: at the deadline or a stop
        """
        error: OSError = socket.gaierror(f'{host} has no address')
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for nth, (family, kind, proto, _, address) in enumerate(found):
            sock = socket.socket(family, kind, proto)
            try:
                for option in options:
                    sock.setsockopt(*option)
                if source is not None:
                    sock.bind(source)
                self._connected(sock, address, len(found) - nth)
                return sock
            except OSError as exc:
                sock.close()
                error = exc
            except BaseException:
                sock.close()
                raise
        raise error

    def _connected(self, sock: socket.socket, address: Any,
                   shares: int) -> None:
        """:raises OSError: where it is not, in its share of what is left"""
        end = time.monotonic() + self.left_s() / shares
        sock.setblocking(False)
        code = sock.connect_ex(address)
        poll = select.poll()
        poll.register(sock, select.POLLOUT)
        while code == errno.EINPROGRESS:
            if poll.poll(1000 * self._slice_s()):
                code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            elif time.monotonic() > end:
                code = errno.ETIMEDOUT
        if code:
            raise OSError(code, os.strerror(code))
        sock.settimeout(self.left_s())

    def _slice_s(self) -> float:
        left = self.left_s()
        return left if self._stopped is None else min(left, _SLICE_S)


@contextlib.contextmanager
def within(budget: Budget) -> Iterator[Budget]:
    """Applies a budget to all requests of this thread in the block.

    An outer budget stays in force.
    """
    outer = getattr(_mine, 'budget', None)
    if outer is not None:
        yield outer
        return
    _mine.budget = budget
    try:
        yield budget
    finally:
        _mine.budget = None


def current() -> Budget:
    """The budget in force in this thread."""
    return _mine.budget


class Metered:
    """The socket of an ``http.client.HTTPResponse``, within a budget."""

    def __init__(self, sock: socket.socket, budget: Budget) -> None:
        self._sock, self._budget = sock, budget

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._sock, self._budget))


class _Reader(io.RawIOBase):
    def __init__(self, sock: socket.socket, budget: Budget) -> None:
        self._sock, self._budget = sock, budget
        # Closing a socket ends it only once no file of it is open.
        self._open = sock.makefile('rb', buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._budget.receive(self._sock, buffer)

    def close(self) -> None:
        if not self.closed:
            self._open.close()
        super().close()
