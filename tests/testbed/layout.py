# SPDX-License-Identifier: Apache-2.0
"""Hosts, addresses and directories of the testbed."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSIDE = pathlib.Path(__file__).resolve().parent / 'inside'

CONTROL = '10.77.0.1'
"""Address of the control plane, in the testbed's own network."""

PROJECT = '0' * 32
"""The project that everything belongs to; Cinder asks for such an id."""

BACKEND = 'ssd'
"""Name of each host's one backend, its volume group and its pool."""

API_PORT = 8776
EXPORTER_PORT = 9100

# MB/s of reads and of writes: each host has an SSD of another model, slow
# enough that two cores can keep all of them busy.
SSDS = ((60, 45), (45, 35), (30, 24))
MAX_HOSTS = 9


class TestbedError(Exception):
    """What is wrong, and how to correct it, in one sentence."""

    exit_code = 1


class Missing(TestbedError):
    """The machine lacks something."""

    exit_code = 4


@dataclasses.dataclass(frozen=True)
class Host:
    """A guest: its number, name, address and SSD (MB/s).

    ``role`` names the script of inside/ that prepares it.
    """

    number: int
    read_mbs: int
    write_mbs: int
    role: str = 'storage'
    memory_mib: int = 1024

    @property
    def name(self) -> str:
        return (f'node{self.number}' if self.role == 'storage'
                else self.role)

    @property
    def address(self) -> str:
        return f'10.77.0.{10 + self.number}'

    @property
    def pool(self) -> str:
        return f'{self.service}#{BACKEND}'

    @property
    def service(self) -> str:
        return f'{self.name}@{BACKEND}'

    @property
    def exporter(self) -> str:
        """Where node_exporter is."""
        return f'http://{self.address}:{EXPORTER_PORT}/metrics'


def hosts(count: int) -> tuple[Host, ...]:
    return tuple(Host(number, *SSDS[(number - 1) % len(SSDS)])
                 for number in range(1, count + 1))


COMPUTE = Host(MAX_HOSTS + 1, 500, 500, 'compute', 1536)
"""The host of the servers, where there is a Nova."""


@dataclasses.dataclass(frozen=True)
class Shape:
    """The number of storage hosts, and the size of the SSD of each.

    ``nova``: whether it has a Keystone, a Nova and a compute host, too.
    """

    hosts: int = 3
    size_gib: int = 6
    nova: bool = False


@dataclasses.dataclass(frozen=True)
class Layout:
    """The testbed's directory, and what is in it."""

    directory: pathlib.Path

    @classmethod
    def at(cls, directory: os.PathLike | str | None = None) -> Layout:
        path = pathlib.Path(directory or ROOT / '.testbed').absolute()
        if len(str(path)) > 60 or ' ' in str(path):
            # A unix socket's path has at most 107 bytes.
            raise TestbedError(f'{path} has a space or more than 60 letters; '
                               f'name another directory by --dir.')
        return cls(path)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While it goes up or down, nobody else may do so."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / 'lock', 'w') as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise TestbedError(f'another process is starting or stopping '
                                   f'the testbed of {self.directory}.')
            yield

    @property
    def network(self) -> str:
        """Of the network namespace: another one for each directory."""
        return f'serifos-{zlib.crc32(str(self.directory).encode()):08x}'

    @property
    def venv(self) -> pathlib.Path:
        return self.directory / 'cinder'

    @property
    def shim(self) -> pathlib.Path:
        return self.directory / 'shim.so'

    @property
    def inside(self) -> pathlib.Path:
        return self.directory / 'inside'

    @property
    def control(self) -> pathlib.Path:
        return self.directory / 'control'

    @property
    def records(self) -> pathlib.Path:
        return self.directory / 'records.json'

    @property
    def shape(self) -> Shape | None:
        """Of the testbed whose disks are there."""
        try:
            return Shape(**json.loads(self._shape.read_text()))
        except FileNotFoundError:
            return None

    def set_shape(self, shape: Shape | None) -> None:
        if shape:
            self._shape.write_text(json.dumps(dataclasses.asdict(shape)))
        else:
            self._shape.unlink(missing_ok=True)

    @property
    def _shape(self) -> pathlib.Path:
        return self.directory / 'testbed.json'

    @property
    def serifos(self) -> pathlib.Path:
        """The state_dir of serifos; its models are in models/."""
        return self.directory / 'serifos'

    def node(self, host: Host) -> pathlib.Path:
        return self.directory / host.name

    def image(self, host: Host) -> pathlib.Path:
        return self.node(host) / 'ssd.img'
