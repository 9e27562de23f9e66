# SPDX-License-Identifier: Apache-2.0
"""The testbed's own network.

A network namespace with a bridge and one tap device for each guest. No route
leads out of it. Whoever has to be inside is started by ``ip netns exec``; our
own requests go through a socket that is made inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping
import contextlib
import ctypes
import dataclasses
from http import client
import os
import pathlib
import shutil
import socket
import subprocess
import time

from tests.testbed import layout

CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclasses.dataclass(frozen=True)
class Network:
    """The namespace of this name."""

    name: str

    def create(self, hosts: Iterable[layout.Host]) -> None:
        # What ip netns exec shows as /etc/hosts and /etc/resolv.conf: no
        # name of the world outside, and no time lost by asking for one.
        self._etc.mkdir(parents=True, exist_ok=True)
        (self._etc / 'hosts').write_text(hosts_file(hosts))
        (self._etc / 'resolv.conf').write_text('')
        self._ip('netns', 'add', self.name)
        self._in('link', 'set', 'lo', 'up')
        self._in('link', 'add', 'br0', 'type', 'bridge')
        self._in('addr', 'add', f'{layout.CONTROL}/24', 'dev', 'br0')
        self._in('link', 'set', 'br0', 'mtu', '9000', 'up')
        for host in hosts:
            tap = f'tap{host.number}'
            self._in('tuntap', 'add', 'dev', tap, 'mode', 'tap')
            self._in('link', 'set', tap, 'mtu', '9000')
            self._in('link', 'set', tap, 'master', 'br0', 'up')

    def remove(self) -> None:
        if self.exists:
            self._ip('netns', 'delete', self.name)
        shutil.rmtree(self._etc, ignore_errors=True)

    @property
    def exists(self) -> bool:
        return pathlib.Path('/run/netns', self.name).exists()

    @property
    def pids(self) -> list[int]:
        """Of all processes that are inside."""
        if not self.exists:
            return []
        return [int(pid) for pid in
                self._ip('netns', 'pids', self.name).split()]

    @property
    def prefix(self) -> list[str]:
        """The words before a command that shall run inside."""
        return ['ip', 'netns', 'exec', self.name]

    def socket(self, timeout: float) -> socket.socket:
        """A TCP socket inside; a thread can visit, a process need not."""
        home = os.open('/proc/thread-self/ns/net', os.O_RDONLY)
        try:
            there = os.open(f'/run/netns/{self.name}', os.O_RDONLY)
        except FileNotFoundError:
            os.close(home)
            raise layout.TestbedError(
                'the testbed is down; start it by tools/testbed up.')
        try:
            _set_namespace(there)
            try:
                made = socket.socket()
            finally:
                _set_namespace(home)
        finally:
            os.close(home)
            os.close(there)
        made.settimeout(timeout)
        return made

    def answers(self, address: str, port: int) -> bool:
        with self.socket(1) as made:
            return made.connect_ex((address, port)) == 0

    def request(self, method: str, address: str, port: int, path: str,
                body: bytes | None = None, *, timeout: float,
                headers: Mapping[str, str] | None = None,
                ) -> tuple[int, Mapping[str, str], bytes]:
        """(status, headers, body) of an HTTP request; OSError otherwise."""
        connection = client.HTTPConnection(address, port, timeout=timeout)
        with contextlib.closing(connection):
            connection.sock = self.socket(min(timeout, 10))
            connection.sock.connect((address, port))
            connection.sock.settimeout(timeout)
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    @property
    def _etc(self) -> pathlib.Path:
        return pathlib.Path('/etc/netns', self.name)

    def _in(self, *words: str) -> str:
        return self._ip('-netns', self.name, *words)

    def _ip(self, *words: str) -> str:
        done = subprocess.run(['ip', *words], capture_output=True, text=True)
        if done.returncode:
            raise layout.Missing(
                'the testbed needs a network of its own, and this machine '
                f"refuses ip {' '.join(words)}: {done.stderr.strip()}.")
        return done.stdout


def hosts_file(hosts: Iterable[layout.Host]) -> str:
    lines = ['127.0.0.1 localhost', f'{layout.CONTROL} control']
    lines += [f'{host.address} {host.name}' for host in hosts]
    return '\n'.join(lines) + '\n'


def wait_for(what: str, ready, seconds: float, every: float = 0.1):
    """What ready() returns as soon as it is true."""
    end = time.monotonic() + seconds
    while not (found := ready()):
        if time.monotonic() > end:
            raise layout.TestbedError(f'{what}: not so after {seconds:g} s.')
        time.sleep(every)
    return found


def _set_namespace(fd: int) -> None:
    if _LIBC.setns(fd, CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
