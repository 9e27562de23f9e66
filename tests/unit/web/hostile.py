# SPDX-License-Identifier: Apache-2.0
"""Servers that speak HTTP badly, on a real socket."""

from __future__ import annotations

import contextlib
import gzip
import re
import socket
import threading
import time

HEAD = b'HTTP/1.1 200 OK\r\n'
BOMB = gzip.compress(bytes(2 ** 24))
"""16 MiB of zeros in 16 KiB."""


def drip(what, every_s=0.01):
    """Sends a byte now and then, for ever."""
    def talk(connection, over):
        connection.sendall(what)
        while not over.wait(every_s):
            connection.sendall(b'x')
    return talk


def flood(begin, what=b'x' * 2 ** 16):
    """Sends without an end, as fast as it is taken."""
    def talk(connection, over):
        connection.sendall(begin)
        while not over.is_set():
            connection.sendall(what)
    return talk


def say(what):
    def talk(connection, over):
        connection.sendall(what)
    return talk


def silent(connection, over):
    over.wait(60)


def body(content, *headers):
    """A whole answer."""
    return HEAD + b''.join(header + b'\r\n' for header in headers) + (
        b'Content-Length: %d\r\n\r\n' % len(content)) + content


HEADERS = drip(HEAD + b'X-Long: ')
BODY = drip(HEAD + b'Content-Length: 99999\r\n\r\n')
CHUNKS = drip(HEAD + b'Transfer-Encoding: chunked\r\n\r\n')
MANY_HEADERS = flood(HEAD, b'X-Long: x\r\n' * 2 ** 10)
LONG_HEADER = flood(HEAD + b'X-Long: ')
CONTINUES = flood(b'', b'HTTP/1.1 100 Continue\r\n\r\n' * 2 ** 10)
ENDLESS = flood(HEAD + b'\r\n')
PACKED = say(body(BOMB, b'Content-Encoding: gzip'))
"""What may not cost more than its time or its bytes."""


def _is_whole(asked):
    """What is closed with a part unread is reset, its answer lost."""
    head, found, content = asked.partition(b'\r\n\r\n')
    length = re.search(rb'content-length: *(\d+)', head, re.IGNORECASE)
    return found and len(content) >= int(length[1] if length else 0)


@contextlib.contextmanager
def serving(talk):
    """The place, HOST:PORT, where talk(connection, over) is the answer.

    It is called once what was asked has come; ``over`` is set at the end.
    """
    over = threading.Event()
    listener = socket.create_server(('127.0.0.1', 0))
    threads = []

    def answer(connection):
        with connection, contextlib.suppress(OSError):
            asked = b''
            while not _is_whole(asked) and (
                    more := connection.recv(65536)):
                asked += more
            talk(connection, over)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.settimeout(5)
                threads.append(threading.Thread(
                    target=answer, args=(connection,)))
                threads[-1].start()

    threads.append(threading.Thread(target=accept))
    threads[0].start()
    try:
        yield '127.0.0.1:%d' % listener.getsockname()[1]
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in threads:
            thread.join()


_BUSY_S = 30.0
"""What a busy machine may add; without a bound it would take far longer."""


@contextlib.contextmanager
def taking_at_most(test, seconds):
    began = time.monotonic()
    yield
    test.assertLess(time.monotonic() - began, seconds + _BUSY_S)
